"""An opened workspace answers every request of the table, and serves alone."""

import json
from pathlib import Path

import pytest

from resumed.daemon.application import open_application
from resumed.daemon.runtime import state_folder
from resumed.daemon.storage.layout import Layout
from resumed.protocol.errors import ErrorCode, ResumedError
from resumed.protocol.methods import REQUESTS
from resumed.protocol.sessions import AgentInfo, SessionEndParams, SessionStartParams, ThreadParams
from resumed.protocol.threads import ThreadListParams, ThreadListResult
from tests.support.parts import Hearing, LocalClient

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


async def test_a_workspace_is_opened_by_one(tmp_path: Path) -> None:
    first = await open_application(str(tmp_path), Hearing(), 0o022)
    with pytest.raises(ResumedError) as refused:
        await open_application(str(tmp_path), Hearing(), 0o022)
    assert refused.value.code is ErrorCode.WORKSPACE_REFUSED
    await first.close()
    second = await open_application(str(tmp_path), Hearing(), 0o022)
    await second.close()


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
