"""What a client can do to a daemon, over the real socket of a real process: nothing but get an answer.

Every test ends with another client, connected all the time, still being served.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.wire import Daemon, Wire, running_daemon, wait_for

MIB = 1024 * 1024
INITIALIZE: dict[str, Any] = {"processId": None, "rootUri": None, "capabilities": {}}


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    """A daemon that still serves its first client after the test."""
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    with running_daemon(workspace) as found:
        with Wire(found.place.socket) as bystander:
            bystander.initialize()
            yield found
            if found.process.poll() is None:
                bystander.request("still", "daemon/status")
                assert "result" in answer_to(bystander, "still")
        assert "Traceback" not in found.log()


@pytest.fixture
def wire(daemon: Daemon) -> Iterator[Wire]:
    """An initialized client."""
    with Wire(daemon.place.socket) as found:
        found.initialize(restoreAsk=True)
        yield found


def answer_to(wire: Wire, identifier: str | int) -> dict[str, Any]:
    """The answer to a request; notifications before it are passed over."""
    while (message := wire.read()).get("id") != identifier:
        assert "method" in message
    return message


def code(reply: dict[str, Any]) -> tuple[Any, int]:
    """The id and the code of a refusal, whose data is always typed."""
    assert set(reply["error"]["data"]) >= {"kind", "hint"}
    return reply["id"], reply["error"]["code"]


def clients(wire: Wire) -> int:
    """How many clients the daemon counts."""
    return int(wire.call("count", "daemon/status")["result"]["clients"])


def test_a_client_that_quits(daemon: Daemon, wire: Wire) -> None:
    for _ in range(3):
        with Wire(daemon.place.socket) as quitter:
            quitter.initialize()
    Wire(daemon.place.socket).socket.close()
    wait_for(lambda: clients(wire) == 2)


@pytest.mark.parametrize(
    "part", [b"Conte", b"Content-Length: 100\r\n\r\n", b'Content-Length: 9\r\n\r\n{"a"', b'{"a"']
)
def test_a_client_that_dies_in_the_middle_of_a_frame(daemon: Daemon, wire: Wire, part: bytes) -> None:
    with Wire(daemon.place.socket) as dying:
        dying.initialize()
        dying.raw(part)
    wait_for(lambda: clients(wire) == 2)


def test_a_client_that_dies_while_an_answer_is_written(daemon: Daemon, wire: Wire) -> None:
    with Wire(daemon.place.socket) as dying:
        dying.initialize()
        for number in range(20):
            dying.request(number, "thread/name/set", {"threadId": f"{number}", "name": "big:1000000"})
    wait_for(lambda: clients(wire) == 2)


def test_a_client_that_dies_while_it_is_asked(daemon: Daemon, wire: Wire) -> None:
    with Wire(daemon.place.socket) as dying:
        dying.initialize(restoreAsk=True)
        dying.request(1, "turn/start", {"sessionId": "s", "message": "m"})
        assert dying.read()["method"] == "restore/ask"
    wait_for((daemon.workspace / "asked").exists)
    wait_for(lambda: clients(wire) == 2)
    assert (daemon.workspace / "asked").read_text() == "None"


def test_a_client_that_never_reads_notifications(daemon: Daemon, wire: Wire) -> None:
    with Wire(daemon.place.socket) as silent:
        silent.initialize()
        before = daemon.resident_bytes()
        wire.request("flood", "thread/name/set", {"threadId": "t", "name": "flood"})
        methods = []
        while (message := wire.read()).get("id") != "flood":
            methods.append(message["method"])
        assert set(methods) <= {"cost/updated", "resync"}
        assert daemon.resident_bytes() - before < 32 * MIB
        silent.request("late", "daemon/status")
        seen = []
        while (message := silent.read()).get("id") != "late":
            seen.append(message)
        resyncs = [message["params"]["dropped"] for message in seen if message["method"] == "resync"]
        kept = sum(message["method"] == "cost/updated" for message in seen)
        assert len(resyncs) == 1
        assert resyncs[0] + kept == 64 * 1024


def test_a_client_that_never_reads_its_answers(daemon: Daemon) -> None:
    with Wire(daemon.place.socket) as silent:
        silent.initialize()
        silent.socket.setblocking(False)
        before = daemon.resident_bytes()
        params = {"threadId": "t", "name": "big:100000"}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "thread/name/set", "params": params}) + "\n"
        sent = 0
        for number in range(20_000):
            try:
                sent += silent.socket.send(body.replace('"id": 1', f'"id": {number}').encode())
            except BlockingIOError:
                break
        else:
            pytest.fail("the daemon goes on reading requests whose answers nobody takes")
        with Wire(daemon.place.socket) as other:
            other.initialize()
            assert "result" in other.call(1, "thread/name/set", {"threadId": "u", "name": "n"})
        assert daemon.resident_bytes() - before < 400 * MIB


def test_a_client_that_sends_without_waiting_for_answers(daemon: Daemon) -> None:
    with Wire(daemon.place.socket) as hasty:
        hasty.initialize()
        before = daemon.resident_bytes()
        params = {"sessionId": "s", "operationId": "o", "tool": "finish", "args": {"text": "x" * (8 * MIB)}}
        for number in range(40):
            hasty.request(number, "operation/begin", params)
        refused = [code(hasty.read()) for _ in range(38)]
        assert refused == [(number, -32800) for number in range(2, 40)]
        assert daemon.resident_bytes() - before < 200 * MIB
        hasty.notify("$/cancelRequest", {"id": 1})
        assert code(hasty.read()) == (1, -32800)
        (daemon.workspace / "go").touch()
        assert "result" in answer_to(hasty, 0)
        assert "result" in hasty.call(1, "operation/begin", params)


def test_notifications_of_one_key_are_coalesced(daemon: Daemon, wire: Wire) -> None:
    with Wire(daemon.place.socket) as slow:
        slow.initialize()
        wire.request("go", "thread/name/set", {"threadId": "t", "name": "coalesce"})
        while wire.read().get("id") != "go":
            pass
        slow.request("end", "daemon/status")
        seen = []
        while (message := slow.read()).get("id") != "end":
            seen.append(message)
        assert seen[-1]["params"]["threadId"] == "19999"
        assert len(seen) < 20_000


@pytest.mark.parametrize(
    "garbage", [b"GET / HTTP/1.1\r\n\r\n", b"\x00\xff\n" * 9, b"Content-Length: x\r\n\r\n{}"]
)
def test_a_client_that_sends_garbage(daemon: Daemon, garbage: bytes) -> None:
    with Wire(daemon.place.socket) as wire:
        wire.raw(garbage)
        assert code(wire.read()) == (None, -32700)
        wire.socket.shutdown(1)
        assert wire.ends()


def test_bad_json_in_a_good_frame_is_answered_and_the_connection_lives(wire: Wire) -> None:
    for body in (b"", b"{nonsense", b"\xff", b"[" * 100_000):
        wire.raw(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        assert code(wire.read()) == (None, -32700)
    assert "result" in wire.call(1, "daemon/status")


def test_a_batch(wire: Wire) -> None:
    wire.message([{"jsonrpc": "2.0", "id": 1, "method": "daemon/status", "params": {}}])
    assert code(wire.read()) == (None, -32600)
    assert "result" in wire.call(1, "daemon/status")


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (3, (None, -32600)),
        ({"id": 1, "method": "daemon/status"}, (1, -32600)),
        ({"jsonrpc": "2.0", "id": 1.5, "method": "daemon/status"}, (None, -32600)),
        ({"jsonrpc": "2.0", "id": {}, "method": "daemon/status"}, (None, -32600)),
        ({"jsonrpc": "2.0", "id": 1, "method": ["daemon/status"]}, (1, -32600)),
        ({"jsonrpc": "2.0", "id": 1, "method": "thread/list", "params": {"limit": "3"}}, (1, -32602)),
        ({"jsonrpc": "2.0", "id": 1, "method": "thread/list", "params": [1]}, (1, -32602)),
        ({"jsonrpc": "2.0", "id": 1, "method": "thread/read"}, (1, -32602)),
        ({"jsonrpc": "2.0", "id": 1, "method": "thread/nonsense"}, (1, -32601)),
        ({"jsonrpc": "2.0", "id": "x", "method": ""}, ("x", -32601)),
    ],
)
def test_wrong_types_and_unknown_methods(wire: Wire, message: Any, expected: tuple[Any, int]) -> None:
    wire.message(message)
    assert code(wire.read()) == expected
    assert "result" in wire.call(2, "daemon/status")


@pytest.mark.parametrize("start", [b"Content-Length: %d\r\n\r\n" % (64 * MIB + 1), b"{"])
def test_a_frame_over_64_mib(daemon: Daemon, start: bytes) -> None:
    with Wire(daemon.place.socket) as wire:
        wire.raw(start)
        chunk = b" " * MIB
        for _ in range(65):
            wire.raw(chunk)
        assert code(wire.read() if start != b"{" else wire.read_line()) == (None, 1019)
        wire.socket.shutdown(1)
        assert wire.ends()


def test_a_frame_of_almost_64_mib(wire: Wire) -> None:
    params = {"sessionId": "s", "eventId": "e", "type": "note", "payload": {"x": "y" * (63 * MIB)}}
    assert wire.call(1, "event/append", params)["result"]["seq"] == 1


def test_headers_in_lower_case_and_without_spaces(wire: Wire) -> None:
    body = b'{"jsonrpc":"2.0","id":1,"method":"daemon/status"}'
    for headers in (b"content-length:%d\r\n\r\n", b"X: y\r\nCONTENT-LENGTH:  %d\r\nContent-Type:z\r\n\r\n"):
        wire.raw(headers % len(body) + body)
        assert wire.read()["id"] == 1


@pytest.mark.parametrize(
    "args",
    [
        {"jsonrpc": "2.0", "id": 3, "method": "initialize", "params": {}},
        {"recorded": [{"jsonrpc": "2.0", "id": 1, "result": {"jsonrpc": "1.0"}}]},
        {"class": 1, "file-path": {"0": 2, "": 3}, "_x": 4, "type_name": "not a name"},
    ],
)
def test_params_that_look_like_something_else_arrive_untouched(wire: Wire, args: dict[str, Any]) -> None:
    params = {"sessionId": "s", "operationId": "o", "tool": "t", "args": args}
    assert wire.call(1, "operation/begin", params)["result"]["result"] == repr(args)


def test_exit_of_one_client_leaves_the_others(daemon: Daemon, wire: Wire) -> None:
    with Wire(daemon.place.socket) as first, Wire(daemon.place.socket) as second:
        for editor in (first, second):
            assert "capabilities" in editor.call(1, "initialize", INITIALIZE)["result"]
            editor.notify("initialized")
        first.request(2, "shutdown")
        first.notify("exit")
        assert first.read() == {"jsonrpc": "2.0", "id": 2, "result": None}
        assert first.ends()
        assert second.call(2, "shutdown")["result"] is None
        with Wire(daemon.place.socket) as third:
            third.notify("exit")
            assert third.ends()
    wait_for(lambda: clients(wire) == 2)


def test_requests_before_initialize_and_after_shutdown(daemon: Daemon) -> None:
    with Wire(daemon.place.socket) as wire:
        for method in ("thread/list", "daemon/status", "textDocument/hover", "shutdown"):
            assert code(wire.call(1, method)) == (1, -32002)
        assert "result" in wire.call(2, "initialize", INITIALIZE)
        assert code(wire.call(3, "thread/list")) == (3, -32002)
        assert code(wire.call(4, "initialize", INITIALIZE)) == (4, -32600)
        assert wire.call(5, "shutdown")["result"] is None
        assert code(wire.call(6, "textDocument/hover")) == (6, -32600)


def test_wrong_lsp_params_are_answered(daemon: Daemon) -> None:
    with Wire(daemon.place.socket) as wire:
        assert code(wire.call(1, "initialize", {**INITIALIZE, "processId": "3"})) == (1, -32602)
        assert "result" in wire.call(2, "initialize", INITIALIZE)


def test_another_protocol_version(daemon: Daemon) -> None:
    with Wire(daemon.place.socket) as wire:
        params = {"protocolVersion": "99.0", "client": {"name": "newer"}, "later": True}
        reply = wire.call(1, "resumed/initialize", params)
        assert code(reply) == (1, 1001)
        assert reply["error"]["data"]["ways"] == ["daemon/drain"]
        assert "result" in wire.initialize()


def test_cancelling_a_request(daemon: Daemon, wire: Wire) -> None:
    wire.request("x", "thread/read", {"thread": "long"})
    wait_for((daemon.workspace / "waiting-long").exists)
    wire.notify("$/cancelRequest", {"id": "x"})
    assert code(wire.read()) == ("x", -32800)
    wire.request("y", "thread/read", {"thread": "never begun"})
    wire.notify("$/cancelRequest", {"id": "y"})
    assert code(wire.read()) == ("y", -32800)


def test_a_failing_handler_gives_nothing_away(daemon: Daemon, wire: Wire) -> None:
    reply = wire.call(1, "thread/read", {"thread": "bug"})
    assert code(reply) == (1, -32603)
    assert str(daemon.workspace) not in json.dumps(reply)
    assert "File" not in json.dumps(reply)
    daemon.place.log.write_text("")


def test_200_pipelined_requests_are_answered_once_each(wire: Wire) -> None:
    for number in range(200):
        params = {"sessionId": f"s{number % 2}", "eventId": f"{number}", "type": "note", "payload": {}}
        wire.request(number, "event/append", params)
    replies = [wire.read() for _ in range(200)]
    assert sorted(reply["id"] for reply in replies) == list(range(200))
    assert not any(reply["result"]["repeated"] for reply in replies)
    for parity in (0, 1):
        mine = [reply for reply in replies if reply["id"] % 2 == parity]
        assert [reply["id"] for reply in mine] == list(range(parity, 200, 2))
        assert [reply["result"]["seq"] for reply in mine] == sorted(reply["result"]["seq"] for reply in mine)


def test_one_json_per_line(daemon: Daemon) -> None:
    with Wire(daemon.place.socket) as wire:
        hello = {"protocolVersion": "1.0", "client": {"name": "agent"}}
        lines = [
            {"jsonrpc": "2.0", "id": 1, "method": "resumed/initialize", "params": hello},
            {"jsonrpc": "2.0", "id": 2, "method": "daemon/status"},
        ]
        wire.raw("".join(json.dumps(line) + "\r\n" for line in lines).encode())
        assert [wire.read_line()["id"] for _ in lines] == [1, 2]
        wire.raw(b"{nonsense\n")
        assert code(wire.read_line()) == (None, -32700)
        wire.raw(b"[]\n")
        assert code(wire.read_line()) == (None, -32600)


def test_two_clients_at_once_get_their_own_answers(daemon: Daemon, wire: Wire) -> None:
    with Wire(daemon.place.socket) as other:
        other.initialize()
        for number in range(50):
            wire.request(number, "thread/name/set", {"threadId": "t", "name": f"mine {number}"})
            other.request(number, "thread/name/set", {"threadId": "t", "name": f"other {number}"})
        for number in range(50):
            for client, name in ((wire, f"mine {number}"), (other, f"other {number}")):
                reply = client.read()
                assert (reply["id"], reply["result"]["name"]) == (number, name)


def test_a_client_that_closes_its_half_still_gets_its_answers(daemon: Daemon) -> None:
    with Wire(daemon.place.socket) as wire:
        wire.initialize()
        wire.request(1, "thread/name/set", {"threadId": "t", "name": "big:1000000"})
        wire.socket.shutdown(1)
        assert len(wire.read()["result"]["name"]) == 1_000_000
        assert wire.ends()


def test_a_stopping_daemon_answers_what_it_has_taken(daemon: Daemon, wire: Wire) -> None:
    params = {"sessionId": "s", "operationId": "o", "tool": "finish"}
    wire.request("runs", "operation/begin", params)
    wait_for((daemon.workspace / "begun").exists)
    daemon.process.terminate()
    (daemon.workspace / "go").touch()
    assert wire.read()["id"] == "runs"
    assert wire.ends()
    assert daemon.process.wait(30) == 0
