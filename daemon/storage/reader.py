"""Reads a stream across its files, event by event, and says what is missing or damaged.

Reading never changes a file, and holds one line at a time. What a `Reading` found is complete only
when its iteration has ended.
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec

from resumed.daemon.ports.regular import open_regular
from resumed.daemon.storage.codec import MAX_LINE_BYTES, BadLine, checksum_of, decode
from resumed.daemon.storage.damage import Damage, DamageLog, LooseBytes
from resumed.daemon.storage.quarantine import is_copied
from resumed.daemon.storage.segments import Listing, SegmentFile, segment_files
from resumed.restore.events.envelope import Event
from resumed.restore.events.journal import Note, Segment

NO_CRC = "00000000"
TORN_TAIL = "torn_tail"
"""The kind of a note that declares loose bytes to be what a torn write left."""

_BUFFER_BYTES = 1 << 18


class Position(msgspec.Struct, frozen=True, kw_only=True):
    """Where reading may go on: behind the record `seq`, which ends at byte `offset` of the file of
    that name and has the checksum `crc` (8 hexadecimal digits)."""

    file: str
    offset: int
    seq: int
    crc: str


class Reading:
    """One pass over a stream, given its first file. Iterate it once, then look at what it found.

    `since` resumes behind a record read earlier; `restarted` says that the record is not there (any
    more) and everything was read from the start. Nothing behind the event `through` is read.
    Only the files in `listing` are read, if it is given.
    `position` is behind the last good event, whose byte offset in its file is `event_offset`;
    `line_ended` says whether that event's line end is written.
    """

    def __init__(
        self,
        first: Path,
        since: Position | None = None,
        through: int | None = None,
        listing: Listing | None = None,
    ) -> None:
        self.files = segment_files(first, listing)
        self.position: Position | None = None
        self.restarted = False
        self.event_offset = 0
        self.line_ended = True
        self._through = through
        self._log = DamageLog()
        if since is not None and (through is None or since.seq <= through) and _holds(self.files, since):
            self.position = since
        else:
            self.restarted = since is not None

    @property
    def damage(self) -> tuple[Damage, ...]:
        """What is missing, unreadable or there twice, in the order in which it was met."""
        return self._log.damage()

    @property
    def trailing(self) -> tuple[LooseBytes, ...]:
        """Bytes behind the last good event that are no event: what a torn write left."""
        return tuple(self._log.trailing)

    @property
    def seq(self) -> int:
        """The last good event's `seq`; 0 before the first."""
        return self.position.seq if self.position else 0

    @property
    def crc(self) -> str:
        """The last good event's checksum."""
        return self.position.crc if self.position else NO_CRC

    def __iter__(self) -> Iterator[Event]:
        since = self.position
        for file in self.files:
            if since is not None and file.path.name != since.file:
                continue
            yield from self._events(file, since.offset if since else 0)
            since = None

    def _events(self, file: SegmentFile, offset: int) -> Iterator[Event]:
        limit = min((seq for seq in (file.through, self._through) if seq is not None), default=None)
        name, last = file.path.name, file is self.files[-1]
        with open_regular(file.path, _BUFFER_BYTES) as handle:
            offset = _seek_record(handle, offset)
            while limit is None or self.seq < limit:
                line = handle.readline(MAX_LINE_BYTES)
                if not line:
                    return
                event = decode(line, file.version)
                if isinstance(event, BadLine):
                    loose = _loose(handle, line, event.reason)
                    torn = last and not loose.ended
                    self._log.loose(loose.at(file, offset, torn), self.seq)
                    offset = handle.tell()
                    continue
                if limit is not None and event.seq > limit:
                    return
                self._check(event, name, offset)
                if event.seq > self.seq:
                    self.event_offset, self.line_ended = offset, line.endswith(b"\n")
                    self.position = Position(
                        file=name, offset=offset + len(line), seq=event.seq, crc=checksum_of(line)
                    )
                    yield event
                offset += len(line)

    def _check(self, event: Event, file: str, offset: int) -> None:
        before, seq = self.seq, event.seq
        if seq <= before:
            self._log.duplicate(before, seq, file, offset)
            return
        payload = event.payload
        if isinstance(payload, Note):
            self._log.note(payload, file)
        elif isinstance(payload, Segment) and payload.prev_crc != self.crc and seq == before + 1:
            self._log.chain(before, seq, file, offset)
        self._log.event(before, seq, file, offset)


class SentReading(Reading):
    """A reading that yields only what was sent: a stream whose first write failed or was torn begins
    with its meta event all the same. A torn line at the end is no damage either when only its declaration
    is cut off: the copy in `quarantine` says so, and the next writer declares it again."""

    def __init__(
        self,
        first: Path,
        quarantine: Path,
        since: Position | None = None,
        through: int | None = None,
        listing: Listing | None = None,
    ) -> None:
        super().__init__(first, since, through, listing)
        self._quarantine = quarantine

    def __iter__(self) -> Iterator[Event]:
        yield from (event for event in super().__iter__() if is_sent(event))
        copied = [loose for loose in self.trailing if is_copied(self._quarantine, loose)]
        self._log.being_declared(copied)


def is_sent(event: Event) -> bool:
    """Whether somebody sent the event; the others are what a writer says of its files."""
    payload = event.payload
    return not isinstance(payload, Segment) and not (isinstance(payload, Note) and payload.kind == TORN_TAIL)


class _Scan(msgspec.Struct, frozen=True):
    length: int
    sha256: str
    ended: bool
    reason: str

    def at(self, file: SegmentFile, offset: int, torn: bool) -> LooseBytes:
        return LooseBytes(
            file=file.path.name,
            offset=offset,
            length=self.length,
            sha256=self.sha256,
            reason=self.reason,
            torn=torn,
            first_line=file.number == 0 and offset == 0 and not torn,
        )


def _loose(handle: BinaryIO, line: bytes, reason: str) -> _Scan:
    """Measure a bad line, which may be longer than what was read of it; its line end is not part."""
    digest, length = hashlib.sha256(), 0
    while not line.endswith(b"\n"):
        digest.update(line)
        length += len(line)
        line = handle.readline(MAX_LINE_BYTES)
        if not line:
            return _Scan(length, digest.hexdigest(), False, reason)
    digest.update(line[:-1])
    return _Scan(length + len(line) - 1, digest.hexdigest(), True, reason)


def _holds(files: tuple[SegmentFile, ...], since: Position) -> bool:
    for file in files:
        if file.path.name == since.file and (file.through is None or since.seq <= file.through):
            with open_regular(file.path) as handle:
                handle.seek(max(0, since.offset - 32))
                tail = handle.read(min(32, since.offset))
            complete = file.path.stat().st_size >= since.offset
            return complete and checksum_of(tail) == since.crc
    return False


def _seek_record(handle: BinaryIO, offset: int) -> int:
    """Go to a record's end and over its line end, if that was written after the position was taken."""
    if offset == 0:
        return 0
    handle.seek(offset - 1)
    if handle.read(1) != b"\n":
        end = handle.readline(2)
        if end in (b"\n", b"\r\n"):
            return offset + len(end)
        handle.seek(offset)
    return offset
