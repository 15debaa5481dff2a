"""A session that always goes the same way, over the real storage: what crash tests kill at every call.

Four appenders send events to three streams, some together, some in groups, some twice; a stream is
released and opened again; the index is written after the streams are durable. Played again after a
crash it sends everything again under the same ids, as agents do, and so completes what was cut off.
"""

import asyncio
import contextlib
import itertools
import os
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import NamedTuple, TypeVar

from resumed.daemon.ports.git import Git
from resumed.daemon.ports.git_command import GitCommand
from resumed.daemon.row_refresh import refresh_row
from resumed.daemon.storage.appender import Appended
from resumed.daemon.storage.errors import IndexFailed, StorageFailed
from resumed.daemon.storage.index import Index
from resumed.daemon.storage.layout import Layout
from resumed.daemon.storage.lease import Lease, LeaseHolder, acquire
from resumed.daemon.storage.streams import Streams
from resumed.daemon.surroundings import Surroundings
from resumed.daemon.threads import Store, Threads
from resumed.restore.events import SCHEMA_VERSION
from resumed.restore.events.envelope import Event, Payload, Source, SourceKind
from resumed.restore.events.session import (
    AgentRef,
    EntryAdded,
    SessionEnded,
    SessionMeta,
    TurnEnded,
    TurnStarted,
)
from resumed.restore.events.thread import SessionLinked, ThreadMeta, ThreadPatched
from resumed.restore.events.worktree import FileVersion, WorktreeMeta

THREAD_ID = "11111111-1111-4111-8111-111111111111"
SESSION_ID = "22222222-2222-4222-8222-222222222222"
WORKTREE_ID = "33333333-3333-4333-8333-333333333333"
THREAD, SESSION, WORKTREE = f"thread:{THREAD_ID}", f"session:{SESSION_ID}", f"worktree:{WORKTREE_ID}"
STREAMS = (THREAD, SESSION, WORKTREE)
WORKSPACE_ID = "0" * 32
ROOT = "/nowhere/shop"
TURNS = 3
ATTEMPTS = 20

_BEGAN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)

Value = TypeVar("Value")
Report = Callable[[str], None]
"""Takes a line: `home <install id>`, `acknowledged <stream> <seq> <event id>` or `refused <why>`."""


class Send(NamedTuple):
    """One append: who sends it, to which stream, and its events, all or none. One who sends waits for
    the answer before sending more."""

    appender: str
    stream: str
    events: tuple[Event, ...]


class Step(NamedTuple):
    """Appends that are sent together; then, if asked for, a stream is released or the row refreshed."""

    sends: tuple[Send, ...]
    release: str = ""
    refresh: bool = False


class Clock:
    """Every look is a millisecond later; each run of the script begins an hour after the one before."""

    def __init__(self, run: int) -> None:
        self._began = _BEGAN + timedelta(hours=run)
        self._looks = itertools.count()

    def now(self) -> str:
        """RFC 3339 in UTC with milliseconds."""
        time = self._began + timedelta(milliseconds=next(self._looks))
        return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def monotonic(self) -> float:
        """Seconds; never the same twice."""
        return float(next(self._looks))


@dataclass(frozen=True)
class Parts:
    """The storage of one run, opened."""

    layout: Layout
    streams: Streams
    index: Index
    threads: Threads


@cache
def script() -> tuple[Step, ...]:
    """The steps of the session."""
    creates = tuple(Step((Send("daemon", stream, events),)) for stream, events in _begin())
    turns = tuple(step for turn in range(TURNS) for step in _turn(turn))
    ended = _event("ended", SessionEnded(reason="exit", clean=True))
    renamed = _event("renamed", ThreadPatched(fields={"name": "Round down"}))
    end = Step((Send("agent", SESSION, (ended,)), Send("editor", THREAD, (renamed,))), refresh=True)
    return (*creates, *turns, end)


@cache
def sent(stream: str) -> dict[str, list[Event]]:
    """What each appender sends to a stream, in its order; what it sends twice is there once."""
    found: dict[str, dict[str, Event]] = {}
    for step in script():
        for send in step.sends:
            if send.stream == stream:
                found.setdefault(send.appender, {}).update({event.event_id: event for event in send.events})
    return {appender: list(events.values()) for appender, events in found.items()}


@contextlib.asynccontextmanager
async def opened(home: Path, run: int, index: Path | None = None) -> AsyncIterator[Parts]:
    """The parts over a state folder, as a daemon opens them; `index` is another place for the index."""
    clock = Clock(run)
    layout = _writable(home)
    streams = Streams(layout, clock.now)
    path = index or layout.index_path(WORKSPACE_ID)
    opened_index = (await _until_taken(lambda: Index.open(path), lambda line: None))[0]
    threads = Threads(
        (ROOT, WORKSPACE_ID),
        Store(layout, opened_index, streams),
        (),
        Surroundings(ROOT, Git(GitCommand())),
        clock,
    )
    try:
        yield Parts(layout, streams, opened_index, threads)
    finally:
        await threads.close()
        await streams.close()
        await opened_index.close()


