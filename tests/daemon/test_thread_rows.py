"""Rows as records tell them, and the file that is a thread's."""

import os
from pathlib import Path

import msgspec

from resumed.daemon import records, scanning, thread_rows
from resumed.daemon.agents.agent import ForeignHead
from resumed.daemon.storage.rows import FileCursor
from tests.support.codex import install_recording
from tests.support.parts import opened

THREAD = "01a22dbd-6721-7b02-8d3d-d77a010ed4f3"


def _cursor(path: str, time: int, archived: bool = False, thread: str = THREAD) -> FileCursor:
    head = ForeignHead(
        path=path, native_id=thread, thread_id=thread, name="", cwd="/x", branch=None, sha=None,
        origin=None, created_at="", last_active_at="", agent_version=None, state="idle", archived=archived,
    )  # fmt: skip
    return FileCursor(
        path=path, device=1, inode=1, size=1, mtime_ns=time, thread_id=thread,
        head=msgspec.msgpack.encode(head),
    )  # fmt: skip


def test_the_file_is_the_one_that_the_agent_would_take() -> None:
    old, new, archived = _cursor("/a", 1), _cursor("/b", 2), _cursor("/c", 3, archived=True)
    ours = msgspec.structs.replace(_cursor("/d", 9), head=b"")
    assert thread_rows.agents_file([old, archived, new, ours]) == new
    assert thread_rows.agents_file([archived, ours]) == archived
    assert thread_rows.agents_file([ours]) is None


async def test_a_row_keeps_what_only_the_file_said(tmp_path: Path) -> None:
    path = install_recording("v171_on_request_two_turns", Path(os.environ["CODEX_HOME"]))
    async with opened(tmp_path) as workspace:
        before = await workspace.threads.find(THREAD)
        source = await workspace.threads.source(THREAD)
        whole = await workspace.threads.built(THREAD)
        assert thread_rows.row_of_record(whole, source, None).source == str(path)
        path.unlink()
        lost = records.build(workspace.streams, source, None)
    row = thread_rows.row_of_record(lost, source, before)
    assert row == msgspec.structs.replace(before, damaged=True)
    nothing = msgspec.structs.replace(source, path=None, listed_at="")
    assert thread_rows.row_of_record(lost, nothing, None).source == scanning.OWN
