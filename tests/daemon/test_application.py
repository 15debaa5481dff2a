"""An opened workspace answers every request of the table, and serves alone."""

from pathlib import Path

import pytest

from resumed.daemon.application import open_application
from resumed.daemon.storage.errors import StreamBusy
from resumed.protocol.errors import ErrorCode, ResumedError
from resumed.protocol.methods import REQUESTS
from resumed.protocol.sessions import SessionEndParams, ThreadParams
from resumed.protocol.threads import ThreadListParams, ThreadListResult
from tests.support.parts import Hearing, LocalClient

ANSWERED_BY_THE_SERVER = {"resumed/initialize", "daemon/status", "daemon/drain"}


async def test_every_request_has_a_handler(tmp_path: Path) -> None:
    application = await open_application(str(tmp_path), Hearing())
    assert set(application.handlers) == set(REQUESTS) - ANSWERED_BY_THE_SERVER
    listed = await application.handlers["thread/list"](LocalClient(), ThreadListParams())
    assert listed == ThreadListResult(threads=())
    assert not application.busy()
    assert application.status_fields().storage == "ok"
    await application.close()


async def test_failures_of_the_shell_become_errors(tmp_path: Path) -> None:
    application = await open_application(str(tmp_path), Hearing())
    end = SessionEndParams(session_id="not-an-id")
    with pytest.raises(ResumedError) as malformed:
        await application.handlers["session/end"](LocalClient(), end)
    assert malformed.value.code is ErrorCode.INVALID_PARAMS
    with pytest.raises(ResumedError) as missing:
        await application.handlers["todos/read"](LocalClient(), ThreadParams(thread_id="none"))
    assert missing.value.code is ErrorCode.THREAD_NOT_FOUND
    await application.close()


async def test_a_workspace_is_opened_by_one(tmp_path: Path) -> None:
    first = await open_application(str(tmp_path), Hearing())
    with pytest.raises(StreamBusy):
        await open_application(str(tmp_path), Hearing())
    await first.close()
    second = await open_application(str(tmp_path), Hearing())
    await second.close()
