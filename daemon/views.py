"""From records to what the wire shows. The only file that speaks both."""

from resumed.daemon.records import Built
from resumed.protocol.threads import CostView, RunView, ThreadReadResult, TodosView
from resumed.restore.snapshot import Record
from resumed.restore.subsystems.conversation import CONVERSATION
from resumed.restore.subsystems.cost import COST
from resumed.restore.subsystems.model import MODEL
from resumed.restore.subsystems.operations import OPERATIONS
from resumed.restore.subsystems.permissions import PERMISSIONS
from resumed.restore.subsystems.todos import TODOS
from resumed.restore.subsystems.verifier import VERIFIER
from resumed.restore.subsystems.worktree import WORKTREE

UNFINISHED = "unfinished"


def thread_view(built: Built, running: bool) -> ThreadReadResult:
    """Everything an editor may show of one thread."""
    record, states = built.record, built.record.states
    return ThreadReadResult(
        thread_id=record.thread_id,
        name=record.name,
        agent=record.agent,
        agent_version=record.agent_version,
        native_id=record.native_id,
        forked_from=record.forked_from,
        state="running" if running else state_word(record),
        created_at=record.created_at,
        last_active_at=record.last_active_at,
        place=WORKTREE.view(states["worktree"]),
        permissions=PERMISSIONS.view(states["permissions"]),
        model=MODEL.view(states["model"]),
        conversation=CONVERSATION.view(states["conversation"]),
        operations=OPERATIONS.view(states["operations"]),
        files=OPERATIONS.files_view(states["operations"], states["worktree"].root),
        todos=todos_view(record),
        cost=cost_view(record),
        checks=VERIFIER.view(states["verifier"]),
        runs=tuple(
            RunView(
                session_id=run.session_id,
                started_at=run.started_at,
                reason=run.reason,
                ended=run.ended,
                taken_up=run.started,
            )
            for run in record.runs
        ),
        depends_on=record.depends_on,
        damage=record.damage,
        not_resumable=built.agents_own_lost or built.own_lost or None,
    )


def todos_view(record: Record) -> TodosView:
    """The last accepted list."""
    return TODOS.view(record.states["todos"])


def cost_view(record: Record) -> CostView:
    """Tokens and cost."""
    return COST.view(record.states["cost"])


def state_word(record: Record) -> str:
    """`unfinished` when a restore has no end; `interrupted` when a turn or an action was open at the end,
    else `idle`. An action cut off in an earlier turn is still unsettled, but the thread went on after it."""
    if record.cut_off:
        return UNFINISHED
    cut_off = (operation.turn for operation in record.states["operations"].open.values())
    at_end = any(turn in (None, record.last_turn) for turn in cut_off)
    return "interrupted" if record.open_turn or at_end else "idle"
