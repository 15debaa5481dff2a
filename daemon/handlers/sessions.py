"""Handlers of direct agents."""

import logging

from resumed.daemon import direct
from resumed.daemon.live import Live
from resumed.daemon.row_refresh import refresh_row
from resumed.daemon.rpc.connection import Client
from resumed.daemon.storage.errors import StorageError
from resumed.daemon.workspace import Workspace
from resumed.protocol.errors import ResumedError
from resumed.protocol.sessions import (
    CostUpdated,
    EventAppendParams,
    EventAppendResult,
    OperationBeginParams,
    OperationBeginResult,
    OperationCommitParams,
    OperationCommitResult,
    SessionEndParams,
    SessionEndResult,
    SessionStartParams,
    SessionStartResult,
    TodosUpdated,
    TodosUpdateParams,
    TurnCompleteParams,
    TurnCompleteResult,
    TurnStartParams,
    TurnStartResult,
)
from resumed.protocol.threads import TodosView
from resumed.restore.subsystems.cost import COST

_log = logging.getLogger(__name__)


async def session_start(
    workspace: Workspace, client: Client, params: SessionStartParams
) -> SessionStartResult:
    """Begin a run, or take one up again."""
    live = await workspace.sessions.start(client, params)
    earlier = [run.session_id for run in live.lifecycle.runs if run.session_id != live.session_id]
    return SessionStartResult(
        thread_id=live.thread_id,
        session_id=live.session_id,
        resumed_from=earlier[-1] if earlier else None,
    )


async def session_end(workspace: Workspace, client: Client, params: SessionEndParams) -> SessionEndResult:
    """End a run."""
    live = workspace.sessions.of(client, params.session_id)
    await workspace.sessions.note_head(live)
    await workspace.sessions.end(live, params.reason)
    return SessionEndResult(session_id=live.session_id, last_durable_event=live.last_durable)


async def turn_start(workspace: Workspace, client: Client, params: TurnStartParams) -> TurnStartResult:
    """Begin a turn."""
    live = workspace.sessions.of(client, params.session_id)
    result = await direct.start_turn(live, params, workspace.key)
    await refresh_row(workspace.threads, live.thread_id)
    return result


async def turn_complete(
    workspace: Workspace, client: Client, params: TurnCompleteParams
) -> TurnCompleteResult:
    """End a turn."""
    live = workspace.sessions.of(client, params.session_id)
    result = await direct.complete_turn(live, params, workspace.key)
    await _note_head(workspace, live)
    await refresh_row(workspace.threads, live.thread_id)
    await workspace.releaser.let_go_if_asked(live)
    return result


async def event_append(workspace: Workspace, client: Client, params: EventAppendParams) -> EventAppendResult:
    """Append one event."""
    live = workspace.sessions.of(client, params.session_id)
    result = await direct.append_event(live, params)
    if params.type == "usage_recorded" and not result.repeated:
        cost = COST.view(live.state(COST.name))
        workspace.broadcast(
            "cost/updated", CostUpdated(thread_id=live.thread_id, cost=cost), f"cost {live.thread_id}"
        )
    return result


async def operation_begin(
    workspace: Workspace, client: Client, params: OperationBeginParams
) -> OperationBeginResult:
    """Announce a tool call."""
    return await direct.begin_operation(workspace.sessions.of(client, params.session_id), params)


async def operation_commit(
    workspace: Workspace, client: Client, params: OperationCommitParams
) -> OperationCommitResult:
    """Settle a tool call."""
    live = workspace.sessions.of(client, params.session_id)
    result = await direct.commit_operation(live, params)
    await _note_head(workspace, live)
    await workspace.releaser.let_go_if_asked(live)
    return result


async def todos_update(workspace: Workspace, client: Client, params: TodosUpdateParams) -> TodosView:
    """Replace the list."""
    thread_id, todos = await workspace.todo_lists.update(client, params)
    workspace.broadcast("todos/updated", TodosUpdated(thread_id=thread_id, todos=todos), f"todos {thread_id}")
    return todos


async def _note_head(workspace: Workspace, live: Live) -> None:
    """Note where HEAD is after something was made durable, which no longer fails by it: a move that
    could not be noted now is noted at the next occasion."""
    try:
        await workspace.sessions.note_head(live)
    except (StorageError, ResumedError) as error:
        _log.warning("where HEAD is was not noted in session %s: %s", live.session_id, error)
