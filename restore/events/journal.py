"""Events any stream may hold, and the journal that a restore keeps of itself."""

from typing import Any

from resumed.restore.events.envelope import Payload


class Segment(Payload):
    """First line of a continuing file: the file before it was sealed at this point."""

    schema_version: int
    n: int
    prev_seq: int
    prev_crc: str
    reason: str


class Note(Payload):
    """Something a reader must know. `kind`: torn_tail, damage, redaction_skipped, hook_failed."""

    kind: str
    details: dict[str, Any]


class RestorePlanned(Payload):
    """A restore is about to begin its steps. `steps` holds each step's verb with its undo."""

    restore_id: str
    through: dict[str, int]
    seen: dict[str, Any]
    drift: tuple[str, ...]
    steps: tuple[dict[str, Any], ...]


class RestoreAnswered(Payload):
    """A round was answered. `by`: the client's name, or unattended."""

    restore_id: str
    round: int
    token: str
    answers: dict[str, str]
    by: str


class RestoreStep(Payload):
    """A step of a restore: begun, done, failed, undoing (its undo may have been cut off) or undone."""

    restore_id: str
    n: int
    state: str
    evidence: dict[str, Any] = {}


class RestoreClosed(Payload):
    """A restore is over; `report` is the whole report as sent."""

    restore_id: str
    outcome: str
    report: dict[str, Any] = {}
    undoes: str | None = None
