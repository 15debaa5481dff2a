"""Lifts payloads of older schema versions, one version at a time, when they are read.

A step is `(type, version it lifts from) -> function on the payload's fields`. It is never changed
once released: a later change is a further step. A stored line is never rewritten.
"""

from collections.abc import Callable, Mapping

from resumed.restore.events import SCHEMA_VERSION

Fields = dict[str, object]
Steps = Mapping[tuple[str, int], Callable[[Fields], Fields]]

STEPS: Steps = {}


def lift(type_name: str, fields: Fields, version: int, steps: Steps = STEPS) -> Fields:
    """Return a payload's fields as version `SCHEMA_VERSION` has them, given those of `version`."""
    for current in range(version, SCHEMA_VERSION):
        step = steps.get((type_name, current))
        if step is not None:
            fields = step(fields)
    return fields
