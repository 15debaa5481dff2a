"""The list of things to do: the last one that was accepted, whoever wrote it.

A list that was refused, when it came or afterwards, never counts.
"""

import zlib
from collections.abc import Sequence
from typing import ClassVar

import msgspec

from resumed.protocol.restore import Drift, Status
from resumed.protocol.threads import TodosView, TodoView
from resumed.restore.events.envelope import Event, Payload
from resumed.restore.events.session import OperationSettled, TodoItem, TodosSet
from resumed.restore.probes import AnyProbe, Seen
from resumed.restore.subsystem import Choices, Restoration, Target
from resumed.restore.wording import one_line

UNSETTLED_KEPT = 16
REFUSALS = ("failed", "denied", "aborted")


class TodoList(msgspec.Struct, frozen=True, kw_only=True):
    """One accepted list; `operation_id` is the action that brought it, if one did."""

    items: tuple[TodoItem, ...]
    explanation: str = ""
    operation_id: str | None = None


class TodosState(msgspec.Struct, kw_only=True):
    """The list in force is the last. The ones before it would come back if the action that brought
    a later one were refused; there is more than one only while such an action is open."""

    lists: list[TodoList] = []


class Todos:
    """See the module."""

    name: ClassVar[str] = "todos"
    version: ClassVar[int] = 1
    after: ClassVar[tuple[str, ...]] = ("conversation",)
    handles: ClassVar[tuple[type[Payload], ...]] = (TodosSet, OperationSettled)
    state_type: ClassVar[type[TodosState]] = TodosState

    def initial(self) -> TodosState:
        """No list is recorded."""
        return TodosState()

    def apply(self, state: TodosState, event: Event) -> TodosState:
        """Fold one event in."""
        match event.payload:
            case TodosSet(accepted=True) as said:
                brought = TodoList(items=said.items, explanation=said.explanation, operation_id=event.op)
                # Without an action nothing can refuse it any more, so nothing before it can come back.
                kept = state.lists if event.op is not None else []
                state.lists = [*kept, brought][-UNSETTLED_KEPT:]
            case OperationSettled() as settled:
                _settle(state, settled)
        return state

    def probes(self, state: TodosState, target: Target) -> tuple[AnyProbe, ...]:
        """Nothing is looked at."""
        return ()

    def drift(self, state: TodosState, seen: Seen, target: Target) -> tuple[Drift, ...]:
        """Nothing is compared."""
        return ()

    def steps(self, state: TodosState, seen: Seen, choices: Choices, target: Target) -> Restoration:
        """The list goes on as it is; the record of the thread holds it already."""
        if not state.lists:
            return Restoration(status=Status.RESTORED, reason="no list was recorded", summary="none recorded")
        return Restoration(
            status=Status.RESTORED, reason="as last accepted", summary=_summary(state.lists[-1].items)
        )

    def view(self, state: TodosState) -> TodosView:
        """The list in force; an empty one when none is recorded."""
        current = state.lists[-1] if state.lists else TodoList(items=())
        return TodosView(
            items=tuple(
                TodoView(id=item.id, text=item.text, status=item.status, origin=item.origin)
                for item in current.items
            ),
            revision=revision_of(current.items),
            explanation=current.explanation,
        )


def revision_of(items: Sequence[TodoItem]) -> str:
    """Eight hexadecimal digits that change with any item: what an edit names as its base."""
    return f"{zlib.crc32(msgspec.json.encode(items)):08x}"


def _settle(state: TodosState, settled: OperationSettled) -> None:
    brought_by = [listed.operation_id for listed in state.lists]
    if settled.operation_id not in brought_by:
        return
    if settled.state in REFUSALS:
        state.lists = [listed for listed in state.lists if listed.operation_id != settled.operation_id]
    elif settled.state == "committed":
        last = len(brought_by) - 1 - brought_by[::-1].index(settled.operation_id)
        state.lists = state.lists[last:]


def _summary(items: Sequence[TodoItem]) -> str:
    if not items:
        return "nothing to do"
    done = sum(item.status == "completed" for item in items)
    if done == len(items):
        return f"{done} of {len(items)}, all done"
    begun = [item for item in items if item.status == "inProgress"]
    open_items = begun or [item for item in items if item.status != "completed"]
    return f'{done} of {len(items)}, next "{one_line(open_items[0].text)}"'


TODOS = Todos()
