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


async def test_a_failed_application_answers_with_its_sentence() -> None:
    router = Router(INTRODUCTION, {"daemon/status": handler})
    waiting = asyncio.ensure_future(router.handler("thread/list"))
    await asyncio.sleep(0)
    router.fail("The disk is full.")
    with pytest.raises(ResumedError, match=r"The disk is full\."):
        await waiting
    assert await router.handler("daemon/status") is handler
