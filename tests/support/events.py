"""Events for tests: envelopes that need no thought, and the law that every fold must keep."""

from collections.abc import Sequence
from typing import Any

import msgspec

from resumed.restore.events.envelope import Event, Payload, Source, SourceKind
from resumed.restore.events.session import AgentRef, SessionMeta
from resumed.restore.subsystem import Here, Subsystem, Target

NOW = "2026-11-30T18:04:00Z"
HERE = Here(root="/home/kim/shop", home="/home/kim", agent="codex")
TARGET = Target(here=HERE, recorded_root="/home/kim/shop", root="/home/kim/shop", cwd="/home/kim/shop")


def event(
    payload: Payload, *, turn: str | None = None, op: str | None = None, entry: str | None = None
) -> Event:
    """Wrap a payload; `turn`, `op` and `entry` become the envelope's `turn`, `op` and `id`."""
    return Event(
        payload=payload,
        event_id="00000000-0000-4000-8000-000000000000",
        src=Source(SourceKind.DIRECT, "test"),
        ts=NOW,
        turn=turn,
        op=op,
        id=entry,
    )


def session_meta(*, agent: AgentRef | None = None, model: str | None = None) -> SessionMeta:
    """The first line of a run."""
    return SessionMeta(
        schema_version=1,
        thread_id="11111111-1111-4111-8111-111111111111",
        session_id="22222222-2222-4222-8222-222222222222",
        agent=agent or AgentRef(name="codex"),
        source="cli",
        cwd="/home/kim/shop",
        created_at=NOW,
        reason="startup",
        model=model,
    )


def resume_meta() -> SessionMeta:
    """The first line of a run that a restore began."""
    session_id = "44444444-4444-4444-8444-444444444444"
    return msgspec.structs.replace(session_meta(), reason="resume", session_id=session_id)


def folded(subsystem: Subsystem[Any], events: Sequence[Event], state: Any = None) -> Any:
    """The state after these events, from `state` on or from the beginning."""
    state = subsystem.initial() if state is None else state
    for each in events:
        assert isinstance(each.payload, subsystem.handles)
        state = subsystem.apply(state, each)
    return state


def stored(subsystem: Subsystem[Any], state: Any) -> Any:
    """The state as it comes back from storage."""
    return msgspec.msgpack.decode(msgspec.msgpack.encode(state), type=subsystem.state_type)


def assert_stores_anywhere(subsystem: Subsystem[Any], events: Sequence[Event]) -> None:
    """Storing the state and taking it up again at any point changes nothing."""
    whole = folded(subsystem, events)
    for split in range(len(events) + 1):
        taken_up = stored(subsystem, folded(subsystem, events[:split]))
        assert folded(subsystem, events[split:], taken_up) == whole
