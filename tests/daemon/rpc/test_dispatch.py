import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from resumed.daemon.rpc.connection import Client, Connection
from resumed.daemon.rpc.dispatch import Dispatcher
from resumed.daemon.rpc.framing import MAX_FRAME
from resumed.daemon.rpc.router import Router
from resumed.protocol.daemon import InitializeResult, StatusParams
from resumed.protocol.ids import parse_uuid
from resumed.protocol.threads import NameSetParams, NameSetResult
from tests.support.fake_application import FakeApplication
from tests.support.pipes import End, stream_pair

INTRODUCTION = InitializeResult(protocol_version="1.0", version="0", workspace_id="w", root="/w", methods=())
HELLO = {"protocolVersion": "1.0", "client": {"name": "test", "unknown": [1]}, "unknown": 1}


class Order:
    """Handlers that note when they begin, and go on when they are told."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.go: dict[str, asyncio.Event] = {}

    async def name(self, client: Client, params: NameSetParams) -> NameSetResult:
        """Wait for the event of the call's name."""
        self.begun.append(params.name)
        await self.go.setdefault(params.name, asyncio.Event()).wait()
        return NameSetResult(thread_id=params.thread_id, name=params.name)

    def release(self, name: str) -> None:
        """Let a call go on, or not wait at all."""
        self.go.setdefault(name, asyncio.Event()).set()


class Dispatching(NamedTuple):
    """A dispatcher, the handlers behind it, and the client's end."""

    dispatcher: Dispatcher
    router: Router
    order: Order
    client: End

    def send(self, identifier: Any, method: str, params: Any) -> None:
        """Hand a request over as if it had been read."""
        self.raw({"jsonrpc": "2.0", "id": identifier, "method": method, "params": params})

    def raw(self, message: Any) -> None:
        """Hand any message over."""
        self.dispatcher.receive(json.dumps(message).encode())

    async def reply(self) -> Any:
        """The next message that the client gets."""
        return json.loads(await asyncio.wait_for(self.client.reader.readline(), 10))

    async def error(self, identifier: Any, method: str, params: Any) -> tuple[int, str]:
        """Send a request and return the error's code and kind."""
        self.send(identifier, method, params)
        reply = await self.reply()
        assert reply["id"] == identifier
        return reply["error"]["code"], reply["error"]["data"]["kind"]


async def turn() -> None:
    """Let everything run that can run."""
    for _ in range(20):
        await asyncio.sleep(0)


def named(thread: str, name: str) -> dict[str, str]:
    """Params of `thread/name/set`."""
    return {"threadId": thread, "name": name}


@pytest.fixture
async def dispatching(tmp_path: Path) -> AsyncIterator[Dispatching]:
    """An initialized connection in front of the fake application; `thread/name/set` takes orders."""
    async with stream_pair() as (ours, client):
        connection = Connection(1, *ours)
        bodies = connection.bodies()
        client.writer.write(b"{}\n")
        await anext(bodies)

        async def status(client: Client, params: StatusParams) -> StatusParams:
            return params

        router = Router(INTRODUCTION, {"daemon/status": status})
        order = Order()
        fake = FakeApplication(str(tmp_path), lambda method, params, coalesce=None: None)
        router.open({**fake.handlers, "thread/name/set": order.name})
        found = Dispatching(Dispatcher(connection, router), router, order, client)
        found.send(0, "resumed/initialize", HELLO)
        assert (await found.reply())["result"]["root"] == "/w"
        yield found
        found.dispatcher.cancel()
        await found.dispatcher.finish()
        await bodies.aclose()
        await connection.close()


async def test_initialize_tells_who_the_client_is(dispatching: Dispatching) -> None:
    assert dispatching.dispatcher.initialized
    assert await dispatching.error(1, "resumed/initialize", HELLO) == (-32600, "invalidRequest")


@pytest.mark.parametrize(
    "params",
    [
        {"threadId": 3, "name": "n"},
        {"threadId": "t"},
        [],
        ["t", "n"],
        3,
        "x",
        {"threadId": None, "name": "n"},
    ],
)
async def test_params_of_the_wrong_type(dispatching: Dispatching, params: Any) -> None:
    assert await dispatching.error(1, "thread/name/set", params) == (-32602, "invalidParams")
    assert dispatching.order.begun == []


