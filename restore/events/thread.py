"""Events of a thread stream: what outlives any one run."""

from typing import Any

from resumed.restore.events.envelope import Payload


class ThreadMeta(Payload):
    """First line of a thread stream. `storage_class`: own or foreign."""

    schema_version: int
    thread_id: str
    agent: str
    storage_class: str
    created_at: str
    native_id: str | None = None


class SessionLinked(Payload):
    """A run belongs to this thread."""

    session_id: str
    resumed_from: str | None = None
    forked_from: str | None = None
    fork_entry: str | None = None
    native_id: str | None = None


class ThreadPatched(Payload):
    """Changed fields of the thread's row; only named fields change."""

    fields: dict[str, Any]


class BindingChanged(Payload):
    """A queue item, a route or a remembered choice."""

    kind: str
    key: str
    action: str
    value: Any = None
