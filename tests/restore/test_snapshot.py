from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from resumed.restore.events.envelope import Event, Unknown
from resumed.restore.events.session import (
    Boundary,
    CheckRecorded,
    EntryAdded,
    ModelSet,
    TodosSet,
    UsageRecorded,
)
from resumed.restore.snapshot import Fold
from resumed.restore.subsystem import Subsystem
from resumed.restore.subsystems.conversation import CONVERSATION
from resumed.restore.subsystems.cost import COST
from resumed.restore.subsystems.environment import ENVIRONMENT
from resumed.restore.subsystems.model import MODEL
from resumed.restore.subsystems.todos import TODOS
from resumed.restore.subsystems.untracked import untracked
from resumed.restore.subsystems.verifier import VERIFIER
from tests.support.events import event, folded, session_meta, stored

SUBSYSTEMS: tuple[Subsystem[Any], ...] = (
    ENVIRONMENT,
    MODEL,
    CONVERSATION,
    TODOS,
    COST,
    VERIFIER,
    untracked("tools", ("model",)),
)
EVENTS = [
    event(session_meta(model="gpt-5.5")),
    event(ModelSet(model="gpt-5.6-sol", cause="user")),
    event(EntryAdded(kind="message", role="user", text="please"), entry="a", turn="t1"),
    event(TodosSet(items=(), origin="agent")),
    event(UsageRecorded(usage_id="r1", input_tokens=10, cached_tokens=1, output_tokens=2)),
    event(CheckRecorded(check_id="tests", command="pytest", result="passed", inputs={"a.py": "aa"})),
    event(Boundary(kind="compact", summary="so far")),
    event(Boundary(kind="clear")),
    event(Unknown(type="from_the_future", fields={"n": 1})),
]


def fed(events: list[Event], states: dict[str, Any] | None = None) -> dict[str, Any]:
    fold = Fold(SUBSYSTEMS, states)
    for each in events:
        fold.feed(each)
    return fold.states


def test_every_subsystem_starts_with_its_initial_state() -> None:
    assert fed([]) == {each.name: each.initial() for each in SUBSYSTEMS}


def test_an_event_reaches_all_that_handle_it_and_no_other() -> None:
    before = {name: msgspec.msgpack.encode(state) for name, state in fed([]).items()}
    after = {name: msgspec.msgpack.encode(state) for name, state in fed([EVENTS[6]]).items()}
    assert {name for name in after if after[name] != before[name]} == {"conversation"}
    cleared = fed([EVENTS[7]])
    assert cleared["cost"].cleared
    assert cleared["conversation"].boundary == "clear"


def test_an_event_of_an_unknown_type_changes_nothing() -> None:
    assert fed([EVENTS[-1]]) == fed([])


def test_it_goes_on_from_states_that_were_stored() -> None:
    known = {"model": folded(MODEL, [EVENTS[1]])}
    states = fed([], known)
    assert states["model"].model == "gpt-5.6-sol"
    assert states["cost"] == COST.initial()


def test_a_stored_state_that_is_missing_is_the_initial_one() -> None:
    assert fed([], {"model": None, "unheard of": object()}) == fed([])


def test_states_can_be_read_at_any_time() -> None:
    fold = Fold(SUBSYSTEMS)
    fold.feed(EVENTS[0])
    assert fold.states["model"].model == "gpt-5.5"
    fold.feed(EVENTS[1])
    assert fold.states["model"].model == "gpt-5.6-sol"


@given(st.lists(st.sampled_from(EVENTS), max_size=16))
def test_it_folds_each_subsystem_as_if_it_were_alone(events: list[Event]) -> None:
    together = fed(events)
    for subsystem in SUBSYSTEMS:
        own = [each for each in events if isinstance(each.payload, subsystem.handles)]
        assert together[subsystem.name] == folded(subsystem, own)


@given(st.lists(st.sampled_from(EVENTS), max_size=16), st.integers(0, 16))
def test_storing_all_states_in_the_middle_changes_nothing(events: list[Event], split: int) -> None:
    half = fed(events[:split])
    taken_up = {each.name: stored(each, half[each.name]) for each in SUBSYSTEMS}
    assert fed(events[split:], taken_up) == fed(events)
