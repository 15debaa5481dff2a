import json
from typing import Any

import pytest

from resumed.daemon.rpc.messages import (
    Invalid,
    Notification,
    Request,
    Response,
    error_body,
    notification_body,
    read_error,
    read_message,
    request_body,
    result_body,
)
from resumed.protocol.errors import ErrorCode, Holder, ResumedError
from resumed.protocol.threads import NameSetResult


def read(message: Any) -> Any:
    """Read plain values as if they had come from the wire."""
    return read_message(json.dumps(message).encode())


@pytest.mark.parametrize("identifier", ["a", "", 0, 7, -1, 2**53])
def test_a_request(identifier: Any) -> None:
    message = read({"jsonrpc": "2.0", "id": identifier, "method": "m", "params": {"a": 1}})
    assert message == Request(identifier, "m", {"a": 1})


def test_params_may_be_left_out() -> None:
    assert read({"jsonrpc": "2.0", "id": 1, "method": "m"}) == Request(1, "m", {})
    assert read({"jsonrpc": "2.0", "id": 1, "method": "m", "params": None}) == Request(1, "m", {})
    assert read({"jsonrpc": "2.0", "method": "m"}) == Notification("m", {})


def test_params_are_left_as_they_came() -> None:
    nested = {"jsonrpc": "2.0", "id": 9, "class": {"file-path": [{"type_name": "a b"}]}}
    assert read({"jsonrpc": "2.0", "id": 1, "method": "m", "params": nested}).params == nested


def test_responses() -> None:
    assert read({"jsonrpc": "2.0", "id": "resumed:1", "result": None}) == Response("resumed:1", None, None)
    assert read({"jsonrpc": "2.0", "id": 1, "error": {"code": 1}}) == Response(1, None, {"code": 1})
    assert read({"jsonrpc": "2.0", "id": None, "error": {"code": 1}}) == Response(None, None, {"code": 1})


@pytest.mark.parametrize("body", [b"", b"{", b"nonsense", b"\xff\xfe", b"[" * 100_000])
def test_bytes_that_are_no_json(body: bytes) -> None:
    message = read_message(body)
    assert isinstance(message, Invalid)
    assert (message.id, message.error.code) == (None, ErrorCode.PARSE_ERROR)


@pytest.mark.parametrize(
    ("message", "identifier"),
    [
        ([], None),
        ([{"jsonrpc": "2.0", "id": 1, "method": "m"}], None),
        (3, None),
        (None, None),
        ({}, None),
        ({"id": 1, "method": "m"}, 1),
        ({"jsonrpc": "1.0", "id": "a", "method": "m"}, "a"),
        ({"jsonrpc": 2.0, "id": 1, "method": "m"}, 1),
        ({"jsonrpc": "2.0", "id": None, "method": "m"}, None),
        ({"jsonrpc": "2.0", "id": 1.5, "method": "m"}, None),
        ({"jsonrpc": "2.0", "id": True, "method": "m"}, None),
        ({"jsonrpc": "2.0", "id": [1], "method": "m"}, None),
        ({"jsonrpc": "2.0", "id": 10**30, "method": "m"}, None),
        ({"jsonrpc": "2.0", "id": 1, "method": 3}, 1),
        ({"jsonrpc": "2.0", "id": 1}, 1),
        ({"jsonrpc": "2.0", "id": 1, "result": 1, "error": {}}, 1),
        ({"jsonrpc": "2.0", "result": 1}, None),
    ],
)
def test_json_that_is_no_message(message: Any, identifier: Any) -> None:
    found = read(message)
    assert isinstance(found, Invalid)
    assert (found.id, found.error.code) == (identifier, ErrorCode.INVALID_REQUEST)


def test_bodies_are_read_back() -> None:
    assert read_message(request_body("a", "m", {"x": 1})) == Request("a", "m", {"x": 1})
    assert read_message(notification_body("m", {"x": 1})) == Notification("m", {"x": 1})
    result = NameSetResult(thread_id="t", name="n")
    assert read_message(result_body(1, result)) == Response(1, {"threadId": "t", "name": "n"}, None)


def test_an_error_holds_its_id_even_when_null() -> None:
    body = json.loads(error_body(None, ResumedError(ErrorCode.PARSE_ERROR, "No JSON.", "Send JSON.")))
    assert body == {
        "jsonrpc": "2.0",
        "id": None,
        "error": {
            "code": -32700,
            "message": "No JSON.",
            "data": {"kind": "parseError", "hint": "Send JSON."},
        },
    }


def test_an_error_is_rebuilt() -> None:
    holder = Holder(name="VS Code", pid=7, since="2026-01-01T00:00:00Z")
    error = ResumedError(
        ErrorCode.THREAD_BUSY, "Busy.", "Go.", holder=holder, ways=("attach",), candidates=("a",)
    )
    rebuilt = read_error(json.loads(error_body(1, error))["error"])
    assert (rebuilt.code, rebuilt.sentence, rebuilt.data) == (error.code, error.sentence, error.data)


@pytest.mark.parametrize(
    "error", [None, 3, {}, {"code": "x", "message": 3}, {"code": 99, "data": {"kind": 3}}]
)
def test_a_strange_error_is_an_internal_one(error: Any) -> None:
    assert read_error(error).code is ErrorCode.INTERNAL_ERROR
