"""What must hold of a state folder after the scripted session was cut off, before and after a start.

Everything that was acknowledged is there, under its number and with its content; of what an appender
sent there is a beginning; nothing is there that nobody sent, and nothing twice.
"""

import hashlib
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from resumed.daemon.storage.codec import decode, encode
from resumed.daemon.storage.damage import Damage
from resumed.daemon.storage.layout import Layout
from resumed.daemon.storage.reader import Reading
from resumed.restore.events.envelope import Event, Payload
from resumed.restore.events.journal import Note, Segment
from resumed.restore.events.session import EntryAdded
from tests.support.scripted_session import (
    SESSION,
    SESSION_ID,
    STREAMS,
    THREAD_ID,
    Parts,
    opened,
    play_on,
    sent,
)

KEPT = re.compile(
    r"key|layout\.(json|lock)|locks/[a-z]+-[0-9a-f-]{36}\.lock|leases/[0-9a-f-]{36}\.lock"
    r"|sessions/\d{4}/\d\d/\d\d/rollout-[0-9T-]{19}-[0-9a-f-]{36}(\.\d+)?\.jsonl"
    r"|(thread|worktree)s/[0-9a-f-]{36}(\.\d+)?\.jsonl|quarantine/.+\.torn"
    r"|workspaces/0{32}/index-v\d+\.db(-wal|-shm)?"
)
"""Every file that a state folder may hold while nothing is at work on it."""

KEPT_AT_START = re.compile(rf"{KEPT.pattern}|quarantine/\..+\.staged")
"""A copy that was cut off is made again by the next writer of its stream, not before."""


async def check(home: Path, run: int, reports: Iterable[str]) -> None:
    """Look at what is left, start again, send everything again, and look again."""
    reports = list(reports)
    _check_streams(home, reports)
    async with opened(home, run) as parts:
        _check_start(home, parts, reports)
        await _check_index(home, parts, run)
        await play_on(parts, reports.append)
        await _check_record(parts)
    for stream, events in _check_streams(home, reports).items():
        missing = {event_id for sending in _expected(stream).values() for event_id in sending}
        missing -= {event.event_id for event in events}
        assert not missing, f"{stream} was not completed: {missing}"
        _check_quarantine(home, events)
    _check_files(home, KEPT)


def _check_start(home: Path, parts: Parts, reports: Iterable[str]) -> None:
    homes = {line.split()[1] for line in reports if line.startswith("home ")}
    assert homes <= {parts.layout.install_id}, "the state folder has become another one"
    _check_files(home, KEPT_AT_START)


def _check_files(home: Path, kept: re.Pattern[str]) -> None:
    files = [path.relative_to(home).as_posix() for path in home.rglob("*") if path.is_file()]
    assert all(kept.fullmatch(name) for name in files), files


def _check_streams(home: Path, reports: Iterable[str]) -> dict[str, list[Event]]:
    acknowledged: dict[str, dict[int, str]] = {stream: {} for stream in STREAMS}
    for line in reports:
        if line.startswith("acknowledged "):
            _, stream, seq, event_id = line.split()
            assert acknowledged[stream].setdefault(int(seq), event_id) == event_id
    found = {stream: _events(home, stream) for stream in STREAMS}
    for stream, events in found.items():
        _check_stream(stream, events, acknowledged[stream])
    return found


def _check_stream(stream: str, events: list[Event], acknowledged: dict[int, str]) -> None:
    by_seq = {event.seq: event.event_id for event in events}
    assert list(by_seq) == list(range(1, len(events) + 1)), f"{stream}: {[event.seq for event in events]}"
    lost = {seq: event_id for seq, event_id in acknowledged.items() if by_seq.get(seq) != event_id}
    assert not lost, f"{stream} lost {lost}, of {len(events)}"
    found = {event.event_id: event for event in events}
    assert len(found) == len(events), f"{stream} holds an event twice"
    for appender, expected in _expected(stream).items():
        there = [event_id for event_id in found if event_id in expected]
        assert there == list(expected)[: len(there)], f"{stream}: not what {appender} sent"
        for event_id in there:
            assert found.pop(event_id).payload == expected[event_id], f"{stream}: another content"
    invented = [event for event in found.values() if not isinstance(event.payload, Segment | Note)]
    assert not invented, f"{stream}: {invented}"


def _events(home: Path, stream: str) -> list[Event]:
    path = Layout(home=home, install_id="", key=b"").find_stream(stream)
    if path is None:
        return []
    reading = Reading(path)
    events = list(reading)
    damaged = [damage for damage in reading.damage if not _is_being_declared(home, damage)]
    assert not damaged, f"{stream}: {damaged}"
    return events


def _is_being_declared(home: Path, damage: Damage) -> bool:
    """Whether it is a torn line whose line end is written and whose declaration was torn in its turn;
    the copy in quarantine proves it, and the next writer declares it again."""
    return (home / "quarantine" / f"{damage.file}.{damage.offset}.torn").exists()


@cache
def _expected(stream: str) -> dict[str, dict[str, Payload]]:
    """By appender and event id, in the order of sending, the payloads as they come back from a file."""
    return {
        appender: {event.event_id: _as_stored(event) for event in events}
        for appender, events in sent(stream).items()
    }


def _as_stored(event: Event) -> Payload:
    stored = decode(encode(event))
    assert isinstance(stored, Event)
    return stored.payload


async def _check_index(home: Path, parts: Parts, run: int) -> None:
    """After one look at the streams the index says what one says that was made of them from nothing."""
    if not parts.streams.exists(f"thread:{THREAD_ID}"):
        return
    await parts.threads.look_again()
    assert (await parts.threads.record(THREAD_ID)).events_damaged == 0
    assert parts.index.generation == 0
    fresh = home.with_name(f"{home.name}.{run}.db")
    async with opened(home, run, fresh) as other:
        await other.threads.look_again()
        assert await parts.index.row(THREAD_ID) == await other.index.row(THREAD_ID)
        assert set(await parts.index.files()) == set(await other.index.files())
        assert await parts.threads.record(THREAD_ID) == await other.threads.record(THREAD_ID)
    fresh.unlink()


async def _check_record(parts: Parts) -> None:
    """What is told of the thread has all of it: a run that is on record is never left out."""
    await parts.threads.look_again()
    record = await parts.threads.record(THREAD_ID)
    entries = [event for sending in sent(SESSION).values() for event in sending if _is_entry(event)]
    assert [run.session_id for run in record.runs] == [SESSION_ID]
    assert record.states["conversation"].entries == len(entries)
    assert record.damage == ()


def _is_entry(event: Event) -> bool:
    return isinstance(event.payload, EntryAdded)


def _check_quarantine(home: Path, events: Iterable[Event]) -> None:
    """What a stream says was torn is kept aside, byte for byte."""
    for event in events:
        if isinstance(event.payload, Note):
            named = event.payload.details
            copy = home / "quarantine" / f"{named['file']}.{named['offset']}.torn"
            assert hashlib.sha256(copy.read_bytes()).hexdigest() == named["sha256"]
