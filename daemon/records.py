"""Builds a thread's record: its own streams and the agent's file, merged in time and folded.

A checkpoint of the fold makes a later build cost only what was added. It is used only when every
part of it is still there byte for byte; otherwise everything is read again. A file that is gone or
cannot be read is damage of this one thread: the rest is still read, and the damage is told.
"""

import contextlib
import heapq
from collections.abc import Iterator
from pathlib import Path

import msgspec

from resumed.daemon.agents.agent import Agent
from resumed.daemon.agents.reading import ForeignReading, reason_of
from resumed.daemon.ingesting import changed, furthest, missing, nothing_in
from resumed.daemon.record_checkpoint import (
    Checkpoint,
    ForeignPart,
    foreign_holds,
    foreign_part,
    pack,
    unpack,
)
from resumed.daemon.storage.damage import Damage
from resumed.daemon.storage.errors import StreamMissing
from resumed.daemon.storage.reader import Position
from resumed.daemon.storage.stores import StreamReading, StreamStore
from resumed.daemon.taking_up import TakingUp
from resumed.restore.events.envelope import Event
from resumed.restore.events.session import Ingested, SessionMeta, WorktreeBound
from resumed.restore.events.thread import SessionLinked, ThreadMeta
from resumed.restore.left_place import left_behind
from resumed.restore.lifecycle import Lifecycle, LifecycleState, aborted, ended_with_its_restore
from resumed.restore.recover import is_cut_off
from resumed.restore.snapshot import Fold, Record
from resumed.restore.subsystems import SUBSYSTEMS

MIN_NEW_EVENTS = 64
FOREIGN = "foreign"


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """Where a thread's events are: its id, the agent, and the agent's file if it has one. `live` is
    the run that an agent has open here now; `name` is what the thread was last called; `listed_at` is
    where the list last had the agent's file, empty if it never had one; `archived`: the agent has put
    the thread away."""

    thread_id: str
    agent: Agent | None
    path: Path | None
    live: str | None = None
    name: str = ""
    listed_at: str = ""
    archived: bool = False


class Built(msgspec.Struct, frozen=True, kw_only=True):
    """A record with what the row needs, and a checkpoint to save (`None`: nothing new). `unread` has
    a sentence for each file that is gone or cannot be read now; these are part of the damage.
    `agents_own_lost` is that of the agent's own file, or why nothing of it can be read: without it the
    agent cannot go on. Empty if it is there, and for an agent that keeps none."""

    record: Record
    lifecycle: LifecycleState
    checkpoint: bytes | None
    unread: tuple[str, ...] = ()
    agents_own_lost: str = ""


class _Parts(msgspec.Struct, kw_only=True):
    """What one build reads from: the readings, and the own events by stream; `restored` are those of
    runs that ended with their restore, `no_runs` by identity the beginnings of restores that came to
    no run and left a place. `cut_off`: a restore has no end.
    `agents_own` is the path of the agent's file that own events tell of, empty if they say no path;
    `ingested` is what a restore has read of it before, `agents_own_lost` the sentence of its
    loss, and `agents_own_holds` says that some event of it was read."""

    own: dict[str, StreamReading] = {}
    unread: list[str] = []
    agents_own: str | None = None
    ingested: Ingested | None = None
    agents_own_lost: str = ""
    agents_own_holds: bool = False
    foreign: ForeignReading | None = None
    tails: list[list[Event]] = []
    restored: list[list[Event]] = []
    no_runs: set[int] = set()
    cut_off: bool = False


def build(streams: StreamStore, source: Source, saved: bytes | None) -> Built:
    """Read and fold. Blocking: runs on a worker thread."""
    checkpoint = unpack(saved) if saved else None
    if checkpoint is not None and not foreign_holds(checkpoint.foreign, source.path):
        checkpoint = None
    built = _build(streams, source, checkpoint)
    if built is None:
        # The new events are older than the checkpoint, or a stream was replaced: fold from the start.
        built = _build(streams, source, None)
    assert built is not None
    return built


