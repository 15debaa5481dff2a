"""What waits to be sent to one client, bounded in bytes.

Replies are never dropped: too many of them end the connection. Notifications may be dropped: then
one `resync` says so. A client that does not read must not make the daemon grow.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable

from resumed.daemon.rpc.messages import notification_body
from resumed.protocol.daemon import ResyncNotification

NOTIFICATION_BUDGET = 1024 * 1024
PAUSE_READING = 4 * 1024 * 1024
HARD_BUDGET = 128 * 1024 * 1024
_AT_ONCE = 64 * 1024


class _Entry:
    """One message not yet handed to the transport; only a notification is `droppable`."""

    __slots__ = ("body", "droppable", "key")

    def __init__(self, body: bytes, *, droppable: bool, key: tuple[str, str] | None = None) -> None:
        self.body = body
        self.droppable = droppable
        self.key = key


class Outbox:
    """The only writer of a connection. `framed` turns a body into bytes at the moment of sending."""

    def __init__(self, writer: asyncio.StreamWriter, framed: Callable[[bytes], bytes]) -> None:
        self._writer = writer
        self._framed = framed
        self._entries: deque[_Entry] = deque()
        self._by_key: dict[tuple[str, str], _Entry] = {}
        self._queued = 0
        self._notifications = 0
        self._dropped = 0
        self._resync: _Entry | None = None
        self._work = asyncio.Event()
        self._light = asyncio.Event()
        self._light.set()
        writer.transport.set_write_buffer_limits(high=_AT_ONCE)

    @property
    def backlog(self) -> int:
        """Bytes that the client has not taken yet, as far as this process holds them."""
        return self._queued + self._writer.transport.get_write_buffer_size()

    def send(self, body: bytes) -> None:
        """Queue a reply or a request of ours. Over the hard budget the connection is aborted."""
        self._add(_Entry(body, droppable=False))
        if self.backlog > HARD_BUDGET:
            self._writer.transport.abort()

    def notify(self, method: str, body: bytes, coalesce: str | None = None) -> None:
        """Queue a notification. One with the same method and `coalesce` key that still waits is
        replaced; over the budget all that wait are dropped and one `resync` is queued."""
        key = None if coalesce is None else (method, coalesce)
        waiting = None if key is None else self._by_key.get(key)
        if waiting is None:
            self._add(_Entry(body, droppable=True, key=key))
        else:
            growth = len(body) - len(waiting.body)
            waiting.body = body
            self._queued += growth
            self._notifications += growth
        if self._notifications > NOTIFICATION_BUDGET:
            self._drop_notifications()

    async def writable(self) -> None:
        """Wait until the client has read most of its replies: reading more requests waits for it."""
        await self._light.wait()

    async def run(self) -> None:
        """Send until cancelled or until the connection is lost."""
        try:
            while not self._writer.transport.is_closing():
                await self._work.wait()
                await self._write_when_taken()
        except ConnectionError:
            return
        finally:
            self._light.set()

    async def flush(self) -> None:
        """Wait until everything queued is with the transport, or the connection is lost."""
        with contextlib.suppress(ConnectionError):
            while self._entries and not self._writer.transport.is_closing():
                await self._write_when_taken()

    def _add(self, entry: _Entry) -> None:
        if not self._entries and self._writer.transport.get_write_buffer_size() < _AT_ONCE:
            self._writer.write(self._framed(entry.body))
        else:
            self._entries.append(entry)
            self._queued += len(entry.body)
            if entry.droppable:
                self._notifications += len(entry.body)
            if entry.key is not None:
                self._by_key[entry.key] = entry
        self._weigh()

    def _drop_notifications(self) -> None:
        self._dropped += sum(entry.droppable for entry in self._entries)
        kept = [entry for entry in self._entries if not entry.droppable and entry is not self._resync]
        body = notification_body("resync", ResyncNotification(dropped=self._dropped))
        self._resync = _Entry(body, droppable=False)
        self._entries = deque([*kept, self._resync])
        self._by_key.clear()
        self._notifications = 0
        self._queued = sum(len(entry.body) for entry in self._entries)

    async def _write_when_taken(self) -> None:
        await self._writer.drain()
        while self._entries and self._writer.transport.get_write_buffer_size() < _AT_ONCE:
            self._write(self._entries.popleft())
        self._weigh()

    def _write(self, entry: _Entry) -> None:
        self._queued -= len(entry.body)
        if entry.droppable:
            self._notifications -= len(entry.body)
        if entry.key is not None:
            self._by_key.pop(entry.key, None)
        if entry is self._resync:
            self._resync = None
            self._dropped = 0
        self._writer.write(self._framed(entry.body))

    def _weigh(self) -> None:
        """Wake the sender while anything waits, and stop the reading of requests while too much does."""
        heavy = self.backlog > PAUSE_READING
        if heavy:
            self._light.clear()
        else:
            self._light.set()
        if heavy or self._entries:
            self._work.set()
        else:
            self._work.clear()
