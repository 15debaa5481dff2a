"""Streams for tests: their events, their files, and the bytes in them."""

import os
import resource
import signal
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from resumed.daemon.storage.appender import Appender, StreamHome
from resumed.daemon.storage.codec import encode_as
from resumed.daemon.storage.reader import NO_CRC, Reading
from resumed.restore.events.envelope import Event, Payload, Source, SourceKind
from resumed.restore.events.journal import Note, Segment
from resumed.restore.events.session import EntryAdded
from resumed.restore.events.thread import ThreadMeta

THREAD_ID = "11111111-1111-4111-8111-111111111111"
STREAM = f"thread:{THREAD_ID}"
TS = "2026-01-02T03:04:05.000Z"


def now() -> str:
    """Always the same time."""
    return TS


def wrapped(payload: Payload, event_id: str | None = None) -> Event:
    """An event of its own id, or of the given one."""
    return Event(
        payload=payload, event_id=event_id or str(uuid.uuid4()), src=Source(SourceKind.DIRECT, "test")
    )


def meta(thread_id: str = THREAD_ID, event_id: str | None = None) -> Event:
    """The first event of a thread's stream."""
    payload = ThreadMeta(
        schema_version=1, thread_id=thread_id, agent="codex", storage_class="own", created_at=TS
    )
    return wrapped(payload, event_id)


def entry(text: str, event_id: str | None = None) -> Event:
    """A message of this text."""
    return wrapped(EntryAdded(kind="message", role="user", text=text), event_id)


def line(text: str, seq: int) -> bytes:
    """The stored line of a message."""
    return encode_as(entry(text), seq, TS)


def note_line(seq: int, kind: str, **details: object) -> bytes:
    """The stored line of a note."""
    return encode_as(wrapped(Note(kind=kind, details=details)), seq, TS)


def segment_line(seq: int, prev_seq: int, prev_crc: str = NO_CRC, number: int = 1) -> bytes:
    """The stored first line of a continuing file."""
    payload = Segment(
        schema_version=1, n=number, prev_seq=prev_seq, prev_crc=prev_crc, reason="No space left on device"
    )
    return encode_as(wrapped(payload), seq, TS)


def stream_home(folder: Path) -> StreamHome:
    """Where one stream's appender works."""
    return StreamHome(
        folder / "threads" / f"{THREAD_ID}.jsonl", folder / "locks" / "t", folder / "quarantine", folder
    )


@contextmanager
def appender(home: StreamHome) -> Iterator[Appender]:
    """An open appender, closed at the end."""
    opened = Appender.open(home, now)
    try:
        yield opened
    finally:
        opened.close()


def texts(reading: Reading) -> list[str]:
    """The messages of a stream, in order; iterates the reading to its end."""
    return [event.payload.text for event in reading if isinstance(event.payload, EntryAdded)]


def seqs(reading: Reading) -> list[int]:
    """The numbers of a stream's events; iterates the reading to its end."""
    return [event.seq for event in reading]


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """Let no file grow beyond `size` bytes: what does not fit is a short write, then an error."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)


def program_environment(**variables: str) -> dict[str, str]:
    """The environment of a Python program that imports what this process can."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **variables}
