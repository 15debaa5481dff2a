"""Handlers of what is done with a conversation as a whole."""

from resumed.daemon.keeping.diagnosis import diagnose
from resumed.daemon.row_refresh import refresh_row
from resumed.daemon.rpc.connection import Client
from resumed.daemon.workspace import Workspace
from resumed.protocol.keeping import (
    ThreadArchiveParams,
    ThreadArchiveResult,
    ThreadDiagnoseParams,
    ThreadDiagnoseResult,
    ThreadExportParams,
    ThreadExportResult,
    ThreadImportParams,
    ThreadImportResult,
    ThreadPurged,
    ThreadPurgeParams,
    ThreadPurgeResult,
    ThreadReleaseParams,
    ThreadReleaseResult,
)


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


async def thread_purge(workspace: Workspace, client: Client, params: ThreadPurgeParams) -> ThreadPurgeResult:
    """Remove for good what is kept of a thread."""
    result = await workspace.purger.purge(params.thread_id, client.info)
    workspace.broadcast("thread/purged", ThreadPurged(thread_id=result.thread_id))
    await workspace.threads.look_again()
    return result


async def thread_export(
    workspace: Workspace, client: Client, params: ThreadExportParams
) -> ThreadExportResult:
    """Write a thread into a file."""
    return await workspace.exporter.export(params.thread_id, params.path)


async def thread_import(
    workspace: Workspace, client: Client, params: ThreadImportParams
) -> ThreadImportResult:
    """Take in a thread from a file."""
    result = await workspace.importer.take_in(params.path, client.info)
    await refresh_row(workspace.threads, result.thread_id)
    return result


async def thread_release(
    workspace: Workspace, client: Client, params: ThreadReleaseParams
) -> ThreadReleaseResult:
    """Ask for a thread."""
    return await workspace.releaser.ask(params.thread_id, params.by or client.info.name)


async def thread_diagnose(
    workspace: Workspace, client: Client, params: ThreadDiagnoseParams
) -> ThreadDiagnoseResult:
    """Compare a thread with its record, layer by layer."""
    return await diagnose(workspace.threads, workspace.store, params.thread_id)


async def _moved(
    workspace: Workspace, client: Client, params: ThreadArchiveParams, *, archived: bool
) -> ThreadArchiveResult:
    result = await workspace.archive.move(params.thread_id, client.info, archived=archived)
    await refresh_row(workspace.threads, result.thread_id)
    return result
