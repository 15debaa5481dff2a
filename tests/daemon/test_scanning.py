"""What is looked into again, and what is not."""

import os
from pathlib import Path

from resumed.daemon.agents.codex.adapter import codex_agent
from resumed.daemon.runtime import state_folder
from resumed.daemon.scanning import Scan, head_of, scan
from resumed.daemon.storage.layout import Layout
from resumed.daemon.storage.rows import FileCursor
from tests.support.codex import install_recording

THREAD = "01a22dbd-6721-7b02-8d3d-d77a010ed4f3"


def _scan(known: dict[str, FileCursor]) -> Scan:
    return scan(Layout.open(state_folder()), [codex_agent(os.environ)], known)


def _known(found: Scan) -> dict[str, FileCursor]:
    return {cursor.path: cursor for cursor in found.cursors}


def _rollout() -> Path:
    return install_recording("v171_on_request_two_turns", Path(os.environ["CODEX_HOME"]))


def test_a_new_file_becomes_a_row_and_a_cursor_that_remembers_its_head() -> None:
    path = _rollout()
    found = _scan({})
    (row,), (cursor,) = found.rows, found.cursors
    assert (row.thread_id, row.agent, row.root, row.source) == (THREAD, "codex", "/home/dev/repo", str(path))
    head = head_of(cursor)
    assert head is not None
    assert head.thread_id == THREAD


def test_an_unchanged_file_is_not_looked_into() -> None:
    _rollout()
    known = _known(_scan({}))
    again = _scan(known)
    assert (again.rows, again.cursors, again.gone) == ([], [], [])


def test_a_grown_file_is() -> None:
    path = _rollout()
    known = _known(_scan({}))
    with path.open("ab") as rollout:
        rollout.write(b'{"timestamp":"2026-12-01T00:00:00.000Z","type":"event_msg","payload":{}}\n')
    assert [row.thread_id for row in _scan(known).rows] == [THREAD]


def test_a_file_that_is_gone_is_told_and_an_agents_one_without_alarm() -> None:
    path = _rollout()
    known = _known(_scan({}))
    path.unlink()
    found = _scan(known)
    assert [cursor.path for cursor in found.gone] == [str(path)]
    assert found.notes == []


def test_a_stream_of_ours_that_shrinks_is_told() -> None:
    layout = Layout.open(state_folder())
    stream = layout.thread_path(THREAD)
    stream.parent.mkdir(parents=True, exist_ok=True)
    stream.write_bytes(b'{"payload":{"thread_id":"' + THREAD.encode() + b'"}}\n')
    known = _known(_scan({}))
    assert [cursor.thread_id for cursor in known.values()] == [THREAD]
    stream.write_bytes(b"{}\n")
    found = _scan(known)
    assert found.changed_threads == {THREAD}
    assert any("shorter than it was" in note for note in found.notes)
    stream.unlink()
    assert any("is gone" in note for note in _scan(known).notes)