def _build(streams: StreamStore, source: Source, checkpoint: Checkpoint | None) -> Built | None:
    parts = _Parts()
    if not _open_own(streams, source, checkpoint, parts):
        return None
    if source.path is not None and source.agent is not None and source.agent.store is not None:
        cursor = checkpoint.foreign.cursor if checkpoint and checkpoint.foreign else None
        parts.foreign = source.agent.store.read(source.path, cursor)
    elif parts.agents_own is not None or source.listed_at:
        _miss(parts, parts.agents_own or source.listed_at, None)
    fold = Fold(SUBSYSTEMS, checkpoint.states if checkpoint else None)
    lifecycle, state = Lifecycle(), (checkpoint.lifecycle if checkpoint else LifecycleState())
    count, latest = 0, checkpoint.latest if checkpoint else ""
    taking_up = TakingUp(parts.tails, parts.restored)
    merged = _merged(source, parts)
    for event in taking_up.passed(merged) if parts.restored else merged:
        when = event.at or event.ts
        if checkpoint is not None and when < checkpoint.latest:
            return None
        fold.feed(event)
        if id(event) not in parts.no_runs:
            state = lifecycle.apply(state, event)
        latest = max(latest, when)
        count += 1
    _judge_agents_own(source, parts)
    read = count + (checkpoint.events_read if checkpoint else 0)
    state.thread_id = state.thread_id or source.thread_id
    damage, lost = _damage(parts, checkpoint)
    # Not while a run waits for an agent: once that takes it up, all of it counts.
    worth_keeping = count >= MIN_NEW_EVENTS and not taking_up.waiting and not parts.unread
    fresh, foreign = None, _foreign_part(source, parts) if worth_keeping else None
    if worth_keeping and (foreign is None) == (parts.foreign is None):
        fresh = pack(
            Checkpoint(
                foreign=foreign,
                streams={
                    **(checkpoint.streams if checkpoint else {}),
                    **{stream: reading.position for stream, reading in parts.own.items() if reading.position},
                },
                latest=latest,
                states=fold.states,
                lifecycle=state,
                events_read=read,
                damage=damage,
                lost=lost,
            )
        )
    record = _record(source, state, fold, parts, read)
    record = msgspec.structs.replace(
        record,
        events_damaged=lost + len(parts.unread),
        damage=tuple(dict.fromkeys((*parts.unread, *damage, *_torn(parts, checkpoint)))),
        degraded=_degraded(lost + len(parts.unread)),
    )
    return Built(
        record=record,
        lifecycle=state,
        checkpoint=fresh,
        unread=tuple(parts.unread),
        agents_own_lost=parts.agents_own_lost,
    )


def _open_own(streams: StreamStore, source: Source, checkpoint: Checkpoint | None, parts: _Parts) -> bool:
    """Read the thread's stream and those of its runs; runs that came to nothing are left out.

    Returns whether the checkpoint could be used for every stream that it holds."""
    known = checkpoint.streams if checkpoint else {}
    thread = f"thread:{source.thread_id}"
    sessions: list[str] = []
    with _told(parts):
        if not streams.exists(thread):
            return True
        for event in streams.read(thread):
            match event.payload:
                case SessionLinked(session_id=session_id) if event.src.ref != FOREIGN:
                    sessions.append(session_id)
                case ThreadMeta(storage_class=storage) if storage == FOREIGN:
                    parts.agents_own = parts.agents_own or ""
    for stream in (thread, *(f"session:{session}" for session in sessions)):
        holds = True
        with _told(parts):
            try:
                holds = _open_stream(streams, source, stream, known, parts)
            except FileNotFoundError:
                # It may be in another place now: put away, or brought back.
                holds = _open_stream(streams, source, stream, known, parts)
        if not holds:
            return False
    return True


def _open_stream(
    streams: StreamStore, source: Source, stream: str, known: dict[str, Position], parts: _Parts
) -> bool:
    """Read one stream, or what was added to it; returns whether it goes on from what is known, which one
    that is not there does."""
    if not streams.exists(stream):
        return True
    reading = streams.read(stream, known.get(stream))
    events = list(reading)
    if reading.restarted:
        return False
    for event in events:
        if isinstance(event.payload, Ingested):
            parts.agents_own = event.payload.path
            parts.ingested = furthest(parts.ingested, event.payload)
    is_run = stream != f"thread:{source.thread_id}" and stream not in known
    if is_run and aborted(events):
        parts.cut_off = parts.cut_off or is_cut_off(events)
        if left := left_behind(events):
            parts.own[stream] = reading
            parts.tails.append(left)
            parts.no_runs.add(id(left[0]))
        return True
    tail = _with_worktree(streams, events)
    parts.own[stream] = reading
    parts.tails.append(tail)
    if is_run and stream != f"session:{source.live}" and ended_with_its_restore(events):
        parts.restored.append(tail)
    return True


@contextlib.contextmanager
def _told(parts: _Parts) -> Iterator[None]:
    """A record of ours that cannot be read is damage, and no reason to show nothing."""
    try:
        yield
    except (OSError, StreamMissing) as error:
        reason = reason_of(error) if isinstance(error, OSError) else error.sentence
        parts.unread.append(f"A record of ours cannot be read: {reason}.")


def agent_active_at(source: Source) -> str:
    """When the agent last wrote to its own file; empty if it has none that can be read."""
    if source.path is None or source.agent is None or source.agent.store is None:
        return ""
    head = source.agent.store.head(source.path)
    return head.last_active_at if head and not head.unread else ""


def _with_worktree(streams: StreamStore, events: list[Event]) -> list[Event]:
    """The worktree that a run names is described by the first line of its own stream. Where that is not
    here, the run comes from another machine: its ids of places are in no memory that ours could be
    compared with, and are left out."""
    if not events or not isinstance(meta := events[0].payload, SessionMeta) or meta.worktree_id is None:
        return events
    stream = f"worktree:{meta.worktree_id}"
    described = next(iter(streams.read(stream)), None) if streams.exists(stream) else None
    if described is None:
        nameless = msgspec.structs.replace(meta, repo_id=None, worktree_id=None)
        begun = msgspec.structs.replace(events[0], payload=nameless)
        return [begun, *(_without_strange_ids(streams, event) for event in events[1:])]
    at_start = msgspec.structs.replace(described, at=events[0].at or events[0].ts)
    return [events[0], at_start, *events[1:]]


