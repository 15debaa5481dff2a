"""Handlers of what is done with a conversation as a whole."""

from resumed.daemon.row_refresh import refresh_row
from resumed.daemon.rpc.connection import Client
from resumed.daemon.workspace import Workspace
from resumed.protocol.keeping import ThreadArchiveParams, ThreadArchiveResult


async def thread_archive(
    workspace: Workspace, client: Client, params: ThreadArchiveParams
) -> ThreadArchiveResult:
    """Put a thread away."""
    return await _moved(workspace, client, params, archived=True)


async def thread_unarchive(
    workspace: Workspace, client: Client, params: ThreadArchiveParams
) -> ThreadArchiveResult:
    """Bring a thread back."""
    return await _moved(workspace, client, params, archived=False)


async def _moved(
    workspace: Workspace, client: Client, params: ThreadArchiveParams, *, archived: bool
) -> ThreadArchiveResult:
    result = await workspace.archive.move(params.thread_id, client.info, archived=archived)
    await refresh_row(workspace.threads, result.thread_id)
    return result
