import asyncio

import pytest

from resumed.daemon.rpc.connection import Client
from resumed.daemon.rpc.router import Router
from resumed.protocol.daemon import InitializeResult, StatusParams
from resumed.protocol.errors import ErrorCode, ResumedError
from resumed.protocol.restore import Wire

INTRODUCTION = InitializeResult(protocol_version="1.0", version="0", workspace_id="w", root="/w", methods=())


async def handler(client: Client, params: StatusParams) -> Wire:
    """Answer with what came."""
    return params


async def test_own_handlers_are_there_at_once() -> None:
    assert await Router(INTRODUCTION, {"daemon/status": handler}).handler("daemon/status") is handler


async def test_the_application_s_are_waited_for() -> None:
    router = Router(INTRODUCTION, {})
    waiting = asyncio.ensure_future(router.handler("thread/list"))
    await asyncio.sleep(0)
    assert not waiting.done()
    router.open({"thread/list": handler})
    assert await waiting is handler
    with pytest.raises(ResumedError) as caught:
        await router.handler("thread/read")
    assert caught.value.code is ErrorCode.METHOD_NOT_FOUND


async def test_a_failed_application_answers_with_its_refusal() -> None:
    router = Router(INTRODUCTION, {"daemon/status": handler})
    waiting = asyncio.ensure_future(router.handler("thread/list"))
    await asyncio.sleep(0)
    full = ResumedError(ErrorCode.STORAGE_FAILED, "The disk is full.", "Make room.")
    router.fail(full)
    with pytest.raises(ResumedError, match=r"The disk is full\.") as caught:
        await waiting
    assert (caught.value.code, caught.value.data) == (full.code, full.data)
    assert caught.value is not full
    assert await router.handler("daemon/status") is handler


def admitted(router: Router, *names: str) -> list[bool]:
    """Which of the methods are let pass."""
    passed = []
    for name in names:
        try:
            router.admit(name)
        except ResumedError:
            passed.append(False)
        else:
            passed.append(True)
    return passed


def test_what_may_begin_depends_on_whether_it_drains_or_stops() -> None:
    router = Router(INTRODUCTION, {})
    names = ("daemon/status", "turn/complete", "session/start", "thread/resume")
    assert admitted(router, *names) == [True] * 4
    router.draining = True
    assert admitted(router, *names) == [True, True, False, False]
    with pytest.raises(ResumedError) as caught:
        router.admit("thread/resume")
    assert caught.value.code is ErrorCode.DRAINING
    router.stopping = True
    assert admitted(router, *names) == [True, False, False, False]
