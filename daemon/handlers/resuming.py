"""Handlers of Resume and of looking at what changed."""

from resumed.daemon.rpc.connection import Client
from resumed.daemon.workspace import Workspace
from resumed.protocol.restore import RestoreReport
from resumed.protocol.resume import DriftCheckParams, DriftCheckResult, ThreadResumeParams


async def thread_resume(workspace: Workspace, client: Client, params: ThreadResumeParams) -> RestoreReport:
    """The ordered restore."""
    return await workspace.restorer.resume(client, params)


async def drift_check(workspace: Workspace, client: Client, params: DriftCheckParams) -> DriftCheckResult:
    """What changed since; mints nothing. Where a restore that was cut off is to be taken back first, that."""
    row = await workspace.threads.find(params.thread)
    built = await workspace.threads.resumable(row.thread_id)
    if built.record.cut_off and not await workspace.threads.is_held(row.thread_id):
        active_at = await workspace.freezer.agent_active_at(row.thread_id)
        unfinished = await workspace.recoverer.would_write(row.thread_id, active_at)
        if unfinished is not None:
            return DriftCheckResult(
                thread_id=row.thread_id,
                thread_name=built.record.name,
                drifts=(),
                question=None,
                unfinished=unfinished,
            )
    agent = workspace.threads.agent(built.record.agent)
    return await workspace.checker.check(built.record, agent.launcher if agent else None)
