"""One at a time for each name, with nothing kept of names that nobody waits for."""

import asyncio
from weakref import WeakValueDictionary


class Turns:
    """A lock for each name. Its `async with` keeps a lock for whoever holds it or waits for it; the next
    one to come after them gets a new one, which excludes nobody that the old one would have."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def __len__(self) -> int:
        return len(self._locks)

    def of(self, name: str) -> asyncio.Lock:
        """The name's lock, the same for as long as anybody has it."""
        return self._locks.setdefault(name, asyncio.Lock())
