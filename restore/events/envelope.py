"""The envelope that every event travels in, from any source."""

import enum
from typing import dataclass_transform

import msgspec


class SourceKind(enum.IntEnum):
    """Where an event comes from. For one fact the higher-ranked source wins, whatever came first."""

    ACP_REPLAY = 1
    ACP_LIVE = 2
    STORE = 3
    DIRECT = 4
    HOOK = 5
    OBSERVED = 6


class Source(msgspec.Struct, frozen=True, gc=False):
    """`ref` names the exact origin, for example `codex:<file>:<line>`."""

    kind: SourceKind
    ref: str


@dataclass_transform(frozen_default=True, kw_only_default=True)
class Payload(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Base of every event's own part. Field names are the stored names."""


class Unknown(Payload):
    """An event of a type this version does not know: kept, counted and passed over."""

    type: str
    fields: dict[str, object] = {}


class Event(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One thing that happened. `seq` and `ts` are set when it is written (a foreign event has the
    line's ordinal and its own time); `at` is when it happened; `turn`, `op`, `id` relate it to a
    turn, an operation and a conversation entry; `blobs` are the content hashes it needs."""

    payload: Payload
    event_id: str
    src: Source
    seq: int = 0
    ts: str = ""
    at: str | None = None
    turn: str | None = None
    op: str | None = None
    id: str | None = None
    parent_id: str | None = None
    after: dict[str, int] = {}
    blobs: tuple[str, ...] = ()
