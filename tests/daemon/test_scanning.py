"""What is looked into again, and what is not."""

import os
from pathlib import Path

import msgspec
import pytest

from resumed.daemon.agents.codex.adapter import codex_agent
from resumed.daemon.agents.codex.store import CodexStore
from resumed.daemon.runtime import state_folder
from resumed.daemon.scanning import Scan, damage_notes, head_of, scan
from resumed.daemon.storage.codec import encode_as
from resumed.daemon.storage.layout import Layout
from resumed.daemon.storage.rows import FileCursor
from resumed.restore.events.session import SessionEnded
from tests.support.codex import install_recording
from tests.support.events import event, session_meta
from tests.support.odd_files import put_something_odd
from tests.support.streams import TS, note_line, segment_line

THREAD = "01a22dbd-6721-7b02-8d3d-d77a010ed4f3"


def _scan(known: dict[str, FileCursor]) -> Scan:
    return scan(Layout.open(state_folder()), [codex_agent(os.environ)], known)


def _known(found: Scan) -> dict[str, FileCursor]:
    own = (cursor for cursors in found.own_cursors.values() for cursor in cursors)
    return {cursor.path: cursor for cursor in (*found.cursors, *own)}


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
    assert found.own_cursors.keys() == {THREAD}
    assert any("shorter than it was" in note for note in found.notes)
    stream.unlink()
    assert any("is gone" in note for note in _scan(known).notes)


def test_a_run_that_names_no_thread_any_more_is_told_but_not_a_start_that_was_cut_off() -> None:
    layout = Layout.open(state_folder())
    meta = session_meta()
    run = layout.session_path(meta.session_id, meta.created_at)
    run.parent.mkdir(parents=True)
    run.write_bytes(encode_as(event(meta), 1, TS)[:20])
    assert _scan({}).notes_now == []
    ended = encode_as(event(SessionEnded(reason="exit", clean=True)), 2, TS)
    run.write_bytes(b"garbage\n" + ended)
    (note,) = _scan({}).notes_now
    assert note == f"{run.name} is of no conversation that can be told: its first line is damaged."


def test_a_file_that_cannot_be_read_keeps_what_it_said_and_is_looked_into_again() -> None:
    path = _rollout()
    (before,) = _scan({}).rows
    known = _known(_scan({}))
    aside = path.rename(path.with_suffix(".aside"))
    path.mkdir()
    found = _scan(known)
    (row,) = found.rows
    assert row.damaged
    assert (row.name, row.root, row.branch, row.last_active_at) == (
        before.name, before.root, before.branch, before.last_active_at,
    )  # fmt: skip
    (note,) = damage_notes(found.cursors).values()
    assert "cannot be read: Is a directory" in note
    assert before.name in note
    (again,) = _scan(_known(found)).rows
    assert again == row
    path.rmdir()
    aside.rename(path)
    (mended,) = _scan(_known(found)).rows
    assert mended == before


def test_a_new_file_that_cannot_be_read_is_listed_by_its_name_beside_others() -> None:
    path = _rollout()
    compressed = path.with_name(path.name.replace(THREAD, "01a22dbd-6721-7b02-8d3d-d77a010ed4f4") + ".zst")
    compressed.write_bytes(b"garbage")
    rows = {row.thread_id: row for row in _scan({}).rows}
    assert {thread: row.damaged for thread, row in rows.items()} == {
        THREAD: False,
        "01a22dbd-6721-7b02-8d3d-d77a010ed4f4": True,
    }


@pytest.mark.parametrize("suffix", ["", ".zst"])
@pytest.mark.parametrize("kind", ["pipe", "socket", "link to a device", "folder"])
def test_what_is_no_file_is_passed_over_while_it_is_there(kind: str, suffix: str) -> None:
    path = _rollout()
    odd = path.with_name(path.name.replace(THREAD, "01a22dbd-6721-7b02-8d3d-d77a010ed4f4") + suffix)
    put_something_odd(odd, kind)
    found = _scan({})
    assert [row.source for row in found.rows] == [str(path)]
    (note,) = found.notes_now
    assert note == f"{odd.name} among the sessions of codex is no regular file; it was passed over."
    assert found.notes == []
    odd.rmdir() if kind == "folder" else odd.unlink()
    assert _scan(_known(found)).notes_now == []


def test_a_file_that_became_a_pipe_keeps_what_it_said() -> None:
    path = _rollout()
    known = _known(_scan({}))
    path.unlink()
    put_something_odd(path, "pipe")
    found = _scan(known)
    (row,) = found.rows
    assert (row.thread_id, row.damaged) == (THREAD, True)
    (note,) = damage_notes(found.cursors).values()
    assert "it is no regular file" in note


def test_a_reader_that_fails_hides_no_other_file(monkeypatch: pytest.MonkeyPatch) -> None:
    path = _rollout()
    other = install_recording("v171_read_only", Path(os.environ["CODEX_HOME"]))
    original = CodexStore.head

    def failing(self: CodexStore, asked: Path) -> object:
        if asked == other:
            raise OverflowError("year 60000 is out of range")
        return original(self, asked)

    monkeypatch.setattr(CodexStore, "head", failing)
    found = _scan({})
    assert [row.source for row in found.rows] == [str(path)]
    assert found.notes == ["A session file of codex could not be read and is not listed."]


def test_a_file_behind_a_closed_folder_is_not_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    path = _rollout()
    known = _known(_scan({}))
    monkeypatch.setattr(CodexStore, "files", lambda self: iter(()))
    original = Path.lstat

    def closed(self: Path) -> os.stat_result:
        if self == path:
            raise PermissionError(13, "Permission denied")
        return original(self)

    monkeypatch.setattr(Path, "lstat", closed)
    assert _scan(known).gone == []


@pytest.mark.parametrize("begins", ["segment", "torn"])
def test_a_file_of_a_run_that_begins_with_no_event_of_it_belongs_to_its_thread(begins: str) -> None:
    layout = Layout.open(state_folder())
    meta = msgspec.structs.replace(session_meta(), thread_id=THREAD)
    path = layout.session_path(meta.session_id, meta.created_at)
    path.parent.mkdir(parents=True)
    whole = encode_as(event(meta), 2, TS)
    if begins == "torn":
        path.write_bytes(whole[:30] + b"\n" + note_line(1, "torn_tail") + whole)
        files = [path]
    else:
        later = path.with_name(f"{path.stem}.1.jsonl")
        path.write_bytes(whole[:30])
        later.write_bytes(segment_line(1, 0) + whole)
        files = [path, later]
    found = _scan({}).own_cursors
    assert {cursor.path for cursor in found[THREAD]} == {str(each) for each in files}
