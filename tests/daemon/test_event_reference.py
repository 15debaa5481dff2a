"""What an agent may append is described in full."""

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from resumed.daemon import event_reference
from resumed.daemon.permission_words import MODES
from resumed.daemon.submitted import SUBMITTED
from resumed.restore.events import EVENT_TYPES
from resumed.restore.permission_grant import APPROVALS, SANDBOXES


def test_every_field_of_every_event_is_there() -> None:
    described: dict[str, Any] = event_reference.schema()
    assert set(described["events"]) == set(SUBMITTED)
    for name, reference in described["events"].items():
        body = described["$defs"][reference["$ref"].removeprefix("#/$defs/")]
        assert list(body["properties"]) == [f.encode_name for f in msgspec.structs.fields(EVENT_TYPES[name])]


def test_every_link_and_section_leads_somewhere() -> None:
    text = event_reference.generated()["README.md"]
    sections = re.findall(r"^### (\w+)$", text, re.MULTILINE)
    assert sections[: len(SUBMITTED)] == sorted(SUBMITTED)
    assert set(re.findall(r"\(#(\w+)\)", text)) <= {section.lower() for section in sections}


def test_the_words_of_permissions_are_those_that_are_taken() -> None:
    text = event_reference.generated()["README.md"]
    for words in (APPROVALS, SANDBOXES, MODES):
        assert re.search(r",\s".join(words), text), words


def test_it_writes_both_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_reference, "FOLDER", tmp_path)
    event_reference.main()
    written = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert written == event_reference.generated()
    assert set(json.loads(written["schema.json"])["events"]) == set(SUBMITTED)
