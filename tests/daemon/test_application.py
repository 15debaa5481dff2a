"""An opened workspace answers every request of the table, and serves alone."""

import asyncio
import json
import os
from pathlib import Path

import pytest

from resumed.daemon.application import SERVED_ELSEWHERE, open_application
from resumed.daemon.runtime import state_folder, workspace_id
from resumed.daemon.storage import disk, purges
from resumed.daemon.storage.layout import Layout
from resumed.daemon.storage.purges import Purge
from resumed.protocol.errors import ErrorCode, ResumedError
from resumed.protocol.methods import REQUESTS
from resumed.protocol.sessions import AgentInfo, SessionEndParams, SessionStartParams, ThreadParams
from resumed.protocol.threads import ThreadListParams, ThreadListResult, ThreadReadParams, ThreadReadResult
from tests.support.parts import Hearing, LocalClient
from tests.support.streams import THREAD_ID

ANSWERED_BY_THE_SERVER = {"resumed/initialize", "daemon/status", "daemon/drain"}


async def test_every_request_has_a_handler(tmp_path: Path) -> None:
    application = await open_application(str(tmp_path), Hearing(), 0o022)
    assert set(application.handlers) == set(REQUESTS) - ANSWERED_BY_THE_SERVER
    listed = await application.handlers["thread/list"](LocalClient(), ThreadListParams())
    assert listed == ThreadListResult(threads=())
    assert not application.busy()
    assert application.status_fields().storage == "ok"
    await application.close()


async def test_failures_of_the_shell_become_errors(tmp_path: Path) -> None:
    application = await open_application(str(tmp_path), Hearing(), 0o022)
    end = SessionEndParams(session_id="not-an-id")
    with pytest.raises(ResumedError) as malformed:
        await application.handlers["session/end"](LocalClient(), end)
    assert malformed.value.code is ErrorCode.INVALID_PARAMS
    with pytest.raises(ResumedError) as missing:
        await application.handlers["todos/read"](LocalClient(), ThreadParams(thread_id="none"))
    assert missing.value.code is ErrorCode.THREAD_NOT_FOUND
    await application.close()


async def test_a_workspace_is_written_by_one_and_read_by_any(tmp_path: Path) -> None:
    first = await open_application(str(tmp_path), Hearing(), 0o022)
    start = SessionStartParams(agent=AgentInfo(name="mine"), cwd=str(tmp_path), name="Round")
    await first.handlers["session/start"](LocalClient(), start)
    second = await open_application(str(tmp_path), Hearing(), 0o022)
    listed = await second.handlers["thread/list"](LocalClient(), ThreadListParams())
    assert isinstance(listed, ThreadListResult)
    assert [summary.name for summary in listed.threads] == ["Round"]
    assert listed.notes == (SERVED_ELSEWHERE,)
    assert second.status_fields().storage == "readOnly"
    read = await second.handlers["thread/read"](LocalClient(), ThreadReadParams(thread="round"))
    assert isinstance(read, ThreadReadResult)
    assert read.damage == ()
    with pytest.raises(ResumedError) as refused:
        await second.handlers["session/start"](LocalClient(), start)
    assert refused.value.code is ErrorCode.STATE_READ_ONLY
    await second.close()
    await first.close()
    third = await open_application(str(tmp_path), Hearing(), 0o022)
    assert third.status_fields().storage == "ok"
    await third.close()


async def test_one_that_starts_during_a_removal_waits_for_it(tmp_path: Path) -> None:
    layout, identifier = Layout.open(state_folder()), workspace_id(os.fsencode(str(tmp_path)))
    lock = disk.lock(layout.workspace_lock_path(identifier))
    assert lock is not None
    purges.begin(layout, Purge(thread_id=THREAD_ID, sessions=()))
    opening = asyncio.create_task(open_application(str(tmp_path), Hearing(), 0o022))
    for _ in range(10):
        await asyncio.to_thread(lambda: None)
    assert not opening.done()
    os.close(lock)
    application = await opening
    assert application.status_fields().storage == "ok"
    await application.close()


async def test_a_state_folder_of_a_newer_version_is_only_read(tmp_path: Path) -> None:
    Layout.open(state_folder())
    identity = json.loads((state_folder() / "layout.json").read_bytes())
    (state_folder() / "layout.json").write_text(json.dumps(identity | {"version": 99}))
    before = sorted(str(path) for path in state_folder().rglob("*"))
    application = await open_application(str(tmp_path), Hearing(), 0o022)
    listed = await application.handlers["thread/list"](LocalClient(), ThreadListParams())
    assert isinstance(listed, ThreadListResult)
    assert listed.notes
    assert application.status_fields().storage == "readOnly"
    start = SessionStartParams(agent=AgentInfo(name="mine"), cwd=str(tmp_path))
    with pytest.raises(ResumedError) as refused:
        await application.handlers["session/start"](LocalClient(), start)
    assert refused.value.code is ErrorCode.STATE_READ_ONLY
    await application.close()
    assert sorted(str(path) for path in state_folder().rglob("*")) == before
