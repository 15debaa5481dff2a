"""Reads what we keep of a thread ourselves: its own stream, and those of its runs.

What cannot be read is damage of this one thread: the rest is still read, and the damage is told. A run that
is on record and of which nothing is left is never passed over in silence.
"""

import contextlib
from collections.abc import Iterator

import msgspec

from resumed.daemon.agents.reading import reason_of
from resumed.daemon.ingesting import furthest
from resumed.daemon.run_worktrees import RunWorktrees
from resumed.daemon.storage.damage import FIRST_LINE
from resumed.daemon.storage.errors import StreamMissing
from resumed.daemon.storage.reader import Position
from resumed.daemon.storage.stores import StreamReader, StreamReading
from resumed.restore.events.envelope import Event
from resumed.restore.events.session import (
    EnvironmentSeen,
    Ingested,
    ModelSet,
    PermissionsSet,
    SessionMeta,
    WorktreeBound,
)
from resumed.restore.events.thread import SessionLinked, ThreadMeta
from resumed.restore.events.worktree import WorktreeMeta
from resumed.restore.left_place import left_behind
from resumed.restore.lifecycle import aborted, ended_with_its_restore
from resumed.restore.recover import is_cut_off

FOREIGN = "foreign"
LIST_LOST = "Our record that lists the runs of this conversation is gone or empty."
RUN_LOST = "Our record of a run is gone or empty."
BEGINNING_LOST = "The beginning of a record of ours can't be read."
RESTORE_LOST = "The beginning of our record of a restore can't be read: what it did was left as it is."
_FREED_AT_ONCE = 1000
_OF_A_START = (SessionMeta, WorktreeMeta, WorktreeBound, PermissionsSet, ModelSet, EnvironmentSeen)


class OwnRecords(msgspec.Struct, kw_only=True):
    """What one look at a thread's streams found: the readings and events by stream. `restored` are the
    events of runs that ended with their restore, `no_runs` by identity the beginnings of restores that came
    to no run and left a place. `cut_off`: a restore has no end. `unread` has a sentence for each part that
    is gone or cannot be read, `places_unread` for what only tells of a place; `lost` is the loss without
    which nobody can go on from the thread; `unlisted` are runs that the thread's own stream does not name
    (any more). `agents_own` is the path of the agent's file that own events tell of, empty if they say no
    path; `ingested` is what a restore has read of it before."""

    readings: dict[str, StreamReading] = {}
    tails: list[list[Event]] = []
    restored: list[list[Event]] = []
    no_runs: set[int] = set()
    cut_off: bool = False
    unread: list[str] = []
    places_unread: list[str] = []
    lost: str = ""
    unlisted: tuple[str, ...] = ()
    agents_own: str | None = None
    ingested: Ingested | None = None

    def let_go(self) -> None:
        """Free the events some at a time: freeing those of a long thread at once would stop every other
        thread of the process."""
        for tail in self.tails:
            while tail:
                del tail[-_FREED_AT_ONCE:]


class Owned(msgspec.Struct, frozen=True, kw_only=True):
    """Whose records to read: a thread, the run that an agent has `live` here, and the `sessions` that say
    themselves that they are the thread's, as far as is known. `agent_keeps_it`: the conversation is in a
    file of the agent's own, and what we keep is only about it."""

    thread_id: str
    live: str | None = None
    sessions: tuple[str, ...] = ()
    agent_keeps_it: bool = False

    @property
    def stream(self) -> str:
        """The thread's own stream."""
        return f"thread:{self.thread_id}"


def open_own(streams: StreamReader, owned: Owned, known: dict[str, Position]) -> OwnRecords | None:
    """Read the thread's stream and those of its runs; runs that came to nothing are left out.

    `known` is how far each was read before; `None` when it cannot be gone on from there. Blocks."""
    records = OwnRecords()
    worktrees = RunWorktrees(streams)
    events: list[Event] = []
    to_read, is_whole = [owned.stream], False
    with _told(records):
        reading = _read(streams, owned.stream, None, events)
        is_whole = reading is not None and not reading.damage
        if reading is None:
            to_read = []
        elif owned.stream not in known:
            _note_ingested(events, records)
            records.readings[owned.stream] = reading
            records.tails.append(events)
            to_read = []
    listed = _listed(events, records)
    if not is_whole:
        # Also those that name the thread.
        records.unlisted = tuple(session for session in owned.sessions if session not in listed)
    to_read += [f"session:{session}" for session in dict.fromkeys((*listed, *records.unlisted))]
    for stream in to_read:
        holds = True
        with _told(records):
            try:
                holds = _open_stream(streams, owned, stream, known, records, worktrees)
            except FileNotFoundError:
                # It may be in another place now: put away, or brought back.
                holds = _open_stream(streams, owned, stream, known, records, worktrees)
        if not holds:
            return None
    is_nothing = records.unlisted and owned.stream not in records.readings and not _has_gone_on(records)
    if is_nothing and not owned.agent_keeps_it:
        # A start that was cut off before it was answered: there is no such thread.
        return OwnRecords()
    _judge(owned, records)
    records.places_unread += worktrees.unread
    return records


