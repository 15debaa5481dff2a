"""Folds a thread's events through every subsystem."""

from collections.abc import Iterable
from typing import Any

import msgspec

from resumed.restore.events.envelope import Event, Payload
from resumed.restore.subsystem import Subsystem


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a thread, as its session stream (or foreign file) says. `ended` is `None` while
    nothing recorded its end; `own` is false for a foreign file; `started` is false for a restored run
    that no agent has taken up."""

    session_id: str
    started_at: str
    reason: str
    own: bool
    ended: str | None = None
    started: bool = True


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """A thread as recorded: who it is, what state each subsystem folded, and what is damaged.

    `through` maps a stream to the last sequence number read. `degraded` maps a subsystem to why it
    may have lost events. `depends_on` names the foreign file that is the only copy.
    `open_turn`: a turn was open when the record ends; `last_turn` is the last one's id. `cut_off`: a
    restore of it has no end, since it was killed or is at work. `unlisted` are runs that only they
    themselves name as the thread's, since its own list has lost something."""

    thread_id: str
    name: str
    agent: str
    agent_version: str | None
    native_id: str | None
    forked_from: str | None
    created_at: str
    last_active_at: str
    runs: tuple[Run, ...]
    states: dict[str, Any]
    through: dict[str, int]
    events_read: int
    events_damaged: int = 0
    damage: tuple[str, ...] = ()
    degraded: dict[str, str] = {}
    depends_on: str | None = None
    open_turn: bool = False
    last_turn: str | None = None
    cut_off: bool = False
    unlisted: tuple[str, ...] = ()


class Fold:
    """Running states of a set of subsystems. Feed it events in order; read `states` at any time."""

    def __init__(self, subsystems: Iterable[Subsystem[Any]], states: dict[str, Any] | None = None) -> None:
        self.states: dict[str, Any] = {}
        self._handlers: dict[type[Payload], list[Subsystem[Any]]] = {}
        for subsystem in subsystems:
            known = states.get(subsystem.name) if states else None
            self.states[subsystem.name] = subsystem.initial() if known is None else known
            for payload_type in subsystem.handles:
                self._handlers.setdefault(payload_type, []).append(subsystem)

    def feed(self, event: Event) -> None:
        """Give one event to every subsystem that handles it."""
        for subsystem in self._handlers.get(type(event.payload), ()):
            self.states[subsystem.name] = subsystem.apply(self.states[subsystem.name], event)
