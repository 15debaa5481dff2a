"""What one client has asked for and not yet been answered, bounded in bytes and in requests.

Reading pauses at the bound, but only for a moment while nothing moves: behind the requests that wait there
may be the cancellation, the answer or the end that would let them go on.
"""

import asyncio
import contextlib
from typing import Any

_MOST_BYTES = 16 * 1024 * 1024
_MOST_REQUESTS = 1024
_PATIENCE_SECONDS = 1.0


class Inbound:
    """Weighs one connection's requests. The last one taken may exceed the bound, by a frame at most."""

    def __init__(self) -> None:
        self._bytes = 0
        self._requests = 0
        self._stuck = False
        self._light = asyncio.Event()
        self._light.set()

    @property
    def full(self) -> bool:
        """Whether another request is one too many."""
        return self._bytes > _MOST_BYTES or self._requests >= _MOST_REQUESTS

    def hold(self, size: int, until: asyncio.Task[Any]) -> None:
        """Count a request of so many bytes until its task is done."""
        self._add(size, 1)
        until.add_done_callback(lambda _: self._add(-size, -1))

    async def room(self) -> None:
        """Wait until there is room; when none comes for a second, no more until some has come."""
        if self._stuck:
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_PATIENCE_SECONDS):
                await self._light.wait()
        self._stuck = self.full

    def _add(self, size: int, requests: int) -> None:
        self._bytes += size
        self._requests += requests
        if self.full:
            self._light.clear()
        else:
            self._light.set()
            self._stuck = False
