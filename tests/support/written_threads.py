"""Threads of our own, each with one run, put on the disk as whole files."""

import uuid
from pathlib import Path

from resumed.daemon.storage.codec import encode_as
from resumed.daemon.storage.layout import Layout
from resumed.restore.events import SCHEMA_VERSION
from resumed.restore.events.session import AgentRef, EntryAdded, SessionMeta
from resumed.restore.events.thread import SessionLinked, ThreadMeta
from tests.support.streams import TS, wrapped


def write_thread(layout: Layout, thread_id: str, size: int) -> Path:
    """Write a conversation of about that many bytes; return the file of its run."""
    session_id = str(uuid.uuid4())
    meta = ThreadMeta(
        schema_version=SCHEMA_VERSION, thread_id=thread_id, agent="mender", storage_class="own", created_at=TS
    )
    run = SessionMeta(
        schema_version=SCHEMA_VERSION, thread_id=thread_id, session_id=session_id,
        agent=AgentRef(name="mender"), source="test", cwd="/nowhere/shop", created_at=TS, reason="startup",
    )  # fmt: skip
    thread = layout.thread_path(thread_id)
    session = layout.session_path(session_id, TS)
    for path in (thread, session):
        path.parent.mkdir(parents=True, exist_ok=True)
    linked = encode_as(wrapped(SessionLinked(session_id=session_id)), 2, TS)
    thread.write_bytes(encode_as(wrapped(meta), 1, TS) + linked)
    said = EntryAdded(kind="message", role="user", text="round down " * min(190, size // 50))
    with session.open("wb") as file:
        written, seq = file.write(encode_as(wrapped(run), 1, TS)), 1
        while written < size:
            seq += 1
            written += file.write(encode_as(wrapped(said), seq, TS))
    return session