def _listed(events: list[Event], records: OwnRecords) -> list[str]:
    """The runs that the thread's own stream names."""
    listed: list[str] = []
    for event in events:
        match event.payload:
            case SessionLinked(session_id=session_id) if event.src.ref != FOREIGN:
                listed.append(session_id)
            case ThreadMeta(storage_class=storage) if storage == FOREIGN:
                records.agents_own = records.agents_own or ""
    return listed


def _read(
    streams: StreamReader, stream: str, since: Position | None, events: list[Event]
) -> StreamReading | None:
    """Read a stream into `events`, as far as it can be read; `None` if there is none, or nothing in it."""
    try:
        reading = streams.read(stream, since)
    except StreamMissing:
        return None
    for event in reading:
        events.append(event)
    return None if not events and (since is None or reading.restarted) else reading


def _open_stream(
    streams: StreamReader,
    owned: Owned,
    stream: str,
    known: dict[str, Position],
    records: OwnRecords,
    worktrees: RunWorktrees,
) -> bool:
    """Read one stream, or what was added to it; returns whether it goes on from what is known."""
    is_run = stream != owned.stream
    events: list[Event] = []
    reading = _read(streams, stream, known.get(stream), events)
    if reading is None:
        if is_run:
            records.unread.append(RUN_LOST)
        return True
    if reading.restarted:
        return False
    _note_ingested(events, records)
    is_new = is_run and stream not in known
    if is_new and aborted(events):
        if any(found.kind == FIRST_LINE for found in reading.damage):
            # It cannot be gone on with; whatever it did stays as it is.
            records.places_unread.append(RESTORE_LOST)
        else:
            records.cut_off = records.cut_off or is_cut_off(events)
        if left := left_behind(events):
            records.readings[stream] = reading
            records.tails.append(left)
            records.no_runs.add(id(left[0]))
        return True
    tail = worktrees.with_worktree(events)
    records.readings[stream] = reading
    records.tails.append(tail)
    if is_new and stream != f"session:{owned.live}" and ended_with_its_restore(events):
        records.restored.append(tail)
    return True


def _note_ingested(events: list[Event], records: OwnRecords) -> None:
    for event in events:
        if isinstance(event.payload, Ingested):
            records.agents_own = event.payload.path
            records.ingested = furthest(records.ingested, event.payload)


def _judge(owned: Owned, records: OwnRecords) -> None:
    """Tell whether anybody can go on without what is lost for good."""
    beginnings = {
        stream
        for stream, reading in records.readings.items()
        if any(found.kind == FIRST_LINE for found in reading.damage)
    }
    is_agents = owned.agent_keeps_it or records.agents_own is not None
    if owned.stream in beginnings or (beginnings and not is_agents):
        records.lost = BEGINNING_LOST
    elif records.unread and not is_agents:
        records.lost = records.unread[0]
    if records.unlisted and owned.stream not in records.readings:
        # The runs are there, and are listed again.
        records.unread.append(LIST_LOST)


def _has_gone_on(records: OwnRecords) -> bool:
    events = (event for tail in records.tails for event in tail)
    return bool(records.unread) or any(not isinstance(event.payload, _OF_A_START) for event in events)


@contextlib.contextmanager
def _told(records: OwnRecords) -> Iterator[None]:
    """A record of ours that cannot be read is damage, and no reason to show nothing."""
    try:
        yield
    except (OSError, StreamMissing) as error:
        reason = reason_of(error) if isinstance(error, OSError) else error.sentence
        records.unread.append(f"A record of ours cannot be read: {reason}.")
