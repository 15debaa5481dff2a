"""Builds a thread's record: its own streams and the agent's file, merged in time and folded.

A checkpoint of the fold makes a later build cost only what was added. It is used only when every
part of it is still there byte for byte; otherwise everything is read again. A file that is gone or
cannot be read is damage of this one thread: the rest is still read, and the damage is told.
"""

import heapq
from collections.abc import Iterator
from pathlib import Path

import msgspec

from resumed.daemon.agents.agent import Agent
from resumed.daemon.agents.reading import ForeignReading
from resumed.daemon.ingesting import changed, missing, nothing_in
from resumed.daemon.own_records import Owned, OwnRecords, open_own
from resumed.daemon.record_checkpoint import (
    Checkpoint,
    ForeignPart,
    foreign_holds,
    foreign_part,
    pack,
    unpack,
)
from resumed.daemon.storage.damage import Damage
from resumed.daemon.storage.stores import StreamReader
from resumed.daemon.taking_up import TakingUp
from resumed.restore.events.envelope import Event
from resumed.restore.lifecycle import Lifecycle, LifecycleState
from resumed.restore.snapshot import Fold, Record
from resumed.restore.subsystems import SUBSYSTEMS
from resumed.restore.wording import count

MIN_NEW_EVENTS = 64


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """Where a thread's events are: its id, the agent, and the agent's file if it has one. `live` is
    the run that an agent has open here now; `name` is what the thread was last called; `listed_at` is
    where the list last had the agent's file, empty if it never had one; `archived`: the agent has put
    the thread away. `sessions` are the runs that name the thread, as the list has them."""

    thread_id: str
    agent: Agent | None
    path: Path | None
    live: str | None = None
    name: str = ""
    listed_at: str = ""
    archived: bool = False
    sessions: tuple[str, ...] = ()


class Built(msgspec.Struct, frozen=True, kw_only=True):
    """A record with what the row needs, and a checkpoint to save (`None`: nothing new). `unread` has
    a sentence for each file that is gone or cannot be read now; these are part of the damage.
    `agents_own_lost` is that of the agent's own file, or why nothing of it can be read: without it the
    agent cannot go on. Empty if it is there, and for an agent that keeps none. `own_lost`: what is gone of
    our own records without which nobody can go on, empty if nothing is."""

    record: Record
    lifecycle: LifecycleState
    checkpoint: bytes | None
    unread: tuple[str, ...] = ()
    agents_own_lost: str = ""
    own_lost: str = ""


class _Parts(msgspec.Struct, kw_only=True):
    """What one build reads from: our own records, and the agent's file. `agents_own_lost` is the sentence of
    the loss of that, and `agents_own_holds` says that some event of it was read."""

    own: OwnRecords
    unread: list[str] = []
    agents_own_lost: str = ""
    agents_own_holds: bool = False
    foreign: ForeignReading | None = None


def build(streams: StreamReader, source: Source, saved: bytes | None) -> Built:
    """Read and fold. Blocking: runs on a worker thread."""
    checkpoint = unpack(saved) if saved else None
    if checkpoint is not None and not foreign_holds(checkpoint.foreign, source.path):
        checkpoint = None
    owned = Owned(
        thread_id=source.thread_id,
        live=source.live,
        sessions=source.sessions,
        agent_keeps_it=source.path is not None or bool(source.listed_at),
    )
    # The new events may be older than the checkpoint, or a stream was replaced: then fold from the start.
    for since in (checkpoint, None):
        own = open_own(streams, owned, since.streams if since else {})
        if own is None:
            continue
        built = _build(source, since, own)
        own.let_go()
        if built is not None:
            return built
    raise AssertionError("a fold from the start is always whole")


