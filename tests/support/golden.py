"""Text archives of what the daemon said: an intent on top, then named sections, all readable.

Values are written with their wire names, empty ones left out; what differs from run to run (folders,
ids, times, tokens) is replaced by a placeholder. What was written before is not written again.
"""

import json
import re
from collections.abc import Iterator
from difflib import unified_diff
from pathlib import Path
from typing import Any

import msgspec

ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)")
TOKEN = re.compile(r'"token":"[^"]+"')
OFFSET = re.compile(r'("foreign:[^"]+"):\d+')
EMPTY: tuple[object, ...] = (None, "", [], {})
WIDTH = 110


class Golden:
    """One archive at `path`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._sections: list[str] = []
        self._written: dict[str, object] = {}

    def add(self, name: str, value: object, home: Path) -> None:
        """Write one section. `home` becomes `<home>`, and what lies beside it `<base>`."""
        text = msgspec.json.encode(value).decode()
        text = text.replace(str(home), "<home>").replace(str(home.parent), "<base>")
        text = TOKEN.sub('"token":"<token>"', TIME.sub("<time>", ID.sub("<id>", text)))
        text = OFFSET.sub(r'\1:"<bytes>"', text)
        self._sections.append(f"-- {name} --\n" + "\n".join(self._lines(json.loads(text), 0)) + "\n")

    def compare(self, update: bool) -> None:
        """Fail when the archive says something else; with `update`, write it anew under its intent."""
        before = self.path.read_text(encoding="utf-8") if self.path.exists() else ""
        intent, _, recorded = before.partition("\n-- ")
        assert intent.strip(), f"{self.path} must begin with what it is about"
        sections = "\n".join(self._sections)
        if update:
            self.path.write_text(f"{intent.strip()}\n\n{sections}", encoding="utf-8")
            return
        differing = unified_diff(f"-- {recorded}".splitlines(), sections.splitlines(), "recorded", "now", n=2)
        difference = "\n".join(differing)
        assert not difference, f"{self.path.name} says something else; --update writes it anew\n{difference}"

    def _lines(self, value: Any, depth: int) -> Iterator[str]:
        pad = "  " * depth
        if isinstance(value, dict):
            for key, inner in value.items():
                if inner in EMPTY:
                    continue
                if isinstance(inner, dict) and "holds" in inner and self._was_written(key, inner):
                    yield f"{pad}{key}: as above"
                else:
                    yield from self._labelled(f"{pad}{key}:", inner, depth)
        elif isinstance(value, list):
            for inner in value:
                yield from self._item(inner, depth)
        else:
            yield f"{pad}{value}"

    def _labelled(self, label: str, value: Any, depth: int) -> Iterator[str]:
        if isinstance(value, dict | list):
            yield label
            yield from self._lines(value, depth + 1)
        elif isinstance(value, str) and "\n" in value:
            yield label
            yield from (f"{'  ' * (depth + 1)}| {line}" for line in value.splitlines())
        else:
            yield f"{label} {'yes' if value is True else 'no' if value is False else value}"

    def _item(self, value: Any, depth: int) -> Iterator[str]:
        pad = "  " * depth
        if isinstance(value, dict) and ("severity" in value or "status" in value):
            name = str(value.get("id") or value.get("name"))
            if self._was_written(name, value):
                yield f"{pad}- {name}, as above"
                return
        lines = list(self._lines(value, depth + 1)) or [""]
        on_one = "; ".join(line.strip() for line in lines)
        if len(on_one) < WIDTH and not any(line.endswith(":") or "| " in line for line in lines):
            lines = [on_one]
        yield f"{pad}- {lines[0].strip()}"
        yield from lines[1:]

    def _was_written(self, name: str, value: object) -> bool:
        before = self._written.get(name)
        self._written[name] = value
        return before == value
