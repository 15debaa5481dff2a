"""Appends groups of events to one stream, durably. Blocking: it runs on the writer's thread.

A file whose write or sync failed is sealed: nothing is written to it again. The next group begins a
new file, so that an event is either acknowledged or can be sent again under its id.
"""

import contextlib
import os
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from resumed.daemon.failpoints import passage
from resumed.daemon.ports.regular import open_regular
from resumed.daemon.storage import disk
from resumed.daemon.storage.codec import BadLine, checksum_of, decode, encode, encode_as
from resumed.daemon.storage.damage import FIRST_LINE, LooseBytes
from resumed.daemon.storage.errors import (
    EventConflict,
    EventRefused,
    StateReadOnly,
    StorageFailed,
    StreamBusy,
)
from resumed.daemon.storage.quarantine import copy_aside, is_copied
from resumed.daemon.storage.reader import NO_CRC, TORN_TAIL, Reading, is_sent
from resumed.daemon.storage.segments import segment_path
from resumed.restore.events import SCHEMA_VERSION
from resumed.restore.events.envelope import Event, Payload, Source, SourceKind
from resumed.restore.events.journal import Note, Segment

Now = Callable[[], str]
"""Returns the time as RFC 3339 in UTC with milliseconds."""

GROUP_BYTES = 16 << 20
"""A write is ended when it has this many bytes, so that memory and the time of a sync stay bounded."""

_OFFSET_BITS = 48


class Appended(msgspec.Struct, frozen=True):
    """An event is durable as number `seq`; `repeated` when it had been before."""

    seq: int
    repeated: bool


class StreamHome(msgspec.Struct, frozen=True):
    """What an appender needs of the state folder `top`: a stream's first file, its lock, the quarantine."""

    first: Path
    lock: Path
    quarantine: Path
    top: Path


Group = tuple[Event, ...]
"""Events that are appended in order, contiguously, all or none."""

Outcome = tuple[Appended, ...] | EventConflict | EventRefused | StorageFailed


class _Numbered(msgspec.Struct):
    """Groups as bytes. `fresh` maps an event id to its `seq`, its offset in `lines` and the event."""

    lines: bytearray
    fresh: dict[str, tuple[int, int, Event]]
    outcomes: list[Outcome]
    seq: int


