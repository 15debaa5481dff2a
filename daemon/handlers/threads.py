"""Handlers that read threads, and name them."""

from resumed.daemon.freezing import ensure_thread, own_event
from resumed.daemon.row_refresh import refresh_row
from resumed.daemon.rpc.connection import Client
from resumed.daemon.views import cost_view, thread_view
from resumed.daemon.workspace import Workspace
from resumed.protocol.sessions import ThreadParams
from resumed.protocol.threads import (
    CostView,
    NameSetParams,
    NameSetResult,
    ThreadListParams,
    ThreadListResult,
    ThreadReadParams,
    ThreadReadResult,
    TodosView,
)
from resumed.restore.events.thread import ThreadPatched
from resumed.restore.lifecycle import Lifecycle


async def thread_list(workspace: Workspace, client: Client, params: ThreadListParams) -> ThreadListResult:
    """A page of threads."""
    return await workspace.threads.page(params)


async def thread_read(workspace: Workspace, client: Client, params: ThreadReadParams) -> ThreadReadResult:
    """All of one thread."""
    row = await workspace.threads.find(params.thread)
    built = await workspace.threads.built(row.thread_id)
    held = await workspace.threads.is_held(row.thread_id)
    running = await workspace.threads.is_running(row.thread_id) or (built.record.cut_off and held)
    return thread_view(built, running)


async def thread_name_set(workspace: Workspace, client: Client, params: NameSetParams) -> NameSetResult:
    """Name a thread, or give it back its automatic name."""
    row = await workspace.threads.find(params.thread_id)
    patch = own_event(ThreadPatched(fields={"name": params.name.strip()}), "name")
    async with workspace.leases.turn(row.thread_id):
        live = workspace.sessions.of_thread(row.thread_id)
        if live is not None:
            await live.append_to_thread(patch)
            name = live.lifecycle.name
        else:
            async with workspace.leases.writing(row.thread_id, client.info, workspace.streams) as stream:
                built = await workspace.threads.built(row.thread_id)
                await ensure_thread(workspace.streams, built.record)
                await workspace.streams.append(stream, patch)
            name = Lifecycle().apply(built.lifecycle, patch).name
    await refresh_row(workspace.threads, row.thread_id)
    return NameSetResult(thread_id=row.thread_id, name=name)


async def todos_read(workspace: Workspace, client: Client, params: ThreadParams) -> TodosView:
    """The last accepted list."""
    return await workspace.todo_lists.read(params.thread_id)


async def cost_read(workspace: Workspace, client: Client, params: ThreadParams) -> CostView:
    """Tokens and cost of a thread."""
    row = await workspace.threads.find(params.thread_id)
    return cost_view(await workspace.threads.record(row.thread_id))
