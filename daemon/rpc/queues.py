"""Queues by key: calls with an equal key run one after the other, in the order they arrived.

A place is taken when the request is read, not when its task first runs, and must be left once.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Hashable


class Place:
    """A place in one queue."""

    def __init__(self, before: asyncio.Future[None] | None) -> None:
        self._before = before
        self.left: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def turn(self) -> None:
        """Wait until everyone who came before has left."""
        if self._before is not None:
            await asyncio.wait([self._before])

    def leave(self) -> None:
        """Give the turn on; before one's own turn, that is when everyone before has left."""
        if self._before is None or self._before.done():
            self.left.set_result(None)
        else:
            self._before.add_done_callback(lambda _: self.left.set_result(None))


class KeyedQueues:
    """The last place of each queue that is not empty."""

    def __init__(self) -> None:
        self._last: dict[Hashable, Place] = {}

    def __len__(self) -> int:
        return len(self._last)

    def enter(self, key: Hashable) -> Place:
        """Take the next place in `key`'s queue."""
        before = self._last.get(key)
        place = Place(None if before is None else before.left)
        self._last[key] = place
        place.left.add_done_callback(lambda _: self._forget(key, place))
        return place

    @contextlib.asynccontextmanager
    async def held(self, key: Hashable) -> AsyncIterator[None]:
        """Have the turn in `key`'s queue for as long as the block runs."""
        place = self.enter(key)
        try:
            await place.turn()
            yield
        finally:
            place.leave()

    def _forget(self, key: Hashable, place: Place) -> None:
        if self._last.get(key) is place:
            del self._last[key]
