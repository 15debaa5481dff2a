"""A start is a whole or nothing, can be sent again, and never widens what a run was granted."""

import asyncio
import os
import uuid
from pathlib import Path

import msgspec
import pytest

from resumed.daemon.storage.errors import StreamBusy
from resumed.protocol.errors import ErrorCode, ResumedError
from resumed.protocol.sessions import AgentInfo, PermissionsInfo, SessionStartParams
from tests.support.codex import install_recording
from tests.support.locks import is_free, written_elsewhere
from tests.support.parts import LocalClient, opened
from tests.support.sync_gate import SyncGate


def _start(folder: Path, thread_id: str | None = None, session_id: str | None = None) -> SessionStartParams:
    return SessionStartParams(
        agent=AgentInfo(name="mine"), cwd=str(folder), thread_id=thread_id, session_id=session_id
    )


async def test_a_run_begins_on_an_agents_own_thread(tmp_path: Path) -> None:
    install_recording("v171_read_only", Path(os.environ["CODEX_HOME"]))
    async with opened(tmp_path) as workspace:
        row = await workspace.threads.find("look at it")
        before = (await workspace.threads.record(row.thread_id)).runs
        live = await workspace.sessions.start(LocalClient(), _start(tmp_path, row.thread_id))
        runs = (await workspace.threads.record(row.thread_id)).runs
        assert {run.session_id for run in runs} == {before[0].session_id, live.session_id}


async def test_a_start_that_fails_leaves_all_free_is_not_seen_and_can_be_sent_again(tmp_path: Path) -> None:
    async with opened(tmp_path) as workspace:
        client, session_id = LocalClient(), str(uuid.uuid4())
        first = await workspace.sessions.start(client, _start(tmp_path))
        await workspace.sessions.end(first, "exit")
        params = _start(tmp_path, first.thread_id, session_id)
        with written_elsewhere(workspace.layout, f"thread:{first.thread_id}"), pytest.raises(StreamBusy):
            await workspace.sessions.start(client, params)
        assert workspace.leases.count == 0
        assert first.thread_id not in workspace.threads.live
        assert is_free(workspace.layout, f"session:{session_id}")
        assert len((await workspace.threads.record(first.thread_id)).runs) == 1
        again = await workspace.sessions.start(client, params)
        assert again.session_id == session_id
        runs = (await workspace.threads.record(first.thread_id)).runs
        assert [run.session_id for run in runs] == [first.session_id, session_id]


@pytest.mark.parametrize("given", [False, True])
async def test_a_cancelled_start_leaves_no_open_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: bool
) -> None:
    gate = SyncGate(monkeypatch)
    async with opened(tmp_path) as workspace:
        client, session_id = LocalClient(), str(uuid.uuid4()) if given else None
        await workspace.sessions.start(client, _start(tmp_path))
        gate.shut()
        starting = asyncio.create_task(workspace.sessions.start(client, _start(tmp_path, None, session_id)))
        await gate.until_reached()
        starting.cancel()
        gate.open.set()
        with pytest.raises(asyncio.CancelledError):
            await starting
        assert (workspace.leases.count, len(workspace.threads.live)) == (1, 1)
        streams = [*workspace.streams.ids("session"), *workspace.streams.ids("thread")]
        assert [is_free(workspace.layout, stream) for stream in streams].count(True) == 2
        if session_id is not None:
            assert (await workspace.sessions.start(client, _start(tmp_path, None, session_id))).thread_id


async def test_a_session_alone_names_its_thread(tmp_path: Path) -> None:
    async with opened(tmp_path) as workspace:
        first = await workspace.sessions.start(LocalClient("a"), _start(tmp_path))
    async with opened(tmp_path) as workspace:
        again = await workspace.sessions.start(LocalClient("b"), _start(tmp_path, None, first.session_id))
        assert (again.thread_id, again.session_id) == (first.thread_id, first.session_id)


async def test_a_run_is_not_taken_up_with_more_than_it_was_granted(tmp_path: Path) -> None:
    narrow = PermissionsInfo(approval="on-request", sandbox="read-only")
    start = msgspec.structs.replace(_start(tmp_path), permissions=narrow)
    async with opened(tmp_path) as workspace:
        first = await workspace.sessions.start(LocalClient("a"), start)
    wide = PermissionsInfo(approval="on-request", sandbox="danger-full-access")
    again = msgspec.structs.replace(start, session_id=first.session_id, permissions=wide)
    async with opened(tmp_path) as workspace:
        with pytest.raises(ResumedError) as refused:
            await workspace.sessions.start(LocalClient("b"), again)
        assert refused.value.code is ErrorCode.INVALID_PARAMS
        assert "danger-full-access" in refused.value.sentence
        assert workspace.leases.count == 0
        assert (await workspace.threads.record(first.thread_id)).states["permissions"].sandbox == "read-only"
