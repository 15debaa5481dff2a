"""The door to the streams: create, append, read. Every acknowledged event went through here.

A stream is named `session:<uuid>`, `thread:<uuid>` or `worktree:<uuid>`. Methods that wait for the
disk are coroutines; `read` and `exists` are for a thread, and block.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterator
from pathlib import Path

from resumed.daemon.storage.appender import Appended, Appender, Now, StreamHome
from resumed.daemon.storage.errors import (
    EventConflict,
    EventRefused,
    StorageFailed,
    StreamExists,
    StreamMissing,
)
from resumed.daemon.storage.glance import Glance
from resumed.daemon.storage.layout import Layout, parse_stream
from resumed.daemon.storage.reader import Position, Reading, SentReading
from resumed.daemon.storage.turns import Turns
from resumed.daemon.storage.writer import Writer
from resumed.protocol.ids import InvalidId
from resumed.restore.events.envelope import Event
from resumed.restore.events.session import SessionMeta
from resumed.restore.events.thread import ThreadMeta
from resumed.restore.events.worktree import WorktreeMeta

Absent = Callable[[Collection[str]], Awaitable[tuple[str, ...]]]
"""Returns which of the named contents are not durable, and keeps the others from being collected."""


async def nothing_kept(names: Collection[str]) -> tuple[str, ...]:
    """Where no contents are kept, none that an event names is durable."""
    return tuple(names)


class Streams:
    """All streams of a state folder, as one process uses them. `now` gives the time of writing as
    RFC 3339 in UTC with milliseconds. `absent` is asked before an event that names contents is taken."""

    def __init__(self, layout: Layout, now: Now, absent: Absent = nothing_kept) -> None:
        self._layout = layout
        self._now = now
        self._absent = absent
        self._writers: dict[str, Writer] = {}
        self._openings: set[asyncio.Task[Writer]] = set()
        self._one_opens = Turns()
        self._one_creates = Turns()
        self._closed = False

    async def create(self, stream: str, first: Event, *more: Event) -> Appended:
        """Create a stream with its first event, which must be the meta event of its kind and id, and
        with more after it, all or none. Returns what became of the first.

        Creating it again by the same event is answered; by another one raises `StreamExists`. A
        refusal leaves no writer behind that was not there before; after a `StorageFailed` the writer
        stays, since it alone knows that what is on the disk was never acknowledged.
        """
        self._layout.check_writable()
        path = await asyncio.to_thread(self._path_of_new, stream, first)
        async with self._one_creates.of(stream):
            opened_before = stream in self._writers
            try:
                writer = self._writers.get(stream) or await self._writer(stream, path)
                if writer.begun and not writer.knows(first.event_id):
                    raise StreamExists(f"{stream} exists.")
                await self._check_contents(writer, (first, *more))
                appended = await writer.append((first, *more))
            except (StreamExists, EventConflict, EventRefused):
                if not opened_before:
                    await self.release(stream)
                raise
        return appended[0]

    async def append(self, stream: str, *events: Event) -> tuple[Appended, ...]:
        """Append events in order, contiguously, all or none; return when they are durable.

        Raises `StreamMissing`, `StreamBusy`, `StateReadOnly`, `StateGone`, `EventConflict`,
        `EventRefused` (also for one that names a content that is not durable) or `StorageFailed`; in
        each case nothing was acknowledged.
        """
        self._layout.check_writable()
        writer = self._writers.get(stream)
        if writer is None:
            path = await asyncio.to_thread(self._existing, stream)
            writer = await self._writer(stream, path)
        if not writer.begun:
            raise StreamMissing(f"There is no {stream}.")
        await self._check_contents(writer, events)
        return await writer.append(events)

    def read(self, stream: str, since: Position | None = None) -> Reading:
        """Begin a reading of what was sent; what is written and not yet durable is not part of it.

        Raises `StreamMissing`.
        """
        writer = self._writers.get(stream)
        through = writer.last_durable if writer else None
        return SentReading(self._existing(stream), self._layout.quarantine, since, through)

    def exists(self, stream: str) -> bool:
        """Tell whether the stream holds an event that was sent; one whose beginning was torn does not."""
        writer = self._writers.get(stream)
        if writer is not None:
            return writer.begun
        path = self._layout.find_stream(stream)
        return path is not None and next(iter(SentReading(path, self._layout.quarantine)), None) is not None

    def glance(self) -> Glance:
        """Begin to read many streams at the cost of one look at each folder."""
        return Glance(self._layout, self, self._writers)

    def ids(self, kind: str) -> Iterator[str]:
        """Yield the names of all streams of a kind: `session`, `thread` or `worktree`."""
        return self._layout.stream_ids(kind)

    async def release(self, stream: str) -> None:
        """Finish what was submitted to one stream and give up its lock, so that another process may
        append to it; a later append here opens it again. One that is not open here is left alone.

        An append that comes while it closes may fail with `StorageFailed`; sending it again is safe.
        """
        async with self._one_opens.of(stream):
            writer = self._writers.pop(stream, None)
            if writer is not None:
                await writer.close()

    async def close(self) -> None:
        """Finish every append that was submitted, then close all files and give up all locks."""
        self._closed = True
        await asyncio.gather(*self._openings, return_exceptions=True)
        await asyncio.gather(*(writer.close() for writer in self._writers.values()))
        self._writers.clear()

    async def _check_contents(self, writer: Writer, events: tuple[Event, ...]) -> None:
        # One sent again is answered from the record, whatever became of its contents since.
        fresh = (event for event in events if event.blobs and not writer.knows(event.event_id))
        names = {name for event in fresh for name in event.blobs}
        if names and (absent := await self._absent(names)):
            raise EventRefused(f"An event names a content that is not kept: {sorted(absent)[0]}.")

    async def _writer(self, stream: str, path: Path) -> Writer:
        # Shielded: a caller that goes away must not leave a locked stream without its writer.
        opening = asyncio.create_task(self._open(stream, path))
        self._openings.add(opening)
        opening.add_done_callback(self._openings.discard)
        return await asyncio.shield(opening)

    async def _open(self, stream: str, path: Path) -> Writer:
        async with self._one_opens.of(stream):
            writer = self._writers.get(stream)
            if writer is not None:
                return writer
            if self._closed:
                raise StorageFailed("The streams are closed.")
            lock = self._layout.stream_lock_path(stream)
            home = StreamHome(path, lock, self._layout.quarantine, self._layout.home)
            writer = Writer(await asyncio.to_thread(Appender.open, home, self._now))
            self._writers[stream] = writer
            return writer

    def _existing(self, stream: str) -> Path:
        path = self._layout.find_stream(stream)
        if path is None:
            raise StreamMissing(f"There is no {stream}.")
        return path

    def _path_of_new(self, stream: str, first: Event) -> Path:
        _, identifier = parse_stream(stream)
        match first.payload:
            case SessionMeta() as meta if stream == f"session:{meta.session_id}":
                path = self._session_path(identifier, meta.created_at)
            case ThreadMeta() as meta if stream == f"thread:{meta.thread_id}":
                path = self._layout.thread_path(identifier)
            case WorktreeMeta() as meta if stream == f"worktree:{meta.worktree_id}":
                path = self._layout.worktree_path(identifier)
            case _:
                raise EventRefused(f"{stream} must begin with the meta event of its kind and id.")
        return self._layout.find_stream(stream) or path

    def _session_path(self, session_id: str, created_at: str) -> Path:
        try:
            return self._layout.session_path(session_id, created_at)
        except InvalidId:
            raise
        except (ValueError, OverflowError):
            raise EventRefused(f"created_at is not a time with an offset: {created_at!r}.") from None