def _build(source: Source, checkpoint: Checkpoint | None, own: OwnRecords) -> Built | None:
    parts = _Parts(own=own, unread=own.unread)
    if source.path is not None and source.agent is not None and source.agent.store is not None:
        cursor = checkpoint.foreign.cursor if checkpoint and checkpoint.foreign else None
        parts.foreign = source.agent.store.read(source.path, cursor)
    elif own.agents_own is not None or source.listed_at:
        _miss(parts, own.agents_own or source.listed_at, None)
    fold = Fold(SUBSYSTEMS, checkpoint.states if checkpoint else None)
    lifecycle, state = Lifecycle(), (checkpoint.lifecycle if checkpoint else LifecycleState())
    folded, latest = 0, checkpoint.latest if checkpoint else ""
    taking_up = TakingUp(own.tails, own.restored)
    merged = _merged(source, parts)
    for event in taking_up.passed(merged) if own.restored else merged:
        when = event.at or event.ts
        if checkpoint is not None and when < checkpoint.latest:
            return None
        fold.feed(event)
        if id(event) not in own.no_runs:
            state = lifecycle.apply(state, event)
        latest = max(latest, when)
        folded += 1
    _judge_agents_own(source, parts)
    read = folded + (checkpoint.events_read if checkpoint else 0)
    state.thread_id = state.thread_id or source.thread_id
    damage, lost = _damage(parts, checkpoint)
    # Not while a run waits for an agent: once that takes it up, all of it counts.
    worth_keeping = folded >= MIN_NEW_EVENTS and not taking_up.waiting and not parts.unread and not own.lost
    worth_keeping = worth_keeping and not own.places_unread
    fresh, foreign = None, _foreign_part(source, parts) if worth_keeping else None
    if worth_keeping and (foreign is None) == (parts.foreign is None):
        fresh = pack(
            Checkpoint(
                foreign=foreign,
                streams={
                    **(checkpoint.streams if checkpoint else {}),
                    **{
                        stream: reading.position
                        for stream, reading in own.readings.items()
                        if reading.position
                    },
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
        events_damaged=lost + len(parts.unread) + len(own.places_unread),
        damage=tuple(dict.fromkeys((*parts.unread, *own.places_unread, *damage, *_torn(parts, checkpoint)))),
        degraded=_degraded(lost + len(parts.unread), own.places_unread),
    )
    return Built(
        record=record,
        lifecycle=state,
        checkpoint=fresh,
        unread=tuple(parts.unread),
        agents_own_lost=parts.agents_own_lost,
        own_lost=own.lost,
    )


def agent_active_at(source: Source) -> str:
    """When the agent last wrote to its own file; empty if it has none that can be read."""
    if source.path is None or source.agent is None or source.agent.store is None:
        return ""
    head = source.agent.store.head(source.path)
    return head.last_active_at if head and not head.unread else ""


def _merged(source: Source, parts: _Parts) -> Iterator[Event]:
    own: list[Iterator[Event]] = [iter(tail) for tail in parts.own.tails]
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
    if parts.own.ingested is not None:
        try:
            sentence = changed(source.path, parts.foreign, parts.own.ingested)
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
    through = {stream: reading.seq for stream, reading in parts.own.readings.items()}
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
        cut_off=parts.own.cut_off,
        unlisted=parts.own.unlisted,
    )


def _name(source: Source, state: LifecycleState, parts: _Parts) -> str:
    """What named it may have been in a file that cannot be read now."""
    if parts.unread and source.name and not (state.given_name or state.first_message):
        return source.name
    return state.name


def _damage(parts: _Parts, checkpoint: Checkpoint | None) -> tuple[tuple[str, ...], int]:
    """Lasting damage: a sentence each, and how many places. A torn end is none of it, since it may
    still be written."""
    found: list[Damage] = [d for reading in parts.own.readings.values() for d in reading.damage]
    sentences = [*(checkpoint.damage if checkpoint else ()), *(d.sentence for d in found)]
    lost = (checkpoint.lost if checkpoint else 0) + len(found)
    if parts.foreign is not None:
        skipped = _skipped(parts.foreign, checkpoint)
        sentences += parts.foreign.damage[:skipped]
        lost += skipped
    return tuple(dict.fromkeys(sentences)), lost


def _torn(parts: _Parts, checkpoint: Checkpoint | None) -> tuple[str, ...]:
    own = tuple(
        f"The last line of a record of ours is cut off after {count(loose.length, 'byte')}"
        f" (at byte {loose.offset})."
        for reading in parts.own.readings.values()
        for loose in reading.trailing
        if loose.torn
    )
    if parts.foreign is None:
        return own
    return (*own, *parts.foreign.damage[_skipped(parts.foreign, checkpoint) :])


def _skipped(foreign: ForeignReading, checkpoint: Checkpoint | None) -> int:
    before = checkpoint.foreign.cursor.skipped_lines if checkpoint and checkpoint.foreign else 0
    return foreign.skipped_lines - before


def _degraded(lost: int, places_unread: list[str]) -> dict[str, str]:
    if not lost:
        return {"worktree": places_unread[0]} if places_unread else {}
    reason = f"{count(lost, 'damaged place')} in the record may have held part of it"
    return {subsystem.name: reason for subsystem in SUBSYSTEMS if subsystem.handles}