class Appender:
    """The one writer of a stream. `seq` and `crc` are those of the last durable event; `begun` tells
    whether any event is durable that somebody sent, and not only the appender's own words."""

    def __init__(self, home: StreamHome, now: Now, lock: int) -> None:
        self.seq = 0
        self.crc = NO_CRC
        self.begun = False
        self._home = home
        self._now = now
        self._lock = lock
        self._file: int | None = None
        self._number = 0
        self._size = 0
        self._sealed_because = ""
        self._line_end_due = False
        self._places: dict[str, int] = {}
        self._versions: dict[int, int] = {}

    @classmethod
    def open(cls, home: StreamHome, now: Now) -> "Appender":
        """Become the stream's writer, creating its file when there is none; declares a torn tail.

        Raises `StreamBusy` when another has the lock, `StateReadOnly` for a stream that a newer
        version wrote or whose first line is damaged, `StorageFailed` when the disk refuses.
        """
        try:
            lock = disk.lock(home.lock)
            if lock is None:
                raise StreamBusy(f"Another process is writing {home.first.name}.")
            appender = cls(home, now, lock)
            try:
                appender._load(Reading(home.first))
                disk.sync_folders(home.first.parent, home.top)
            except BaseException:
                appender.close()
                raise
        except OSError as error:
            raise StorageFailed(f"{home.first.name} can't be opened: {error.strerror}.") from error
        return appender

    def knows(self, event_id: str) -> bool:
        """Tell whether an event of this id is durable."""
        return event_id in self._places

    def commit(self, groups: Sequence[Group]) -> list[Outcome]:
        """Append groups, as many as possible with one write and one sync.

        Returns an outcome per group: what became of its events, or why none of them was taken.
        """
        outcomes: list[Outcome] = []
        while len(outcomes) < len(groups):
            outcomes += self._commit_some(groups[len(outcomes) :])
        return outcomes

    def close(self) -> None:
        """Close the file and give up the lock."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
        os.close(self._lock)

    def _load(self, reading: Reading) -> None:
        if not reading.files:
            self._file = disk.create(self._home.first)
            passage("stream.create")
            return
        numbers = {file.path.name: file.number for file in reading.files}
        for event in reading:
            number = numbers[reading.position.file] if reading.position else 0
            self._places[event.event_id] = number << _OFFSET_BITS | reading.event_offset
            self.begun = self.begun or is_sent(event)
        self._check_appendable(reading)
        self._versions = {file.number: file.version for file in reading.files}
        self.seq, self.crc = reading.seq, reading.crc
        last = reading.files[-1]
        self._number, self._size = last.number, last.path.stat().st_size
        if last.version == SCHEMA_VERSION:
            self._continue(last.path, reading)
        else:
            self._sealed_because = f"schema version {last.version}"

    def _check_appendable(self, reading: Reading) -> None:
        name = self._home.first.name
        if any(file.version > SCHEMA_VERSION for file in reading.files):
            raise StateReadOnly(f"{name} was written by a newer version.")
        # One that was being declared torn when the process died is declared now.
        due = {
            (loose.file, loose.offset)
            for loose in reading.trailing
            if is_copied(self._home.quarantine, loose)
        }
        lost = [damage for damage in reading.damage if damage.kind == FIRST_LINE]
        if any((damage.file, damage.offset) not in due for damage in lost):
            raise StateReadOnly(f"The first line of {name} is damaged; it can only be read.")

    def _continue(self, path: Path, reading: Reading) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND)
        # A writer that was killed may have left events that were written and not synced.
        disk.sync(self._file)
        here = [loose for loose in reading.trailing if loose.file == path.name]
        in_last = reading.position is not None and reading.position.file == path.name
        self._line_end_due = any(loose.torn for loose in here) or (in_last and not reading.line_ended)
        quarantine = self._home.quarantine
        due = [loose for loose in here if loose.torn or is_copied(quarantine, loose)]
        if not due:
            return
        for loose in due:
            copy_aside(quarantine, path, loose)
        passage("stream.declare")
        (outcome,) = self.commit([tuple(_torn_tail(loose) for loose in due)])
        if isinstance(outcome, Exception):
            raise outcome

    def _commit_some(self, groups: Sequence[Group]) -> list[Outcome]:
        refused = ""
        for _ in range(2):
            try:
                return self._attempt(groups)
            except OSError as error:
                refused = error.strerror or str(error)
                self._seal(refused)
        return [StorageFailed(f"{self._home.first.name} can't be written: {refused}.") for _ in groups]

    def _attempt(self, groups: Sequence[Group]) -> list[Outcome]:
        numbered = self._numbered(groups)
        if numbered.fresh:
            self._write(numbered)
        return numbered.outcomes

    def _numbered(self, groups: Sequence[Group]) -> _Numbered:
        ts, seq, lines = self._now(), self.seq, bytearray()
        if self._file is None:
            seq += 1
            lines += encode_as(self._segment(), seq, ts)
        elif self._line_end_due:
            lines += b"\n"
        fresh: dict[str, tuple[int, int, Event]] = {}
        outcomes: list[Outcome] = []
        for group in groups:
            mark, before, appended = len(lines), seq, []
            try:
                for event in group:
                    known = self._known(event, fresh)
                    if known is None:
                        seq += 1
                        line = encode_as(event, seq, ts)
                        fresh[event.event_id] = (seq, len(lines), event)
                        lines += line
                        known = Appended(seq, False)
                    appended.append(known)
                outcomes.append(tuple(appended))
            except (EventConflict, EventRefused) as refusal:
                del lines[mark:]
                seq = before
                fresh = {name: entry for name, entry in fresh.items() if entry[0] <= before}
                outcomes.append(refusal)
            if len(lines) >= GROUP_BYTES:
                break
        return _Numbered(lines, fresh, outcomes, seq)

    def _known(self, event: Event, fresh: dict[str, tuple[int, int, Event]]) -> Appended | None:
        if not event.event_id:
            raise EventRefused("An event needs an id.")
        place = self._places.get(event.event_id)
        if place is not None:
            stored = self._stored(place)
            seq = stored.seq
        elif event.event_id in fresh:
            seq, _, stored = fresh[event.event_id]
        else:
            return None
        if not _same_content(stored, event):
            raise EventConflict(f"Event {event.event_id} is on record with another content.")
        return Appended(seq, True)

    def _stored(self, place: int) -> Event:
        number, offset = place >> _OFFSET_BITS, place & (1 << _OFFSET_BITS) - 1
        with open_regular(segment_path(self._home.first, number)) as file:
            file.seek(offset)
            event = decode(file.readline(), self._versions.get(number, SCHEMA_VERSION))
        if isinstance(event, BadLine):
            raise EventConflict(f"The record of a repeated event can't be read: {event.reason}.")
        return event

    def _segment(self) -> Event:
        payload = Segment(
            schema_version=SCHEMA_VERSION,
            n=self._next_number(),
            prev_seq=self.seq,
            prev_crc=self.crc,
            reason=self._sealed_because,
        )
        return _own(payload)

    def _next_number(self) -> int:
        number = self._number + 1
        while segment_path(self._home.first, number).exists():
            number += 1
        return number

    def _write(self, numbered: _Numbered) -> None:
        if self._file is None:
            number = self._next_number()
            self._file = disk.create(segment_path(self._home.first, number))
            self._number, self._size, self._line_end_due = number, 0, False
            passage("stream.create")
        passage("stream.write")
        disk.write(self._file, numbered.lines)
        passage("stream.sync")
        disk.sync(self._file)
        passage("stream.acknowledge")
        start = self._number << _OFFSET_BITS | self._size
        for event_id, (_, offset, _) in numbered.fresh.items():
            self._places[event_id] = start + offset
        self.begun = self.begun or any(is_sent(event) for _, _, event in numbered.fresh.values())
        self._size += len(numbered.lines)
        self._line_end_due = False
        self.seq, self.crc = numbered.seq, checksum_of(bytes(numbered.lines[-32:]))

    def _seal(self, reason: str) -> None:
        self._sealed_because = reason
        if self._file is None:
            return
        # What close reports adds nothing: the file is given up, and its unsynced events are not counted.
        with contextlib.suppress(OSError):
            os.close(self._file)
        self._file = None
        if self._number > 0 and self._size == 0:
            with contextlib.suppress(OSError):
                segment_path(self._home.first, self._number).unlink()


def _same_content(stored: Event, event: Event) -> bool:
    # Compared as read back, so that a tuple equals the list it is stored as.
    again = decode(encode(event))
    return not isinstance(again, BadLine) and again.payload == stored.payload


def _torn_tail(loose: LooseBytes) -> Event:
    named = {"file": loose.file, "offset": loose.offset, "length": loose.length, "sha256": loose.sha256}
    return _own(Note(kind=TORN_TAIL, details=named))


def _own(payload: Payload) -> Event:
    return Event(payload=payload, event_id=str(uuid.uuid4()), src=Source(SourceKind.OBSERVED, "resumed"))
