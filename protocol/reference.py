"""Renders the protocol's README from its schema, for people who write a client.

Everything but the introduction comes from the table and the wire types: correct them, not the README.
"""

import json
from typing import Any

from resumed.protocol.examples import exchange, later

INTRODUCTION = """\
# The protocol of `resumed`, version {version}

<!-- Generated from methods.py and the wire types by `make schema`. Do not edit. -->

For people who write a client: an editor's extension, an agent, a script.
`schema.json` says the same for programs.

## Connecting

`resumed connect --stdio` finds the daemon of the current folder's worktree, or starts it, and bridges it to
standard input and output. It speaks [JSON-RPC 2.0](https://www.jsonrpc.org/specification).

- **Framing** as in LSP: `Content-Length: <bytes>`, a blank line, then that many bytes of UTF-8 JSON. Names of
  headers may be in any case. A client may instead send one JSON text per line, and is then answered so. A
  message is at most 64 MiB: a larger one gets `frameTooLarge`, then the connection closes. Batches are
  refused with `invalidRequest`.
- **First message**: `resumed/initialize`. Until it is answered every other method but `daemon/drain` gets
  `notInitialized`. LSP's own methods begin with LSP's `initialize`, which is apart from ours.
- **Versions**: `protocolVersion` is `major.minor`. Another major gets `protocolMismatch`, and nothing else
  works. Within a major only fields and methods are added: ignore fields that you do not know, and look into
  `methods` before you use one that came later. A client of a newer major finds `daemon/drain` among the
  error's `ways`: it may send that, and start its own daemon once this one is gone.
- **Values**: names are in camelCase, ids are strings, times are RFC 3339 in UTC, absolute paths are of the
  machine where the daemon runs. Optional fields may be left out. Numbers are not taken from strings.
- **Order**: calls that share the value of the field under "one at a time per" run one after the other, all
  others at the same time. An answer to a write means that it is durable. `$/cancelRequest` with the `id`
  of a request cancels it; it is answered with `requestCancelled`.

## Resume, worked through

`→` is the client, `←` the daemon. Long values are shortened.

"""

AFTER_EXCHANGE = """
A client that did not declare `restoreAsk` is not asked: the call is answered at once with the outcome
`needsAnswer` and the same `question` inside. It calls again with the answers and the question's token. If
the facts have changed in between, nothing is done and the new question comes back.

"""


def reference(schema: dict[str, Any]) -> str:
    """The README's text for a schema as `schema.schema()` makes it."""
    parts = [
        INTRODUCTION.format(version=schema["protocolVersion"]),
        "".join(f"```jsonc\n// {who}\n{_json(message)}\n```\n" for who, message in exchange()),
        AFTER_EXCHANGE,
        f"```jsonc\n// →\n{_json(later())}\n```\n",
        *_methods(schema, "Requests", "client request"),
        *_methods(schema, "Questions from the daemon", "daemon request"),
        *_methods(schema, "Notifications from the daemon", "daemon notification"),
        *_errors(schema),
        "\n## Types\n",
        *(definition(name, body) for name, body in schema["$defs"].items()),
    ]
    return "".join(parts)


def _methods(schema: dict[str, Any], title: str, direction: str) -> list[str]:
    rows = [
        "\n",
        f"## {title}\n\n",
        "| method | params | result | one at a time per | purpose |\n",
        "|---|---|---|---|---|\n",
    ]
    for name, row in schema["methods"].items():
        if row["direction"] == direction:
            result = _type(row["result"]) if row["result"] else "-"
            queue = f"`{row['serializedOn']}`" if row["serializedOn"] else "-"
            rows.append(f"| `{name}` | {_type(row['params'])} | {result} | {queue} | {row['purpose']} |\n")
    return rows


def _errors(schema: dict[str, Any]) -> list[str]:
    rows = [
        "\n## Errors\n\n",
        "An error's `message` is one sentence for people; its `data` is [ErrorData](#errordata), with ",
        "the `kind` to match on and a hint what to do next.\n\n| code | kind |\n|---|---|\n",
    ]
    return rows + [f"| {code} | `{kind}` |\n" for kind, code in schema["errors"].items()]


def definition(name: str, body: dict[str, Any]) -> str:
    """One type as a section: its description, its words or its fields."""
    text = f"\n### {name}\n\n{body.get('description', '')}\n"
    if "enum" in body:
        return text + "\nOne of: " + ", ".join(f"`{value}`" for value in body["enum"]) + ".\n"
    if not body["properties"]:
        return text
    rows = ["\n| field | type | |\n|---|---|---|\n"]
    for field, kind in body["properties"].items():
        need = "required" if field in body["required"] else f"default `{json.dumps(kind.get('default'))}`"
        rows.append(f"| `{field}` | {_type(kind)} | {need} |\n")
    return text + "".join(rows)


def _type(kind: dict[str, Any]) -> str:
    """A schema as a phrase, for example `list of Drift`; types of ours are links."""
    if "$ref" in kind:
        name = kind["$ref"].rsplit("/", 1)[1]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in kind:
        return " or ".join(_type(option) for option in kind["anyOf"])
    match kind.get("type"):
        case "array":
            return f"list of {_type(kind['items'])}"
        case "object":
            return f"map of string to {_type(kind.get('additionalProperties', {}))}"
        case None:
            return "any JSON value"
        case name:
            return str(name)


def _json(message: dict[str, Any]) -> str:
    return json.dumps(message, indent=2, ensure_ascii=False)
