"""Ids are checked before they become the name of anything."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resumed.protocol.ids import InvalidId, parse_token, parse_uuid

UUID = "5973b6c0-52f1-4f0e-9a57-0c1d6a8f2b11"


@pytest.mark.parametrize("text", [UUID, UUID.upper(), f"  {UUID}\n", "00000000-0000-0000-0000-000000000000"])
def test_a_uuid_becomes_canonical(text: str) -> None:
    assert parse_uuid(text) == text.strip().lower()


@pytest.mark.parametrize(
    "text",
    ["", "x", UUID[:-1], UUID + "0", UUID.replace("-", ""), f"../{UUID}", f"{UUID}/..", "٥" + UUID[1:]],
)
def test_anything_else_is_no_uuid(text: str) -> None:
    with pytest.raises(InvalidId):
        parse_uuid(text)


@pytest.mark.parametrize("text", ["a", "call_1", "toolu_01ABC", "item.3:7-x", "a" * 200])
def test_a_token_is_taken_as_it_is(text: str) -> None:
    assert parse_token(text) == text


@pytest.mark.parametrize("text", ["", ".hidden", "-rf", "a/b", "a\\b", "a b", "a\n", "é", "a" * 201])
def test_anything_else_is_no_token(text: str) -> None:
    with pytest.raises(InvalidId):
        parse_token(text)


@given(st.text(max_size=60))
def test_what_is_taken_can_be_a_file_name(text: str) -> None:
    for parse in (parse_uuid, parse_token):
        try:
            name = parse(text)
        except InvalidId:
            continue
        assert name.isascii()
        assert not name.startswith((".", "-"))
        assert not set(name) & set("/\\\0 \n\r\t")
