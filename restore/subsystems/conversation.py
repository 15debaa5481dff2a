"""The conversation: how much there is, whose turns, and what the model would see of it now.

Entries themselves are not kept, only counts and what the window needs. The model's window begins
at the latest reset, compaction or clear; what lies before it never reappears, a summary counts once.
"""

from itertools import islice
from typing import ClassVar

import msgspec

from resumed.protocol.restore import Drift, Status
from resumed.protocol.threads import ConversationView
from resumed.restore.events.envelope import Event, Payload
from resumed.restore.events.session import (
    Boundary,
    EntryAdded,
    EntryAmended,
    LeafMoved,
    SessionEnded,
    TurnEnded,
    TurnStarted,
)
from resumed.restore.probes import AnyProbe, Seen
from resumed.restore.subsystem import Choices, Restoration, Target
from resumed.restore.wording import count, one_line

ENTRIES_REMEMBERED = 4096
TURNS_REMEMBERED = 1024
MESSAGE_KEPT = 1000
MESSAGE_SHOWN = 200
BY_USER, BY_GOAL = 1, 2


class Message(msgspec.Struct, kw_only=True):
    """The beginning of one shown message of the user or the agent."""

    id: str | None
    text: str


class ConversationState(msgspec.Struct, kw_only=True):
    """Counts and the model's window.

    `position` is how many entries were put into the model's context so far, on the present branch;
    `window_start` is the position at which its window begins, `boundary_at` the one at which it was
    opened, `summary` whether it opens with a summary. `positions` maps the last entries of the
    window to the position before each; `turns` maps the last turns to who drove them. `boundary` is
    the kind that opened the window, or empty; `doubt` is a sentence when its extent is not certain.
    `summary_due`: the next entry may be the boundary's own summary. `first` and `last` are messages."""

    entries: int = 0
    user_turns: int = 0
    goal_turns: int = 0
    compactions: int = 0
    amendments: int = 0
    position: int = 0
    window_start: int = 0
    boundary_at: int = 0
    summary: bool = False
    summary_due: bool = False
    boundary: str = ""
    doubt: str = ""
    open_turn: str | None = None
    first: Message | None = None
    last: Message | None = None
    positions: dict[str, int] = {}
    turns: dict[str, int] = {}

    @property
    def in_window(self) -> int:
        """How many entries the model would see now, a summary counted as one."""
        return self.position - self.window_start + self.summary


class Conversation:
    """See the module."""

    name: ClassVar[str] = "conversation"
    version: ClassVar[int] = 1
    after: ClassVar[tuple[str, ...]] = ("model",)
    handles: ClassVar[tuple[type[Payload], ...]] = (
        TurnStarted,
        TurnEnded,
        EntryAdded,
        EntryAmended,
        LeafMoved,
        Boundary,
        SessionEnded,
    )
    state_type: ClassVar[type[ConversationState]] = ConversationState

    def initial(self) -> ConversationState:
        """Nothing was said."""
        return ConversationState()

    def apply(self, state: ConversationState, event: Event) -> ConversationState:
        """Fold one event in. At most one turn is open; a new one takes the place of one cut off."""
        match event.payload:
            case EntryAdded() as entry:
                _add(state, entry, event)
            case EntryAmended() as amended:
                state.amendments += 1
                _amend(state, amended.target_id, amended.text)
            case TurnStarted(turn_id=turn_id, provenance=provenance):
                state.open_turn = turn_id
                if provenance == "goal":
                    _drive(state, turn_id, BY_GOAL)
            case TurnEnded(turn_id=turn_id) if turn_id == state.open_turn:
                state.open_turn = None
            case SessionEnded(clean=True):
                state.open_turn = None
            case LeafMoved(leaf_id=leaf_id):
                _move_leaf(state, leaf_id)
            case Boundary(kind="compact" | "reset" | "clear") as boundary:
                _open_window(state, boundary)
        return state

    def probes(self, state: ConversationState, target: Target) -> tuple[AnyProbe, ...]:
        """Nothing is looked at."""
        return ()

    def drift(self, state: ConversationState, seen: Seen, target: Target) -> tuple[Drift, ...]:
        """Nothing is compared."""
        return ()

    def steps(self, state: ConversationState, seen: Seen, choices: Choices, target: Target) -> Restoration:
        """The conversation goes on as recorded; the agent itself holds it."""
        if not state.entries:
            return Restoration(
                status=Status.RESTORED, reason="no entries were recorded", summary="none recorded"
            )
        details = [state.doubt] if state.doubt else []
        if state.last is not None:
            details.append(f"last said: {one_line(state.last.text, MESSAGE_SHOWN)}")
        return Restoration(
            status=Status.RESTORED, reason="as recorded", summary=_summary(state), details=tuple(details)
        )

    def view(self, state: ConversationState) -> ConversationView:
        """Counts, and the first and last message on one line each."""
        return ConversationView(
            entries=state.entries,
            in_window=state.in_window,
            user_turns=state.user_turns,
            goal_turns=state.goal_turns,
            compactions=state.compactions,
            first_message=one_line(state.first.text, MESSAGE_SHOWN) if state.first else "",
            last_message=one_line(state.last.text, MESSAGE_SHOWN) if state.last else "",
        )


