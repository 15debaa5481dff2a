"""From the table to JSON Schema."""

import json
from pathlib import Path
from typing import Any

import pytest

from resumed.protocol.errors import ErrorCode
from resumed.protocol.methods import METHODS
from resumed.protocol.schema import FOLDER, generated, main, schema


def references(value: Any) -> set[str]:
    """Every `$ref` anywhere inside."""
    if isinstance(value, dict):
        own = {value["$ref"]} if "$ref" in value else set()
        return own.union(*(references(item) for item in value.values()))
    if isinstance(value, list):
        return set().union(*(references(item) for item in value))
    return set()


def test_every_method_and_error_is_there() -> None:
    described = schema()
    assert list(described["methods"]) == [method.name for method in METHODS]
    assert described["errors"] == {code.kind: code.value for code in ErrorCode}


def test_every_reference_leads_somewhere() -> None:
    described = schema()
    alone = {"#/$defs/ErrorData"}
    assert references(described) | alone == {f"#/$defs/{name}" for name in described["$defs"]}


def test_the_queue_is_named_as_on_the_wire() -> None:
    described = schema()
    assert described["methods"]["turn/start"]["serializedOn"] == "sessionId"
    assert "sessionId" in described["$defs"]["TurnStartParams"]["properties"]
    assert described["methods"]["thread/list"]["serializedOn"] is None


def test_descriptions_speak_of_the_wire() -> None:
    descriptions = {name: body.get("description", "") for name, body in schema()["$defs"].items()}
    assert "`sessionId`" in descriptions["SessionStartParams"]
    assert "`usage_recorded`" in descriptions["EventAppendParams"], "an event's type is no field"
    assert not [name for name, text in descriptions.items() if "`None`" in text]


def test_required_and_default_follow_the_types() -> None:
    listing = schema()["$defs"]["ThreadListParams"]
    assert listing["required"] == []
    assert listing["properties"]["limit"] == {"type": "integer", "default": 50}


def test_main_writes_what_is_generated(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("resumed.protocol.schema.FOLDER", tmp_path)
    main()
    assert {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()} == generated()
    assert (
        json.loads((tmp_path / "schema.json").read_text(encoding="utf-8"))["methods"] == schema()["methods"]
    )
    assert FOLDER.name == "protocol"