async def test_a_number_is_not_taken_from_a_text(dispatching: Dispatching) -> None:
    assert await dispatching.error(1, "thread/list", {"limit": "3"}) == (-32602, "invalidParams")


async def test_equal_keys_run_in_order_and_others_at_once(dispatching: Dispatching) -> None:
    for identifier, (thread, name) in enumerate([("t", "a"), ("t", "b"), ("u", "c"), ("t", "d")], 1):
        dispatching.send(identifier, "thread/name/set", named(thread, name))
    await turn()
    assert dispatching.order.begun == ["a", "c"]
    dispatching.order.release("a")
    assert (await dispatching.reply())["id"] == 1
    await turn()
    assert dispatching.order.begun == ["a", "c", "b"]
    for name in "bcd":
        dispatching.order.release(name)
    assert sorted([(await dispatching.reply())["id"] for _ in range(3)]) == [2, 3, 4]
    await turn()
    assert len(dispatching.router.queues) == 0


async def test_an_id_in_capitals_is_in_the_same_queue(dispatching: Dispatching) -> None:
    dispatching.send(1, "thread/name/set", named("abc-1", "a"))
    dispatching.send(2, "thread/name/set", named(" ABC-1", "b"))
    await turn()
    assert dispatching.order.begun == ["a"]
    dispatching.order.release("a")
    dispatching.order.release("b")
    assert [(await dispatching.reply())["id"] for _ in range(2)] == [1, 2]


