"""The streams of a thread's runs, written and killed as tests need them."""

import uuid
from pathlib import Path

from resumed.daemon.storage import disk
from resumed.daemon.storage.codec import checksum_of, encode_as
from resumed.daemon.storage.layout import Layout
from resumed.daemon.storage.segments import segment_path
from resumed.restore.events.session import AgentRef, SessionMeta
from tests.support.streams import THREAD_ID, TS, line, segment_line, wrapped

SESSION = "22222222-2222-4222-8222-222222222222"


def run_meta(session_id: str = SESSION, thread_id: str = THREAD_ID, version: int = 1) -> bytes:
    """The first line of a run's stream."""
    payload = SessionMeta(
        schema_version=version,
        thread_id=thread_id,
        session_id=session_id,
        agent=AgentRef(name="mender"),
        source="direct",
        cwd="/home/dev/shop",
        created_at=TS,
        reason="startup",
    )
    return encode_as(wrapped(payload, str(uuid.uuid4())), 1, TS)


def write_run(layout: Layout, *texts: str, session_id: str = SESSION) -> Path:
    """A run of two files: the first holds the beginning, the second the messages. Returns the first."""
    first = layout.session_path(session_id, TS)
    meta = run_meta(session_id)
    disk.make_folder(first.parent)
    first.write_bytes(meta)
    second = segment_line(2, 1, checksum_of(meta))
    second += b"".join(line(text, seq) for seq, text in enumerate(texts, 3))
    segment_path(first, 1).write_bytes(second)
    for path in (first, segment_path(first, 1)):
        path.chmod(disk.FILE_MODE)
    return first
