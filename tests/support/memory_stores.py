"""Streams and contents in memory: the same promises as the files, in the plainest way to say them."""

import hashlib
from collections.abc import Collection, Iterator
from datetime import datetime

from resumed.daemon.storage.appender import Appended, Now
from resumed.daemon.storage.blob_rows import BlobFound, BlobMissing, BlobTooLarge
from resumed.daemon.storage.blobs import MAX_BLOB_BYTES
from resumed.daemon.storage.codec import checksum_of, decode, encode_as
from resumed.daemon.storage.damage import Damage, LooseBytes
from resumed.daemon.storage.errors import (
    EventConflict,
    EventRefused,
    StorageFailed,
    StreamExists,
    StreamMissing,
)
from resumed.daemon.storage.layout import parse_stream
from resumed.daemon.storage.reader import NO_CRC, Position
from resumed.daemon.storage.streams import Absent, nothing_kept
from resumed.restore.events.envelope import Event
from resumed.restore.events.session import SessionMeta
from resumed.restore.events.thread import ThreadMeta
from resumed.restore.events.worktree import WorktreeMeta


class MemoryReading:
    """A pass over lines that are all whole; `offset` of its position counts lines."""

    def __init__(self, lines: tuple[bytes, ...], since: Position | None) -> None:
        self.restarted = since is not None and not (
            since.file == "memory"
            and 0 < since.offset <= len(lines)
            and checksum_of(lines[since.offset - 1]) == since.crc
        )
        self.position = None if self.restarted else since
        self.damage: tuple[Damage, ...] = ()
        self.trailing: tuple[LooseBytes, ...] = ()
        self._lines = lines

    @property
    def seq(self) -> int:
        """The last event's number."""
        return self.position.seq if self.position else 0

    @property
    def crc(self) -> str:
        """The last event's checksum."""
        return self.position.crc if self.position else NO_CRC

    def __iter__(self) -> Iterator[Event]:
        begin = self.position.offset if self.position else 0
        for number, line in enumerate(self._lines[begin:], begin + 1):
            event = decode(line)
            assert isinstance(event, Event)
            self.position = Position(file="memory", offset=number, seq=event.seq, crc=checksum_of(line))
            yield event


class MemoryStreams:
    """Each stream is a list of lines."""

    def __init__(self, now: Now, absent: Absent = nothing_kept) -> None:
        self.lines: dict[str, list[bytes]] = {}
        self._now = now
        self._absent = absent
        self._closed = False

    async def create(self, stream: str, first: Event, *more: Event) -> Appended:
        """Begin a list with a meta event."""
        _check_meta(stream, first)
        known = self._by_id(stream)
        if known and first.event_id not in known:
            raise StreamExists(f"{stream} exists.")
        return (await self._append(stream, (first, *more)))[0]

    async def append(self, stream: str, *events: Event) -> tuple[Appended, ...]:
        """Append to the list, all or none."""
        if stream not in self.lines:
            parse_stream(stream)
            raise StreamMissing(f"There is no {stream}.")
        return await self._append(stream, events)

    def read(self, stream: str, since: Position | None = None) -> MemoryReading:
        """A pass over the list as it is now."""
        if stream not in self.lines:
            parse_stream(stream)
            raise StreamMissing(f"There is no {stream}.")
        return MemoryReading(tuple(self.lines[stream]), since)

    def exists(self, stream: str) -> bool:
        """Whether there is a list of that name."""
        return stream in self.lines

    def glance(self) -> "MemoryStreams":
        """Nothing here costs less when it is read together."""
        return self

    def ids(self, kind: str) -> Iterator[str]:
        """The names of a kind."""
        return (stream for stream in tuple(self.lines) if stream.startswith(f"{kind}:"))

    async def release(self, stream: str) -> None:
        """Nobody else writes here."""

    async def close(self) -> None:
        """Take in nothing more."""
        self._closed = True

    async def _append(self, stream: str, events: tuple[Event, ...]) -> tuple[Appended, ...]:
        if self._closed:
            raise StorageFailed("The streams are closed.")
        known = self._by_id(stream)
        names = {name for event in events if event.event_id not in known for name in event.blobs}
        if names and await self._absent(names):
            raise EventRefused("An event names a content that is not kept.")
        lines, answers = list(self.lines.get(stream, ())), []
        for event in events:
            if not event.event_id:
                raise EventRefused("An event needs an id.")
            line = encode_as(event, len(lines) + 1, self._now())
            stored, again = decode(line), known.get(event.event_id)
            assert isinstance(stored, Event)
            if again is None:
                known[event.event_id] = stored
                lines.append(line)
            elif again.payload != stored.payload:
                raise EventConflict(f"Event {event.event_id} is there with another content.")
            answers.append(Appended((again or stored).seq, again is not None))
        self.lines[stream] = lines
        return tuple(answers)

    def _by_id(self, stream: str) -> dict[str, Event]:
        if stream not in self.lines:
            return {}
        return {event.event_id: event for event in MemoryReading(tuple(self.lines[stream]), None)}


class MemoryBlobs:
    """Each content by its name."""

    def __init__(self, limit: int = MAX_BLOB_BYTES) -> None:
        self.contents: dict[str, bytes] = {}
        self._limit = limit
        self._closed = False

    async def put(self, data: bytes) -> str | BlobTooLarge:
        """Keep it."""
        self._check_open()
        if len(data) > self._limit:
            return BlobTooLarge(len(data), self._limit)
        name = hashlib.sha256(data).hexdigest()
        self.contents[name] = data
        return name

    async def get(self, sha256: str) -> BlobFound | BlobMissing:
        """Give it back."""
        if sha256 not in self.contents:
            return BlobMissing()
        return BlobFound(self.contents[sha256])

    async def absent(self, names: Collection[str]) -> tuple[str, ...]:
        """Those that are not there."""
        return tuple(name for name in dict.fromkeys(names) if name not in self.contents)

    async def close(self) -> None:
        """Take in nothing more."""
        self._closed = True

    def _check_open(self) -> None:
        if self._closed:
            raise StorageFailed("The kept contents are closed.")


def _check_meta(stream: str, first: Event) -> None:
    parse_stream(stream)
    payload = first.payload
    match payload:
        case SessionMeta() if stream == f"session:{payload.session_id}":
            try:
                whole = datetime.fromisoformat(payload.created_at).tzinfo is not None
            except ValueError:
                whole = False
            if whole:
                return
        case ThreadMeta() if stream == f"thread:{payload.thread_id}":
            return
        case WorktreeMeta() if stream == f"worktree:{payload.worktree_id}":
            return
        case _:
            pass
    raise EventRefused(f"{stream} must begin with the meta event of its kind and id.")
