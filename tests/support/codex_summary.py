"""A tiny fold over translated events: what a person would say about a session."""

from collections.abc import Iterable

import msgspec

from resumed.restore.events.envelope import Event
from resumed.restore.events.session import (
    Boundary,
    EntryAdded,
    ModelSet,
    OperationBegun,
    OperationSettled,
    PermissionsSet,
    SessionMeta,
    TodosSet,
    TurnStarted,
    UsageRecorded,
    WorktreeBound,
)


class Summary(msgspec.Struct):
    """The facts that tests compare with literal values. `plan` is one letter a step: c, i or p."""

    thread: str = ""
    forked_from: str | None = None
    root: str = ""
    last_folder: str = ""
    switches: int = 0
    branch: str | None = None
    sha: str | None = None
    model: str | None = None
    window: int | None = None
    approval: str | None = None
    sandbox: str | None = None
    mode: str | None = None
    goal: str | None = None
    user_turns: int = 0
    goal_turns: int = 0
    compactions: int = 0
    plan: str = ""
    operations: int = 0
    dangling: int = 0
    tokens: tuple[int, int, int] = (0, 0, 0)
    compaction_input: int = 0


def summarise(events: Iterable[Event]) -> Summary:
    """Fold events into what tests compare."""
    summary = Summary()
    turns: dict[str, bool] = {}
    open_operations: set[str] = set()
    usage: dict[str, UsageRecorded] = {}
    for event in events:
        match event.payload:
            case SessionMeta() as meta:
                summary.thread, summary.forked_from = meta.thread_id, meta.forked_from
                summary.branch, summary.sha = meta.git.branch, meta.git.sha
            case WorktreeBound(cwd=cwd, cause=cause):
                summary.root = cwd if cause == "start" else summary.root
                summary.last_folder = cwd
                summary.switches += cause == "agentSilent"
            case ModelSet(model=model, window=window):
                summary.model, summary.window = model, window
            case PermissionsSet(cause="goal", goal=goal) if goal is not None:
                summary.goal = f"{goal.status}: {goal.objective}"
            case PermissionsSet() as permissions:
                summary.approval, summary.sandbox = permissions.approval, permissions.sandbox
                summary.mode = permissions.mode
            case TurnStarted(turn_id=turn):
                turns[turn] = False
            case EntryAdded(kind="message", role="user"):
                assert event.turn is not None
                turns[event.turn] = True
            case Boundary():
                summary.compactions += 1
            case TodosSet(items=items):
                summary.plan = "".join(item.status[0] for item in items)
            case OperationBegun(operation_id=operation):
                summary.operations += 1
                open_operations.add(operation)
            case OperationSettled(operation_id=operation):
                open_operations.remove(operation)
            case UsageRecorded() as used:
                usage[used.usage_id] = used
            case _:
                pass
    summary.user_turns = sum(turns.values())
    summary.goal_turns = len(turns) - summary.user_turns
    summary.dangling = len(open_operations)
    summary.tokens = (
        sum(used.input_tokens for used in usage.values()),
        sum(used.cached_tokens for used in usage.values()),
        sum(used.output_tokens for used in usage.values()),
    )
    summary.compaction_input = sum(
        used.input_tokens for used in usage.values() if used.bucket == "compaction"
    )
    return summary