async def test_cancelling_answers_once_and_keeps_the_queue(dispatching: Dispatching) -> None:
    for identifier, name in enumerate("abc", 1):
        dispatching.send(identifier, "thread/name/set", named("t", name))
    await turn()
    dispatching.raw({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": 2}})
    reply = await dispatching.reply()
    assert (reply["id"], reply["error"]["code"]) == (2, -32800)
    await turn()
    assert dispatching.order.begun == ["a"]
    dispatching.raw({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": 1}})
    assert (await dispatching.reply())["error"]["data"]["kind"] == "requestCancelled"
    dispatching.order.release("c")
    assert (await dispatching.reply())["id"] == 3
    assert dispatching.order.begun == ["a", "c"]


async def test_a_request_cancelled_before_it_began_is_answered(dispatching: Dispatching) -> None:
    dispatching.send("x", "thread/name/set", named("t", "a"))
    dispatching.raw({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": "x"}})
    reply = await dispatching.reply()
    assert (reply["id"], reply["error"]["code"]) == ("x", -32800)
    assert dispatching.order.begun == []


@pytest.mark.parametrize("params", [{}, {"id": 77}, {"id": [1]}, {"id": None}, [1], 3])
async def test_strange_cancellations_are_passed_over(dispatching: Dispatching, params: Any) -> None:
    dispatching.raw({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": params})
    dispatching.send(1, "daemon/status", {})
    assert (await dispatching.reply())["id"] == 1


async def test_an_id_that_is_running_is_not_taken_twice(dispatching: Dispatching) -> None:
    dispatching.send(1, "thread/name/set", named("t", "a"))
    assert await dispatching.error(1, "thread/name/set", named("t", "b")) == (-32600, "invalidRequest")
    dispatching.order.release("a")
    assert (await dispatching.reply())["result"]["name"] == "a"
    dispatching.order.release("b")
    dispatching.send(1, "thread/name/set", named("t", "b"))
    assert (await dispatching.reply())["result"]["name"] == "b"


async def test_a_refusal_keeps_its_data(dispatching: Dispatching) -> None:
    dispatching.send(1, "thread/read", {"thread": "busy"})
    assert (await dispatching.reply())["error"] == {
        "code": 1004,
        "message": "It is open elsewhere.",
        "data": {
            "kind": "threadBusy",
            "hint": "Go there.",
            "holder": {"name": "VS Code", "pid": 7, "since": "2026-01-01T00:00:00Z"},
            "ways": ["attach"],
        },
    }


async def test_a_bug_tells_the_client_nothing_but_the_log_all(
    dispatching: Dispatching, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for thread in ("bug", "unencodable"):
        dispatching.send(1, "thread/read", {"thread": thread})
        reply = await dispatching.reply()
        assert (reply["error"]["code"], reply["error"]["data"]["kind"]) == (-32603, "internalError")
        assert str(tmp_path) not in json.dumps(reply)
        assert "Traceback" not in json.dumps(reply)
    assert f"a secret of {tmp_path}" in caplog.text


async def test_an_id_that_is_none_is_the_caller_s_mistake(dispatching: Dispatching) -> None:
    async def parse(client: Client, params: NameSetParams) -> NameSetResult:
        return NameSetResult(thread_id=parse_uuid(params.thread_id), name="")

    dispatching.router.open({"thread/name/set": parse})
    assert await dispatching.error(1, "thread/name/set", named("../x", "n")) == (-32602, "invalidParams")


async def test_an_answer_over_the_limit_is_refused(dispatching: Dispatching) -> None:
    async def large(client: Client, params: NameSetParams) -> NameSetResult:
        return NameSetResult(thread_id="t", name="x" * MAX_FRAME)

    dispatching.router.open({"thread/name/set": large})
    assert await dispatching.error(1, "thread/name/set", named("t", "n")) == (1019, "frameTooLarge")


async def test_a_stopping_daemon_takes_nothing_new(dispatching: Dispatching) -> None:
    dispatching.router.stopping = True
    assert await dispatching.error(1, "thread/name/set", named("t", "n")) == (1020, "draining")
    dispatching.send(2, "daemon/status", {})
    assert (await dispatching.reply())["id"] == 2


async def test_notifications_are_never_answered(dispatching: Dispatching) -> None:
    for method in ("daemon/status", "nonsense", "$/unknown", "textDocument/didOpen", "initialized"):
        dispatching.raw({"jsonrpc": "2.0", "method": method, "params": {"x": 1}})
    dispatching.send(1, "daemon/status", {})
    assert (await dispatching.reply())["id"] == 1


async def test_lsp_lives_beside_ours(dispatching: Dispatching) -> None:
    initialize: dict[str, Any] = {"processId": None, "rootUri": None, "capabilities": {}}
    assert await dispatching.error(1, "textDocument/hover", {}) == (-32002, "notInitialized")
    dispatching.send(2, "initialize", initialize)
    dispatching.raw({"jsonrpc": "2.0", "method": "initialized", "params": {}})
    dispatching.send(3, "shutdown", {})
    assert (await dispatching.reply())["result"]["serverInfo"]["name"] == "resumed"
    assert await dispatching.reply() == {"jsonrpc": "2.0", "id": 3, "result": None}
    assert await dispatching.error(4, "daemon/status", {}) == (-32600, "invalidRequest")


async def test_a_batch_and_bad_json_are_answered_with_a_null_id(dispatching: Dispatching) -> None:
    dispatching.raw([{"jsonrpc": "2.0", "id": 1, "method": "daemon/status"}])
    dispatching.dispatcher.receive(b"{nonsense")
    replies = [await dispatching.reply() for _ in range(2)]
    assert [(reply["id"], reply["error"]["code"]) for reply in replies] == [(None, -32600), (None, -32700)]


async def test_finish_waits_for_what_runs(dispatching: Dispatching) -> None:
    dispatching.send(1, "thread/name/set", named("t", "a"))
    finishing = asyncio.ensure_future(dispatching.dispatcher.finish())
    await turn()
    assert not finishing.done()
    dispatching.order.release("a")
    await asyncio.wait_for(finishing, 10)


async def test_it_names_what_runs(dispatching: Dispatching) -> None:
    dispatching.send(1, "thread/name/set", named("t", "a"))
    assert dispatching.dispatcher.running == ("thread/name/set",)
    dispatching.order.release("a")
    await dispatching.reply()
    assert not dispatching.dispatcher.running


async def test_one_request_too_many_is_refused_and_another_taken_later(
    dispatching: Dispatching, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("resumed.daemon.rpc.inbound._MOST_REQUESTS", 1)
    dispatching.send(1, "thread/name/set", named("t", "a"))
    assert await dispatching.error(2, "thread/name/set", named("u", "b")) == (-32800, "requestCancelled")
    dispatching.raw({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": 1}})
    assert (await dispatching.reply())["id"] == 1
    await asyncio.wait_for(dispatching.dispatcher.room(), 10)
    dispatching.order.release("b")
    dispatching.send(3, "thread/name/set", named("u", "b"))
    assert (await dispatching.reply())["result"]["name"] == "b"
