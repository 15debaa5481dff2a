"""From the method table to `schema.json` and `README.md`; run as a module it writes both.

Both files are committed, and a test compares them with what this makes: change `methods.py` or a
wire type, then run `make schema`.
"""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from resumed.protocol.daemon import PROTOCOL_VERSION
from resumed.protocol.errors import ErrorCode, ErrorData
from resumed.protocol.methods import METHODS, Method
from resumed.protocol.reference import reference

FOLDER = Path(__file__).parent
DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schema() -> dict[str, Any]:
    """The whole protocol as JSON Schema: methods by name, error codes by kind, types in `$defs`."""
    types: list[type[msgspec.Struct]] = [ErrorData]
    types += [t for m in METHODS for t in (m.params, m.result) if t is not None]
    return {
        "$schema": DIALECT,
        "protocolVersion": PROTOCOL_VERSION,
        "methods": {method.name: _row(method) for method in METHODS},
        "errors": {code.kind: code.value for code in ErrorCode},
        "$defs": definitions(types),
    }


def definitions(types: Sequence[type[msgspec.Struct]]) -> dict[str, Any]:
    """JSON Schema of these and of all that they name, by name in order, with their docstrings."""
    _, components = msgspec.json.schema_components(
        types, schema_hook=_open_schema, ref_template="#/$defs/{name}"
    )
    fields = {field for component in components.values() for field in component.get("properties", ())}
    return {name: _described(components[name], fields) for name in sorted(components)}


def generated() -> dict[str, str]:
    """The generated files' texts by file name, relative to this folder."""
    described = schema()
    return {
        "schema.json": json.dumps(described, indent=2, ensure_ascii=False) + "\n",
        "README.md": reference(described),
    }


def main() -> None:
    """Write the generated files beside this module."""
    for name, text in generated().items():
        (FOLDER / name).write_text(text, encoding="utf-8")


def _row(method: Method) -> dict[str, Any]:
    return {
        "purpose": method.purpose,
        "direction": method.direction.value,
        "serializedOn": method.serialized_on and _on_the_wire(method.serialized_on),
        "params": _reference_to(method.params),
        "result": method.result and _reference_to(method.result),
    }


def _reference_to(wire_type: type[msgspec.Struct]) -> dict[str, str]:
    return {"$ref": f"#/$defs/{wire_type.__name__}"}


def _on_the_wire(field: str) -> str:
    head, *tail = field.split("_")
    return head + "".join(word.capitalize() for word in tail)


def _described(component: dict[str, Any], fields: set[str]) -> dict[str, Any]:
    """The component with its docstring in the words of the wire: `threadId` and `null`."""
    if "description" not in component:
        return component

    def on_the_wire(name: re.Match[str]) -> str:
        field = _on_the_wire(name.group(1))
        return f"`{field}`" if field in fields else name.group(0)

    text = re.sub(r"`([a-z]+(?:_[a-z]+)+)`", on_the_wire, component["description"])
    return {**component, "description": text.replace("`None`", "`null`")}


def _open_schema(_: type) -> dict[str, Any]:
    """`object` in a wire type stands for whatever JSON another program defines."""
    return {"description": "any JSON value"}


if __name__ == "__main__":
    main()