def _without_strange_ids(streams: StreamStore, event: Event) -> Event:
    bound = event.payload
    if not isinstance(bound, WorktreeBound) or bound.worktree_id is None:
        return event
    if streams.exists(f"worktree:{bound.worktree_id}"):
        return event
    return msgspec.structs.replace(event, payload=msgspec.structs.replace(bound, worktree_id=None))


def _merged(source: Source, parts: _Parts) -> Iterator[Event]:
    own: list[Iterator[Event]] = [iter(tail) for tail in parts.tails]
    if parts.foreign is None:
        return heapq.merge(*own, key=_when)
    foreign = _as_far_as_readable(parts.foreign, str(source.path), parts)
    return heapq.merge(foreign, *own, key=_when) if own else foreign


def _as_far_as_readable(foreign: ForeignReading, path: str, parts: _Parts) -> Iterator[Event]:
    parts.agents_own_holds = foreign.offset > 0
    try:
        for event in foreign:
            parts.agents_own_holds = True
            yield event
    except OSError as error:
        _miss(parts, path, error)


def _miss(parts: _Parts, path: str, error: OSError | None) -> None:
    parts.agents_own_lost = missing(path, error)
    parts.unread.append(parts.agents_own_lost)


def _judge_agents_own(source: Source, parts: _Parts) -> None:
    """Tell that an agent's file has lost what a restore read of it before, or holds nothing. What a
    checkpoint has read was compared then, and the file still begins with it."""
    if source.path is None or parts.foreign is None or parts.agents_own_lost:
        return
    sentence = None
    if parts.ingested is not None:
        try:
            sentence = changed(source.path, parts.foreign, parts.ingested)
        except OSError as error:
            _miss(parts, str(source.path), error)
            return
    if not parts.agents_own_holds:
        parts.agents_own_lost = sentence = sentence or nothing_in(str(source.path))
    if sentence is not None:
        parts.unread.append(sentence)


def _when(event: Event) -> str:
    return event.at or event.ts


def _foreign_part(source: Source, parts: _Parts) -> ForeignPart | None:
    if source.path is None or parts.foreign is None:
        return None
    return foreign_part(source.path, parts.foreign.cursor())


def _record(source: Source, state: LifecycleState, fold: Fold, parts: _Parts, read: int) -> Record:
    through = {stream: reading.seq for stream, reading in parts.own.items()}
    if parts.foreign is not None and source.path is not None:
        through[f"foreign:{source.path.name}"] = parts.foreign.offset
    return Record(
        thread_id=state.thread_id,
        name=_name(source, state, parts),
        agent=state.agent or (source.agent.name if source.agent else ""),
        agent_version=state.agent_version,
        native_id=state.native_id,
        forked_from=state.forked_from,
        created_at=state.created_at,
        last_active_at=state.last_active_at or state.created_at,
        runs=tuple(state.runs),
        states=fold.states,
        through=through,
        events_read=read,
        depends_on=str(source.path) if source.path and not parts.agents_own_lost else None,
        open_turn=state.open_turn is not None,
        last_turn=state.last_turn,
        cut_off=parts.cut_off,
    )


def _name(source: Source, state: LifecycleState, parts: _Parts) -> str:
    """What named it may have been in a file that cannot be read now."""
    if parts.unread and source.name and not (state.given_name or state.first_message):
        return source.name
    return state.name


def _damage(parts: _Parts, checkpoint: Checkpoint | None) -> tuple[tuple[str, ...], int]:
    """Lasting damage: a sentence each, and how many places. A torn end is none of it, since it may
    still be written."""
    found: list[Damage] = [d for reading in parts.own.values() for d in reading.damage]
    sentences = [*(checkpoint.damage if checkpoint else ()), *(d.sentence for d in found)]
    lost = (checkpoint.lost if checkpoint else 0) + len(found)
    if parts.foreign is not None:
        skipped = _skipped(parts.foreign, checkpoint)
        sentences += parts.foreign.damage[:skipped]
        lost += skipped
    return tuple(dict.fromkeys(sentences)), lost


def _torn(parts: _Parts, checkpoint: Checkpoint | None) -> tuple[str, ...]:
    own = tuple(
        f"The last line of a record of ours is cut off after {loose.length} bytes (at byte {loose.offset})."
        for reading in parts.own.values()
        for loose in reading.trailing
        if loose.torn
    )
    if parts.foreign is None:
        return own
    return (*own, *parts.foreign.damage[_skipped(parts.foreign, checkpoint) :])


def _skipped(foreign: ForeignReading, checkpoint: Checkpoint | None) -> int:
    before = checkpoint.foreign.cursor.skipped_lines if checkpoint and checkpoint.foreign else 0
    return foreign.skipped_lines - before


def _degraded(lost: int) -> dict[str, str]:
    if not lost:
        return {}
    reason = f"{lost} damaged place{'s' if lost > 1 else ''} in the record may have held part of it"
    return {subsystem.name: reason for subsystem in SUBSYSTEMS if subsystem.handles}
