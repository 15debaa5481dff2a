"""Runs of direct agents in one process: begun, refused, taken up again, let go."""

import asyncio
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

from resumed.daemon.sessions import Sessions
from resumed.protocol.errors import ErrorCode, ResumedError
from resumed.protocol.sessions import AgentInfo, PermissionsInfo, SessionStartParams
from resumed.restore.events.session import ModelSet, SessionEnded, WorktreeBound
from tests.support.locks import is_free
from tests.support.parts import LocalClient, opened
from tests.support.repository import run_git
from tests.support.sync_gate import SyncGate


def _params(cwd: Path, thread_id: str | None = None, session_id: str | None = None) -> SessionStartParams:
    return SessionStartParams(
        agent=AgentInfo(name="mine", version="2"),
        cwd=str(cwd),
        thread_id=thread_id,
        session_id=session_id,
        name="Payments",
        model="m-1",
        permissions=PermissionsInfo(approval="on-request", sandbox="read-only"),
    )


async def _refused(sessions: Sessions, client: LocalClient, params: SessionStartParams) -> ErrorCode:
    with pytest.raises(ResumedError) as refused:
        await sessions.start(client, params)
    return refused.value.code


async def test_a_run_records_where_it_is_and_what_it_may_do(tmp_path: Path) -> None:
    run_git(tmp_path, "init", "-b", "main")
    run_git(tmp_path, "commit", "--allow-empty", "-m", "one")
    (tmp_path / "src").mkdir()
    async with opened(tmp_path) as workspace:
        live = await workspace.sessions.start(LocalClient(), _params(tmp_path / "src"))
        record = await workspace.threads.record(live.thread_id)
        place, permissions = record.states["worktree"], record.states["permissions"]
        assert (place.root, place.cwd, place.branch) == (str(tmp_path), str(tmp_path / "src"), "main")
        assert place.sha == run_git(tmp_path, "rev-parse", "HEAD")
        assert (permissions.approval, permissions.sandbox) == ("on-request", "read-only")
        assert record.states["model"].model == "m-1"
        assert record.name == "Payments"
        assert live.thread_id in workspace.threads.live


async def test_bad_starts_change_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    (tmp_path / "file").write_text("")
    async with opened(folder) as workspace:
        sessions, client = workspace.sessions, LocalClient()
        assert await _refused(sessions, client, _params(tmp_path)) is ErrorCode.WORKSPACE_REFUSED
        assert await _refused(sessions, client, _params(folder / "none")) is ErrorCode.WORKSPACE_REFUSED
        unknown = _params(folder, thread_id=str(uuid.uuid4()))
        assert await _refused(sessions, client, unknown) is ErrorCode.THREAD_NOT_FOUND
        assert list(workspace.streams.ids("session")) == []
        assert workspace.leases.count == 0


async def test_a_thread_has_one_run_at_a_time(tmp_path: Path) -> None:
    async with opened(tmp_path) as workspace:
        live = await workspace.sessions.start(LocalClient("a"), _params(tmp_path))
        second = _params(tmp_path, thread_id=live.thread_id)
        assert await _refused(workspace.sessions, LocalClient("b"), second) is ErrorCode.THREAD_BUSY
        await workspace.sessions.end(live, "exit")
        next_run = await workspace.sessions.start(LocalClient("b"), second)
        assert next_run.session_id != live.session_id
        runs = (await workspace.threads.record(live.thread_id)).runs
        assert [run.session_id for run in runs] == [live.session_id, next_run.session_id]
        ended = _params(tmp_path, live.thread_id, live.session_id)
        await workspace.sessions.end(next_run, "exit")
        assert await _refused(workspace.sessions, LocalClient("b"), ended) is ErrorCode.SESSION_ENDED


async def test_a_session_of_another_thread_is_not_taken_up(tmp_path: Path) -> None:
    async with opened(tmp_path) as workspace:
        one = await workspace.sessions.start(LocalClient("a"), _params(tmp_path))
        other = await workspace.sessions.start(LocalClient("b"), _params(tmp_path))
        await workspace.sessions.end(other, "exit")
        stolen = _params(tmp_path, other.thread_id, one.session_id)
        assert await _refused(workspace.sessions, LocalClient("b"), stolen) is ErrorCode.SESSION_EXISTS


async def test_an_agent_that_lost_its_connection_takes_its_run_up_again(tmp_path: Path) -> None:
    async with opened(tmp_path) as workspace:
        client = LocalClient("a")
        live = await workspace.sessions.start(client, _params(tmp_path))
        assert (
            await workspace.sessions.start(client, _params(tmp_path, live.thread_id, live.session_id)) is live
        )
        client.gone.set()
        again = LocalClient("b")
        await _until(lambda: workspace.leases.count == 0)
        taken = await workspace.sessions.start(again, _params(tmp_path, live.thread_id, live.session_id))
        assert taken.session_id == live.session_id
        with pytest.raises(ResumedError) as refused:
            workspace.sessions.of(client, live.session_id)
        assert refused.value.code is ErrorCode.SESSION_NOT_FOUND
        assert workspace.sessions.of(again, live.session_id) is taken


async def test_a_commit_by_the_agent_moves_the_recorded_head(tmp_path: Path) -> None:
    run_git(tmp_path, "init", "-b", "main")
    run_git(tmp_path, "commit", "--allow-empty", "-m", "one")
    async with opened(tmp_path) as workspace:
        live = await workspace.sessions.start(LocalClient(), _params(tmp_path))
        run_git(tmp_path, "commit", "--allow-empty", "-m", "two")
        await workspace.sessions.note_head(live)
        assert live.place.sha == run_git(tmp_path, "rev-parse", "HEAD")
        before = live.last_durable
        await workspace.sessions.note_head(live)
        assert live.last_durable == before
        bound = [
            e.payload for e in workspace.streams.read(live.stream) if isinstance(e.payload, WorktreeBound)
        ]
        assert [each.cause for each in bound] == ["start", "observed"]


async def test_an_ended_run_takes_nothing_more_and_keeps_nothing_alive(tmp_path: Path) -> None:
    async with opened(tmp_path) as workspace:
        before = len(asyncio.all_tasks())
        live = await workspace.sessions.start(LocalClient(), _params(tmp_path))
        await workspace.sessions.end(live, "exit")
        with pytest.raises(ResumedError) as refused:
            await live.append(SessionEnded(reason="again", clean=True))
        assert refused.value.code is ErrorCode.SESSION_NOT_FOUND
        assert is_free(workspace.layout, live.stream)
        assert is_free(workspace.layout, live.thread)
        await _until(lambda: len(asyncio.all_tasks()) == before)


async def test_a_client_that_goes_while_its_run_writes_leaves_nothing_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = SyncGate(monkeypatch)
    async with opened(tmp_path) as workspace:
        client = LocalClient()
        live = await workspace.sessions.start(client, _params(tmp_path))
        gate.shut()
        model = ModelSet(model="m-2", cause="turn")
        writing = asyncio.create_task(live.append(model))
        await gate.until_reached()
        client.gone.set()
        await _until(lambda: workspace.sessions.of_thread(live.thread_id) is None)
        assert workspace.leases.count == 1
        gate.open.set()
        await writing
        await _until(lambda: workspace.leases.count == 0)
        assert is_free(workspace.layout, live.stream)
        assert [e.payload for e in workspace.streams.read(live.stream)][-1] == model


async def _until(condition: Callable[[], bool]) -> None:
    for _ in range(1_000_000):
        if condition():
            return
        await asyncio.sleep(0)
    raise TimeoutError
