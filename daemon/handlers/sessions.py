"""Handlers of direct agents."""

from resumed.daemon import direct
from resumed.daemon.rpc.connection import Client
from resumed.daemon.views import cost_view
from resumed.daemon.workspace import Workspace
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
    await workspace.threads.changed(live.thread_id)
    return result


async def turn_complete(
    workspace: Workspace, client: Client, params: TurnCompleteParams
) -> TurnCompleteResult:
    """End a turn."""
    live = workspace.sessions.of(client, params.session_id)
    await workspace.sessions.note_head(live)
    result = await direct.complete_turn(live, params, workspace.key)
    await workspace.threads.changed(live.thread_id)
    return result


async def event_append(workspace: Workspace, client: Client, params: EventAppendParams) -> EventAppendResult:
    """Append one event."""
    live = workspace.sessions.of(client, params.session_id)
    result = await direct.append_event(live, params)
    if params.type == "usage_recorded" and not result.repeated:
        cost = cost_view(await workspace.threads.record(live.thread_id))
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
    await workspace.sessions.note_head(live)
    return result


async def todos_update(workspace: Workspace, client: Client, params: TodosUpdateParams) -> TodosView:
    """Replace the list."""
    thread_id, todos = await workspace.todo_lists.update(client, params)
    workspace.broadcast("todos/updated", TodosUpdated(thread_id=thread_id, todos=todos), f"todos {thread_id}")
    return todos