def _add(state: ConversationState, entry: EntryAdded, event: Event) -> None:
    if event.id is not None and event.id in state.positions:
        _amend(state, event.id, entry.text)
        return
    state.entries += 1
    if event.id is not None:
        state.positions[event.id] = state.position
        _forget(state.positions, ENTRIES_REMEMBERED)
    own_summary = state.summary_due and entry.kind == "summary"
    state.summary_due = False
    if entry.in_context and own_summary:
        state.summary = True
    elif entry.in_context:
        state.position += 1
    if entry.kind != "message" or entry.role not in ("user", "assistant"):
        return
    turn = event.turn or state.open_turn
    if entry.role == "user" and turn is not None:
        _drive(state, turn, BY_USER)
    if entry.display:
        state.last = Message(id=event.id, text=entry.text[:MESSAGE_KEPT])
        if state.first is None:
            state.first = Message(id=event.id, text=entry.text[:MESSAGE_KEPT])


def _amend(state: ConversationState, target_id: str, text: str) -> None:
    for message in (state.first, state.last):
        if message is not None and message.id == target_id:
            message.text = text[:MESSAGE_KEPT]


def _drive(state: ConversationState, turn_id: str, by: int) -> None:
    # A turn of the goal in which the user also spoke is the user's.
    before = state.turns.get(turn_id, 0)
    after = state.turns[turn_id] = before | by
    _forget(state.turns, TURNS_REMEMBERED)
    state.user_turns += bool(after & BY_USER) - bool(before & BY_USER)
    state.goal_turns += (after == BY_GOAL) - (before == BY_GOAL)


def _move_leaf(state: ConversationState, leaf_id: str) -> None:
    if state.positions.get(leaf_id, -1) < state.boundary_at:
        # The window of that place was an earlier one, of which nothing is known any more.
        state.doubt = "It went on from an earlier place; how much of it the agent sees is not known."
        state.positions = {}
        return
    ids = list(state.positions)
    dropped = ids[ids.index(leaf_id) + 1 :]
    if dropped:
        state.position = state.positions[dropped[0]]
    if state.last is not None and state.last.id in dropped:
        state.last = None
    for entry_id in dropped:
        del state.positions[entry_id]


def _open_window(state: ConversationState, boundary: Boundary) -> None:
    clears = boundary.kind == "clear"
    first_kept = None if clears else boundary.first_kept
    state.doubt = ""
    if first_kept is None or first_kept not in state.positions:
        # An entry that is not in the present window can't be kept from it: nothing before the
        # boundary is taken up again, rather than messages that were dropped long ago.
        if first_kept is not None:
            state.doubt = "What was kept when it was shortened is not known; none of it is counted."
        state.window_start = state.position
        state.positions = {}
    else:
        state.window_start = state.positions[first_kept]
        ids = list(state.positions)
        state.positions = {entry_id: state.positions[entry_id] for entry_id in ids[ids.index(first_kept) :]}
    state.boundary, state.boundary_at = boundary.kind, state.position
    state.summary = bool(boundary.summary) and not clears
    state.summary_due = not clears
    state.compactions += boundary.kind == "compact"


def _forget(remembered: dict[str, int], limit: int) -> None:
    # In batches: taking the oldest off a dictionary one by one walks over all that were taken before.
    surplus = len(remembered) - limit
    if surplus >= limit // 4:
        for key in list(islice(remembered, surplus)):
            del remembered[key]


def _summary(state: ConversationState) -> str:
    turns = [count(state.user_turns, "turn") + " of yours"] if state.user_turns else []
    if state.goal_turns:
        turns.append(f"{count(state.goal_turns, 'turn')} for its goal")
    said = (
        f"{count(state.entries, 'entry', 'entries')}, {', '.join(turns)}"
        if turns
        else count(state.entries, "entry", "entries")
    )
    cut = ". The last turn was cut off" if state.open_turn else ""
    return f"{said}; {_window(state)}{cut}"


def _window(state: ConversationState) -> str:
    visible = state.position - state.window_start
    match state.boundary:
        case "compact":
            opened = "compacted" if state.compactions == 1 else f"compacted {state.compactions} times"
        case "reset":
            opened = "reset"
        case "clear":
            opened = "cleared"
        case _:
            return "never shortened"
    seen = f"a summary and {visible} of them" if state.summary else f"{visible} of them"
    return f"{opened}, the agent sees {seen}"


CONVERSATION = Conversation()