async def play(home: Path, run: int, report: Report, steps: int | None = None) -> None:
    """Play the session, or its first steps, sending again what was refused."""
    report(f"home {_writable(home).install_id}")
    async with opened(home, run) as parts:
        await play_on(parts, report, steps)


async def play_on(parts: Parts, report: Report, steps: int | None = None) -> None:
    """Play the session, or its first steps, over opened parts."""
    lease = await _until_taken(lambda: asyncio.to_thread(_lease, parts.layout), report)
    for number, step in enumerate(script()[:steps]):
        await asyncio.gather(*(_send(parts, send, number < len(STREAMS), report) for send in step.sends))
        if step.release:
            await parts.streams.release(step.release)
        if step.refresh:
            await refresh_row(parts.threads, THREAD_ID)
    lease.release()


async def _send(parts: Parts, send: Send, first: bool, report: Report) -> None:
    async def call() -> tuple[Appended, ...]:
        if first:
            return (await parts.streams.create(send.stream, *send.events),)
        return await parts.streams.append(send.stream, *send.events)

    answers = await _until_taken(call, report)
    for event, answer in zip(send.events, answers, strict=not first):
        report(f"acknowledged {send.stream} {answer.seq} {event.event_id}")


async def _until_taken(call: Callable[[], Awaitable[Value]], report: Report) -> Value:
    """Ask until the disk takes it; any failure that is not said by its type goes through."""
    for _ in range(ATTEMPTS):
        try:
            return await call()
        except (StorageFailed, IndexFailed) as refusal:
            report(f"refused {refusal.sentence}")
    return await call()


def _writable(home: Path) -> Layout:
    for _ in range(ATTEMPTS):
        layout = Layout.open(home)
        if not layout.read_only:
            break
    layout.check_writable()
    return layout


def _lease(layout: Layout) -> Lease:
    holder = LeaseHolder(name="script", pid=os.getpid(), since=_BEGAN.isoformat())
    try:
        taken = acquire(layout, THREAD_ID, holder)
    except OSError as error:  # said by its errno, as the daemon's leases expect
        raise StorageFailed(str(error)) from error
    assert isinstance(taken, Lease), taken
    return taken


def _begin() -> tuple[tuple[str, tuple[Event, ...]], ...]:
    created = _BEGAN.isoformat()
    thread = ThreadMeta(
        schema_version=SCHEMA_VERSION,
        thread_id=THREAD_ID,
        agent="mender",
        storage_class="own",
        created_at=created,
    )
    session = SessionMeta(
        schema_version=SCHEMA_VERSION,
        thread_id=THREAD_ID,
        session_id=SESSION_ID,
        agent=AgentRef(name="mender"),
        source="script",
        cwd=ROOT,
        created_at=created,
        reason="startup",
        worktree_id=WORKTREE_ID,
    )
    worktree = WorktreeMeta(
        schema_version=SCHEMA_VERSION, worktree_id=WORKTREE_ID, repo_id=WORKTREE_ID, path=ROOT, evidence={}
    )
    linked = _event("linked", SessionLinked(session_id=SESSION_ID))
    # As a daemon does it: what is listed is there.
    return (
        (WORKTREE, (_event("worktree", worktree),)),
        (SESSION, (_event("session", session),)),
        (THREAD, (_event("thread", thread), linked)),
    )


def _turn(turn: int) -> tuple[Step, ...]:
    turn_id = str(uuid.uuid5(uuid.NAMESPACE_OID, f"turn {turn}"))
    started = Send("agent", SESSION, (_event(f"{turn} started", TurnStarted(turn_id=turn_id)),))
    heard = Send("tee", SESSION, (_said(f"{turn} heard", 9000),))
    named = _event(f"{turn} named", ThreadPatched(fields={"name": f"Round up {turn}"}))
    saved = _event(f"{turn} saved", FileVersion(path="a.py", kind="file", origin="agent", size=turn))
    many = tuple(_said(f"{turn} many {number}", 40 * number) for number in range(24))
    over = Send("agent", SESSION, (_event(f"{turn} over", TurnEnded(turn_id=turn_id, status="completed")),))
    return (
        Step((started,)),
        Step((heard, Send("hook", WORKTREE, (saved,)), Send("editor", THREAD, (named,)))),
        Step((heard, Send("agent", SESSION, many)), refresh=True),
        Step((over,), release=SESSION),
        Step((over, Send("hook", WORKTREE, (saved,)))),
    )


def _said(name: str, size: int) -> Event:
    return _event(name, EntryAdded(kind="message", role="user", text=f"{name} ".ljust(size, ".")))


def _event(name: str, payload: Payload) -> Event:
    event_id = str(uuid.uuid5(uuid.NAMESPACE_OID, name))
    return Event(payload=payload, event_id=event_id, src=Source(SourceKind.DIRECT, "script"))
