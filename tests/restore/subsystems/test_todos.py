from hypothesis import given
from hypothesis import strategies as st

from resumed.protocol.restore import Status
from resumed.restore.events.envelope import Event
from resumed.restore.events.session import OperationSettled, TodoItem, TodosSet
from resumed.restore.subsystem import Restoration
from resumed.restore.subsystems.todos import TODOS, UNSETTLED_KEPT, revision_of
from tests.support.events import TARGET, assert_stores_anywhere, event, folded


def items(*statuses: str, origin: str = "agent") -> tuple[TodoItem, ...]:
    return tuple(
        TodoItem(id=str(n), text=f"Step {n}", status=status, origin=origin)
        for n, status in enumerate(statuses)
    )


def plan(*statuses: str, op: str | None = None, accepted: bool = True) -> Event:
    return event(TodosSet(items=items(*statuses), origin="agent", accepted=accepted), op=op)


def settled(op: str, state: str) -> Event:
    return event(OperationSettled(operation_id=op, state=state), op=op)


def statuses(*events: Event) -> list[str]:
    return [item.status for item in TODOS.view(folded(TODOS, events)).items]


def restored(*events: Event) -> Restoration:
    return TODOS.steps(folded(TODOS, events), {}, {}, TARGET)


def test_the_last_accepted_list_wins() -> None:
    assert statuses(plan("pending"), plan("completed", "pending")) == ["completed", "pending"]
    assert statuses(plan("pending"), plan("completed", accepted=False)) == ["pending"]
    assert statuses(plan("completed", accepted=False)) == []


def test_an_edit_of_the_user_counts_like_any_other() -> None:
    edit = event(TodosSet(items=items("completed", origin="user"), origin="user"))
    view = TODOS.view(folded(TODOS, [plan("pending"), edit]))
    assert [(item.status, item.origin) for item in view.items] == [("completed", "user")]


def test_a_list_whose_action_was_refused_is_taken_back() -> None:
    for refusal in ("failed", "denied", "aborted"):
        assert statuses(plan("pending"), plan("completed", op="b"), settled("b", refusal)) == ["pending"]
    assert statuses(plan("completed", op="b"), settled("b", "failed")) == []


def test_refusals_may_come_in_any_order() -> None:
    lists = (plan("pending"), plan("inProgress", op="b"), plan("completed", op="c"))
    assert statuses(*lists, settled("c", "failed")) == ["inProgress"]
    assert statuses(*lists, settled("b", "failed")) == ["completed"]
    assert statuses(*lists, settled("b", "failed"), settled("c", "failed")) == ["pending"]
    assert statuses(*lists, settled("b", "committed"), settled("c", "failed")) == ["inProgress"]


def test_other_actions_change_nothing() -> None:
    assert statuses(plan("pending", op="b"), settled("x", "failed")) == ["pending"]


def test_a_list_of_a_call_that_was_cut_off_counts() -> None:
    assert statuses(plan("pending"), plan("completed", op="b")) == ["completed"]


def test_a_settled_list_forgets_the_ones_before_it() -> None:
    state = folded(TODOS, [plan("pending"), plan("completed", op="b"), settled("b", "committed")])
    assert len(state.lists) == 1
    assert len(folded(TODOS, [plan("pending", op="b"), plan("completed")]).lists) == 1
    many = [plan("pending", op=f"op{n}") for n in range(UNSETTLED_KEPT * 3)]
    assert len(folded(TODOS, many).lists) == UNSETTLED_KEPT


def test_the_summary_counts_and_names_the_next_one() -> None:
    text = "Round JPY to whole yen"
    todo = TodoItem(id="4", text=text, status="pending")
    done = TodosSet(items=(*items("completed", "completed", "completed"), todo, todo), origin="agent")
    restoration = restored(event(done))
    assert restoration.status is Status.RESTORED
    assert restoration.summary == f'3 of 5, next "{text}"'
    assert restoration.steps == ()
    assert restored(plan("pending", "inProgress")).summary == '0 of 2, next "Step 1"'
    assert restored(plan("completed", "completed")).summary == "2 of 2, all done"
    assert restored(plan()).summary == "nothing to do"


def test_no_list_is_said_to_be_none() -> None:
    restoration = restored()
    assert restoration.status is Status.RESTORED
    assert restoration.reason == "no list was recorded"
    assert restoration.summary == "none recorded"


def test_the_revision_changes_with_any_item() -> None:
    base = items("pending", "pending")
    assert revision_of(base) == revision_of(items("pending", "pending"))
    others = [items("pending", "completed"), items("pending"), items("pending", "pending", origin="user"), ()]
    assert len({revision_of(each) for each in [base, *others]}) == 5
    assert TODOS.view(folded(TODOS, [plan("pending", "pending")])).revision == revision_of(base)


def test_it_looks_at_nothing() -> None:
    state = folded(TODOS, [plan("pending")])
    assert TODOS.probes(state, TARGET) == ()
    assert TODOS.drift(state, {}, TARGET) == ()


POOL = [
    plan("pending"),
    plan("completed", op="b"),
    plan("inProgress", op="c"),
    plan("pending", "pending", accepted=False),
    *(settled(op, state) for op in "bc" for state in ("failed", "committed")),
]


@given(st.lists(st.sampled_from(POOL), max_size=12))
def test_the_fold_can_be_stored_anywhere(events: list[Event]) -> None:
    assert_stores_anywhere(TODOS, events)
