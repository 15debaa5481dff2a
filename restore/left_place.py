"""What counts of a restore that came to no run: the place that it made and that had to be left.

A folder that holds a person's work now is not taken back. Whoever resumes next is in it, so that it was
made and which edits it lacks stay on record: behind the end of the restore, which made no run.
"""

from collections.abc import Iterable

import msgspec

from resumed.restore.events import EVENT_TYPES
from resumed.restore.events.envelope import Event, Payload
from resumed.restore.events.journal import RestoreClosed
from resumed.restore.events.session import StateInvalidated, WorktreeBound
from resumed.restore.steps import RecordState, Step


def place_records(steps: Iterable[Step]) -> tuple[Payload, ...]:
    """What these steps would record of the place."""
    pairs = (pair for step in steps if isinstance(step.do, RecordState) for pair in step.do.events)
    return tuple(
        msgspec.convert(fields, EVENT_TYPES[name])
        for name, fields in pairs
        if name == "worktree_bound"
        or (name == "state_invalidated" and fields.get("subsystem") == "operations")
    )


def left_behind(events: list[Event]) -> list[Event]:
    """Of an aborted run's events those that count: that it began, and what is on record of the place
    behind the end of its restore. Empty if the restore left no place."""
    ends = (n for n, event in enumerate(events) if isinstance(event.payload, RestoreClosed))
    end = next(ends, len(events))
    recorded = [
        event for event in events[end:] if isinstance(event.payload, WorktreeBound | StateInvalidated)
    ]
    return [events[0], *recorded] if recorded else []
