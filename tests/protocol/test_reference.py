"""The protocol's README names everything and its links lead somewhere."""

import re

from resumed.protocol.reference import reference
from resumed.protocol.schema import schema

DESCRIBED = schema()
TEXT = reference(DESCRIBED)


def test_everything_is_named() -> None:
    for method in DESCRIBED["methods"]:
        assert f"| `{method}` |" in TEXT
    for kind, code in DESCRIBED["errors"].items():
        assert f"| {code} | `{kind}` |" in TEXT
    for name, body in DESCRIBED["$defs"].items():
        section = TEXT.split(f"### {name}\n")[1].split("\n### ")[0]
        for word in [*body.get("properties", ()), *body.get("enum", ())]:
            assert f"`{word}`" in section


def test_links_lead_to_headings() -> None:
    headings = {heading.lower() for heading in re.findall(r"^### (\w+)$", TEXT, re.MULTILINE)}
    assert set(re.findall(r"\(#(\w+)\)", TEXT)) <= headings


def test_types_read_as_phrases() -> None:
    assert "| `answers` | map of string to [Answer](#answer) | default `{}` |" in TEXT
    assert "| `drifts` | list of [Drift](#drift) | required |" in TEXT
    assert "| `sessionId` | string or null | required |" in TEXT


def test_the_version_is_stated() -> None:
    assert f"version {DESCRIBED['protocolVersion']}\n" in TEXT
