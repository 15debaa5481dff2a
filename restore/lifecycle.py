"""Runs, turns and names of a thread: the fold behind its row, its state word and its last run.

A run that a restore began and did not finish well is never counted and never resumed from.
"""

import msgspec

from resumed.restore.events.envelope import Event
from resumed.restore.events.journal import RestoreClosed, RestorePlanned
from resumed.restore.events.session import (
    EntryAdded,
    OperationBegun,
    OperationSettled,
    SessionEnded,
    SessionMeta,
    StateInvalidated,
    TurnEnded,
    TurnStarted,
    UsageRecorded,
    WorktreeBound,
)
from resumed.restore.events.thread import ThreadMeta, ThreadPatched
from resumed.restore.events.worktree import WorktreeMeta
from resumed.restore.snapshot import Run
from resumed.restore.wording import one_line

NAME_LENGTH = 60
RESUME = "resume"


class LifecycleState(msgspec.Struct, kw_only=True):
    """`given_name` is a person's; `first_message` names a thread that has none. `archived` is `None`
    while nobody has put it away or brought it back here. `open_turn` is the id of a turn without an end."""

    thread_id: str = ""
    agent: str = ""
    agent_version: str | None = None
    native_id: str | None = None
    forked_from: str | None = None
    created_at: str = ""
    last_active_at: str = ""
    given_name: str = ""
    first_message: str = ""
    archived: bool | None = None
    open_turn: str | None = None
    last_turn: str | None = None
    runs: list[Run] = []

    @property
    def name(self) -> str:
        """A person's name for it, else its first message, else the agent and the day."""
        return self.given_name or self.first_message or f"{self.agent} {self.created_at[:10]}"


class Lifecycle:
    """Folds events into a `LifecycleState`; the state is taken over and changed in place."""

    version = 3
    active = (EntryAdded, OperationBegun, OperationSettled, TurnStarted, TurnEnded, UsageRecorded)

    def apply(self, state: LifecycleState, event: Event) -> LifecycleState:
        """Fold one event in."""
        match event.payload:
            case SessionMeta() as meta:
                _run_began(state, meta)
            case ThreadMeta() as meta:
                state.thread_id = state.thread_id or meta.thread_id
                state.agent = state.agent or meta.agent
                state.native_id = state.native_id or meta.native_id
                state.created_at = _earlier(state.created_at, meta.created_at)
            case ThreadPatched() as patch:
                _patched(state, patch)
            case SessionEnded() as ended:
                if state.runs:
                    state.runs[-1] = msgspec.structs.replace(state.runs[-1], ended=ended.reason)
                if ended.clean:
                    state.open_turn = None
            case RestoreClosed():
                state.open_turn = None
                if state.runs:
                    state.runs[-1] = msgspec.structs.replace(state.runs[-1], started=True)
            case TurnStarted() as turn:
                state.open_turn = state.last_turn = turn.turn_id
            case TurnEnded() as turn:
                if state.open_turn == turn.turn_id:
                    state.open_turn = None
            case EntryAdded(kind="message", role="user", text=text):
                state.first_message = state.first_message or one_line(text, NAME_LENGTH)
        if isinstance(event.payload, self.active):
            state.last_active_at = max(state.last_active_at, event.at or event.ts)
        return state


def aborted(events: list[Event]) -> bool:
    """Whether a run's events are those of a restore that did not come to a run: it ended otherwise
    than restored, or its journal has no end."""
    if not events:
        return True
    meta = events[0].payload
    closed = next((e.payload for e in events if isinstance(e.payload, RestoreClosed)), None)
    if isinstance(meta, SessionMeta):
        is_restore = meta.reason == RESUME
    else:
        # Its beginning is lost, but a restore has a journal.
        is_restore = any(isinstance(e.payload, RestorePlanned | RestoreClosed) for e in events)
    return is_restore and (closed is None or closed.outcome not in ("restored", "partial"))


def ended_with_its_restore(events: list[Event]) -> bool:
    """Whether nothing is in a restored run but its restore: no agent has gone on from it in there."""
    return isinstance(events[-1].payload, RestoreClosed)


def is_of_the_place(event: Event) -> bool:
    """Whether the event counts of a restored run that no agent has taken up: that it began, where, and
    which edits the person went on without there. What it may do and what it was told have yet to reach
    an agent."""
    match event.payload:
        case SessionMeta() | WorktreeMeta() | WorktreeBound() | StateInvalidated(subsystem="operations"):
            return True
    return False


def _patched(state: LifecycleState, patch: ThreadPatched) -> None:
    name, archived = patch.fields.get("name"), patch.fields.get("archived")
    state.given_name = name if isinstance(name, str) else state.given_name
    state.archived = archived if isinstance(archived, bool) else state.archived


def _run_began(state: LifecycleState, meta: SessionMeta) -> None:
    state.thread_id = state.thread_id or meta.thread_id
    state.agent = state.agent or meta.agent.name
    state.agent_version = meta.agent.version or state.agent_version
    state.native_id = state.native_id or meta.agent.native_id
    state.forked_from = state.forked_from or meta.forked_from
    state.created_at = _earlier(state.created_at, meta.created_at)
    if meta.reason != RESUME:
        # A turn does not outlive its run. A restored run takes over when its restore is closed.
        state.last_active_at = max(state.last_active_at, meta.created_at)
        state.open_turn = None
    state.runs.append(
        Run(
            session_id=meta.session_id,
            started_at=meta.created_at,
            reason=meta.reason,
            own=meta.source == "direct" or meta.reason == RESUME,
            started=meta.reason != RESUME,
        )
    )


def _earlier(first: str, second: str) -> str:
    return min(value for value in (first, second) if value) if first or second else ""
