"""Records a thread of a direct agent into real streams, as its daemon would."""

import uuid

from resumed.daemon.ports.clock import SystemClock
from resumed.daemon.runtime import state_folder
from resumed.daemon.storage.layout import Layout
from resumed.daemon.storage.streams import Streams
from resumed.restore.events.envelope import Event, Payload, Source, SourceKind
from resumed.restore.events.session import AgentRef, SessionMeta
from resumed.restore.events.thread import SessionLinked, ThreadMeta

THREAD = "11111111-1111-4111-8111-111111111111"


def event_of(payload: Payload, at: str | None = None) -> Event:
    """An event of a test."""
    return Event(payload=payload, event_id=str(uuid.uuid4()), src=Source(SourceKind.DIRECT, "test"), at=at)


def meta_of(session_id: str, reason: str = "startup") -> SessionMeta:
    """The first line of a run of the thread."""
    return SessionMeta(
        schema_version=1, thread_id=THREAD, session_id=session_id, agent=AgentRef(name="mine"),
        source="direct", cwd="/somewhere", created_at="2026-11-30T10:00:00.000Z", reason=reason,
    )  # fmt: skip


async def begin_thread(streams: Streams) -> None:
    """Begin the thread, without a run."""
    meta = ThreadMeta(
        schema_version=1, thread_id=THREAD, agent="mine", storage_class="own",
        created_at="2026-11-30T10:00:00.000Z",
    )  # fmt: skip
    await streams.create(f"thread:{THREAD}", event_of(meta))


async def begin_run(streams: Streams, *payloads: Payload, reason: str = "startup") -> str:
    """Record a run of the thread with these events; returns its id."""
    session_id = str(uuid.uuid4())
    await streams.create(f"session:{session_id}", event_of(meta_of(session_id, reason)))
    await streams.append(f"thread:{THREAD}", event_of(SessionLinked(session_id=session_id)))
    if payloads:
        await streams.append(f"session:{session_id}", *map(event_of, payloads))
    return session_id


def open_streams() -> Streams:
    """The streams of the state folder, as another process would open them."""
    return Streams(Layout.open(state_folder()), SystemClock().now)
