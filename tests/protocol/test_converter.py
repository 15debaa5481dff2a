"""Bytes to values and back: strict about values, tolerant about unknown fields."""

import os

import pytest

from resumed.protocol.converter import Malformed, decode_json, to_json, to_plain, to_type
from resumed.protocol.daemon import ClientInfo, InitializeParams
from resumed.protocol.errors import ErrorCode, ErrorData
from resumed.protocol.restore import Answer, Answers, LaunchPlan, Status, SubsystemReport

PARAMS = {"protocolVersion": "1.0", "client": {"name": "test"}}


def test_names_are_camel_case_on_the_wire() -> None:
    params = InitializeParams(protocol_version="1.0", client=ClientInfo(name="test"))
    assert to_plain(params)["protocolVersion"] == "1.0"
    assert to_type(to_plain(params), InitializeParams) == params


def test_an_unknown_field_is_ignored() -> None:
    assert to_type({**PARAMS, "later": {"x": 1}}, InitializeParams) == to_type(PARAMS, InitializeParams)


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        "text",
        {},
        {"protocolVersion": 1, "client": {"name": "test"}},
        {"protocolVersion": "1.0", "client": {"name": "test", "pid": "4711"}},
        {"protocolVersion": "1.0", "client": {"name": "test", "env": {"A": 1}}},
        {"protocol_version": "1.0", "client": {"name": "test"}},
    ],
)
def test_a_wrong_type_is_malformed(value: object) -> None:
    with pytest.raises(Malformed):
        to_type(value, InitializeParams)


def test_malformed_says_where() -> None:
    with pytest.raises(Malformed, match=r"\$\.client\.pid"):
        to_type({"protocolVersion": "1.0", "client": {"name": "x", "pid": "1"}}, InitializeParams)


def test_an_unknown_enum_value_is_refused() -> None:
    row = {"name": "todos", "status": "splendid", "reason": "", "summary": ""}
    with pytest.raises(Malformed):
        to_type(row, SubsystemReport)
    assert to_type({**row, "status": "restored"}, SubsystemReport).status is Status.RESTORED


@pytest.mark.parametrize("body", [b"", b"{", b"{'a': 1}", b"\xff\xfe", b'{"a": NaN}', b'"\xed\xa0\x80"'])
def test_bytes_that_are_no_json_are_malformed(body: bytes) -> None:
    with pytest.raises(Malformed):
        decode_json(body)


def test_a_nested_value_survives_the_round_trip() -> None:
    answers = Answers(
        answers={"worktree.moved": Answer(choice="relink"), "permissions.neverAsk": Answer(choice="ask")}
    )
    assert to_type(decode_json(to_json(answers)), Answers) == answers


def test_error_data_leaves_out_what_it_has_not() -> None:
    data = ErrorData(kind=ErrorCode.DRAINING.kind, hint="Connect again.")
    assert decode_json(to_json(data)) == {"kind": "draining", "hint": "Connect again."}


def test_a_name_that_is_not_utf8_travels_and_comes_back() -> None:
    odd = os.fsdecode(b"caf\xe9")
    plan = LaunchPlan(argv=("codex", "-C", odd), folder=odd)
    body = to_json(plan)
    assert body.isascii()
    assert to_type(decode_json(body), LaunchPlan) == plan


def test_a_lone_surrogate_does_not_excuse_what_is_no_json() -> None:
    with pytest.raises(Malformed):
        decode_json(b'{"a":"\\ud800"')
