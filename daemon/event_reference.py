"""From the events that an agent may append to their `schema.json` and `README.md`; run as a module it
writes both beside the events.

Both files are committed, and a test compares them with what this makes.
"""

import json
from pathlib import Path
from typing import Any

from resumed.daemon.submitted import SUBMITTED
from resumed.protocol.reference import definition
from resumed.protocol.schema import DIALECT, definitions
from resumed.restore import events
from resumed.restore.events import EVENT_TYPES, SCHEMA_VERSION

FOLDER = Path(events.__file__).parent
INTRODUCTION = """\
# Events that an agent may append

<!-- Generated from the events by `make schema`. Do not edit. -->

For people who write an agent: the `type` and the `payload` of
[`event/append`](../../protocol/README.md#eventappendparams). `schema.json` says the same for programs.
Names of fields are those of the stored event, in snake_case. A turn, an operation, a list of to-dos, the
begin and the end of a run have methods of their own. Secrets of known shapes are replaced in free text
before it is recorded, by their kind and a short keyed hash: `[masked github token 3f2a91c0]`.
"""


def schema() -> dict[str, Any]:
    """The payloads by the event's type, and what they name in `$defs`."""
    return {
        "$schema": DIALECT,
        "schemaVersion": SCHEMA_VERSION,
        "events": {name: {"$ref": f"#/$defs/{EVENT_TYPES[name].__name__}"} for name in sorted(SUBMITTED)},
        "$defs": definitions([EVENT_TYPES[name] for name in sorted(SUBMITTED)]),
    }


def generated() -> dict[str, str]:
    """The generated files' texts by file name, relative to the events' folder."""
    described = schema()
    types = dict(described["$defs"])
    payloads = {name: types.pop(EVENT_TYPES[name].__name__) for name in described["events"]}
    sections = [definition(name, body) for name, body in payloads.items()]
    sections += [definition(name, body) for name, body in types.items()]
    return {
        "schema.json": json.dumps(described, indent=2, ensure_ascii=False) + "\n",
        "README.md": INTRODUCTION + "".join(sections),
    }


def main() -> None:
    """Write the generated files beside the events."""
    for name, text in generated().items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
