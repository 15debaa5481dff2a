from typing import Any

import pytest

from resumed.daemon.rpc.lsp import LanguageServerFace
from resumed.daemon.rpc.messages import Notification, Request
from resumed.daemon.version import VERSION
from resumed.protocol.errors import ErrorCode, ResumedError

INITIALIZE: dict[str, Any] = {"processId": None, "rootUri": None, "capabilities": {}}


@pytest.fixture
async def face() -> LanguageServerFace:
    """A face that was initialized."""
    found = LanguageServerFace()
    await found.request(Request(0, "initialize", INITIALIZE))
    found.notify(Notification("initialized", {}))
    return found


async def refused(face: LanguageServerFace, method: str, params: Any) -> ResumedError:
    """The error of a request."""
    with pytest.raises(ResumedError) as caught:
        await face.request(Request(7, method, params))
    return caught.value


async def test_initialize_offers_nothing_but_the_life_cycle() -> None:
    result = await LanguageServerFace().request(Request("a", "initialize", INITIALIZE))
    assert result["serverInfo"] == {"name": "resumed", "version": VERSION}
    assert set(result["capabilities"]) == {"positionEncoding"}


async def test_payloads_that_look_like_messages_do_no_harm() -> None:
    experimental = {"jsonrpc": "2.0", "id": 3, "class": {"file-path": 1}, "type_name": "a b"}
    params = {**INITIALIZE, "initializationOptions": experimental}
    assert await LanguageServerFace().request(Request(1, "initialize", params))


@pytest.mark.parametrize(
    "params", [3, [], {}, {**INITIALIZE, "processId": "3"}, {**INITIALIZE, "capabilities": 1}]
)
async def test_params_of_the_wrong_type(params: Any) -> None:
    error = await refused(LanguageServerFace(), "initialize", params)
    assert error.code is ErrorCode.INVALID_PARAMS


async def test_shutdown_answers_null(face: LanguageServerFace) -> None:
    assert await face.request(Request("s", "shutdown", {})) is None


async def test_what_is_not_served_is_refused(face: LanguageServerFace) -> None:
    hover = {"textDocument": {"uri": "file:///a"}, "position": {"line": 0, "character": 0}}
    assert (await refused(face, "textDocument/hover", hover)).code is ErrorCode.METHOD_NOT_FOUND
    assert (await refused(face, "workspace/nonsense", {})).code is ErrorCode.METHOD_NOT_FOUND
    command = await refused(face, "workspace/executeCommand", {"command": "resumed.nonsense"})
    assert command.code is ErrorCode.INVALID_PARAMS
    assert "Traceback" not in str(command)


async def test_strange_notifications_are_passed_over(face: LanguageServerFace) -> None:
    for method in ("initialized", "$/setTrace", "textDocument/didOpen", "$/nonsense", "workspace/x", "exit"):
        face.notify(Notification(method, 3))
    assert await face.request(Request(1, "shutdown", {})) is None


async def test_exit_ends_nothing(face: LanguageServerFace) -> None:
    face.notify(Notification("exit", {}))
    assert await face.request(Request(1, "shutdown", {})) is None
