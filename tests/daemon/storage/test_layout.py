"""The layout: created once whoever comes first, validated names, read-only when it must be."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from resumed.daemon.storage import layout as layout_module
from resumed.daemon.storage.errors import StateGone, StateReadOnly, StateRefused
from resumed.daemon.storage.layout import Layout, parse_stream
from resumed.protocol.ids import InvalidId
from tests.support.streams import program_environment
from tests.support.sync_gate import synced_folders

ID = "5973b6c0-94b8-487b-a530-2aeb6098ae0e"
WORKSPACE = "0123456789abcdef0123456789abcdef"
BAD_IDS = ["", "x", "../../../etc/passwd", ID + "/..", ID + "\0", ID[:-1], ID + ".1", "*"]


def test_the_first_opening_creates_and_later_ones_find_the_same(tmp_path: Path) -> None:
    first = Layout.open(tmp_path / "deep" / "state")
    again = Layout.open(tmp_path / "deep" / "state")
    assert first == again
    assert not first.read_only
    assert len(first.key) == 32
    assert len(bytes.fromhex(first.install_id)) == 16
    assert json.loads((first.home / "layout.json").read_bytes()) == {
        "version": 1,
        "install_id": first.install_id,
    }
    assert first.home.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in first.home.iterdir()} == {0o600}
    assert first.key.hex() not in repr(first)


def test_processes_that_open_at_once_agree(tmp_path: Path) -> None:
    program = (
        "import sys, pathlib\nfrom resumed.daemon.storage.layout import Layout\n"
        "sys.stdin.read()\nlayout = Layout.open(pathlib.Path(sys.argv[1]))\n"
        "print(layout.install_id, layout.key.hex(), layout.read_only)\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "state")]
    environment = program_environment()
    programs = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
        for _ in range(4)
    ]
    for started in programs:
        assert started.stdin is not None
        started.stdin.close()
    said = set()
    for started in programs:
        assert started.stdout is not None
        said.add(started.stdout.read())
        started.stdout.close()
        assert started.wait(timeout=60) == 0
    opened = Layout.open(tmp_path / "state")
    assert said == {f"{opened.install_id} {opened.key.hex()} False\n".encode()}


def test_an_existing_folder_is_closed_to_others(tmp_path: Path) -> None:
    home = tmp_path / "state"
    home.mkdir()
    home.chmod(0o775)
    assert not Layout.open(home).read_only
    assert home.stat().st_mode & 0o777 == 0o700


def test_a_folder_for_everyone_and_a_file_are_refused_unchanged(tmp_path: Path) -> None:
    everyone = tmp_path / "everyone"
    everyone.mkdir()
    everyone.chmod(0o1777)
    with pytest.raises(StateRefused, match="every user"):
        Layout.open(everyone)
    assert list(everyone.iterdir()) == []
    assert everyone.stat().st_mode & 0o7777 == 0o1777
    (tmp_path / "file").write_bytes(b"x")
    with pytest.raises(StateRefused, match="not a folder"):
        Layout.open(tmp_path / "file")


def snapshot(home: Path) -> dict[str, tuple[bytes, int]]:
    return {path.name: (path.read_bytes(), path.stat().st_mode) for path in home.iterdir()}


def test_a_newer_layout_opens_read_only_and_nothing_changes(tmp_path: Path) -> None:
    home = Layout.open(tmp_path / "state").home
    (home / "layout.json").write_text('{"version": 2, "install_id": "ab", "more": []}')
    (home / "layout.lock").unlink()
    home.chmod(0o750)
    before = snapshot(home)
    opened = Layout.open(home)
    assert (opened.read_only, opened.install_id) == (True, "ab")
    assert "newer version (layout 2)" in opened.reason
    assert snapshot(home) == before
    assert home.stat().st_mode & 0o777 == 0o750
    with pytest.raises(StateReadOnly, match="newer version"):
        opened.check_writable()


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"[]", b'{"version":"1"}'])
def test_a_damaged_layout_file_is_not_replaced(tmp_path: Path, content: bytes) -> None:
    home = Layout.open(tmp_path / "state").home
    (home / "layout.json").write_bytes(content)
    opened = Layout.open(home)
    assert opened.read_only
    assert "damaged" in opened.reason
    assert (home / "layout.json").read_bytes() == content


@pytest.mark.parametrize("content", [None, b"", b"short"])
def test_a_lost_key_is_not_made_again(tmp_path: Path, content: bytes | None) -> None:
    home = Layout.open(tmp_path / "state").home
    (home / "key").unlink()
    if content is not None:
        (home / "key").write_bytes(content)
    opened = Layout.open(home)
    assert opened.read_only
    assert "key" in opened.reason


def test_a_remote_file_system_is_never_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout_module, "remote_file_system", lambda home: "nfs4")
    opened = Layout.open(tmp_path / "state")
    assert opened.read_only
    assert "nfs4" in opened.reason
    assert not (tmp_path / "state").exists()


def test_a_place_where_nothing_can_be_made_is_read_only() -> None:
    opened = Layout.open(Path("/proc/no-such-place/state"))
    assert opened.read_only
    assert "can't be written" in opened.reason


def test_paths(tmp_path: Path) -> None:
    layout = Layout.open(tmp_path)
    relative = {
        "session": layout.session_path(ID, "2026-01-01T00:30:05.123+02:00"),
        "thread": layout.thread_path(ID.upper()),
        "worktree": layout.worktree_path(ID),
        "lease": layout.lease_path(ID),
        "lock": layout.stream_lock_path(f"session:{ID}"),
        "index": layout.index_path(WORKSPACE),
        "quarantine": layout.quarantine,
    }
    assert {name: str(path.relative_to(tmp_path)) for name, path in relative.items()} == {
        "session": f"sessions/2025/12/31/rollout-2025-12-31T22-30-05-{ID}.jsonl",
        "thread": f"threads/{ID}.jsonl",
        "worktree": f"worktrees/{ID}.jsonl",
        "lease": f"leases/{ID}.lock",
        "lock": f"locks/session-{ID}.lock",
        "index": f"workspaces/{WORKSPACE}/index-v2.db",
        "quarantine": "quarantine",
    }


@pytest.mark.parametrize("bad", BAD_IDS)
def test_nothing_but_an_id_becomes_a_name(tmp_path: Path, bad: str) -> None:
    layout = Layout.open(tmp_path)
    for make in (layout.thread_path, layout.worktree_path, layout.lease_path, layout.index_path):
        with pytest.raises(InvalidId):
            make(bad)
    with pytest.raises(InvalidId):
        layout.session_path(bad, "2026-01-01T00:00:00Z")
    for kind in ("session", "thread", "worktree"):
        with pytest.raises(InvalidId):
            layout.find_stream(f"{kind}:{bad}")


@pytest.mark.parametrize("created_at", ["", "yesterday", "2026-01-01T00:00:00", "2026-13-01T00:00:00Z"])
def test_a_session_needs_a_time_with_an_offset(tmp_path: Path, created_at: str) -> None:
    with pytest.raises(ValueError, match=r"created_at|isoformat|month"):
        Layout.open(tmp_path).session_path(ID, created_at)


@pytest.mark.parametrize("stream", ["", ID, f"blob:{ID}", f"session:{ID}:x", "session:"])
def test_a_stream_has_a_kind_and_an_id(stream: str) -> None:
    with pytest.raises(InvalidId):
        parse_stream(stream)


def touch(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return path


def test_streams_are_found_by_id_archived_or_not(tmp_path: Path) -> None:
    layout = Layout.open(tmp_path)
    other, archived = ID.replace("5973", "0000"), ID.replace("5973", "1111")
    path = touch(layout.session_path(ID, "2026-01-01T00:00:00Z"))
    touch(path.with_name(f"{path.stem}.1.jsonl"))
    touch(layout.session_path(other, "2026-02-01T00:00:00Z"))
    kept = touch(tmp_path / "archived_sessions" / f"rollout-2025-01-01T00-00-00-{archived}.jsonl")
    touch(tmp_path / "sessions" / "2026" / "01" / "01" / f".rollout-2026-01-01T00-00-00-{ID}.jsonl.ab12")
    touch(layout.thread_path(ID))
    touch(layout.thread_path(ID).with_name(f"{ID}.1.jsonl"))
    touch(tmp_path / "threads" / "notes.jsonl")
    assert layout.find_stream(f"session:{ID}") == path
    assert layout.find_stream(f"session:{archived}") == kept
    assert layout.find_stream(f"thread:{ID}") == layout.thread_path(ID)
    assert layout.find_stream(f"worktree:{ID}") is None
    assert sorted(layout.stream_ids("session")) == [
        f"session:{identifier}" for identifier in (other, archived, ID)
    ]
    assert list(layout.stream_ids("thread")) == [f"thread:{ID}"]
    assert list(layout.stream_ids("worktree")) == []


def test_a_foreign_owner_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: tmp_path.stat().st_uid + 1)
    with pytest.raises(StateRefused, match="another user"):
        Layout.open(tmp_path)


def test_a_folder_that_was_taken_away_is_not_written(tmp_path: Path) -> None:
    layout = Layout.open(tmp_path / "state")
    layout.check_writable()
    assert layout.gone() == layout.trouble() == ""
    layout.home.rename(tmp_path / "aside")
    assert layout.trouble() == f"The state folder {layout.home} is not there any more."
    with pytest.raises(StateGone):
        layout.check_writable()
    again = Layout.open(layout.home)
    assert layout.gone() == f"The state folder {layout.home} is not the one it was."
    assert again.gone() == ""


def test_a_folder_made_again_under_the_same_number_is_another_one(tmp_path: Path) -> None:
    layout = Layout.open(tmp_path / "state")
    shutil.copy2(layout.home / "layout.json", tmp_path / "copy")
    (layout.home / "layout.json").unlink()
    assert layout.gone() != ""
    (tmp_path / "copy").rename(layout.home / "layout.json")
    assert layout.gone() != ""


def test_a_folder_that_somebody_else_made_is_made_durable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Layout.open(tmp_path)
    synced = synced_folders(monkeypatch)
    Layout.open(tmp_path)
    assert tmp_path in synced


def test_a_run_is_found_again_without_listing_and_wherever_it_was_moved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    layout = Layout.open(tmp_path / "state")
    identifier = "5973b6c0-94b8-487b-a530-2aeb6098ae0e"
    path = layout.session_path(identifier, "2026-01-02T03:04:05.000Z")
    assert layout.find_stream(f"session:{identifier}") is None
    path.parent.mkdir(parents=True)
    path.touch()
    assert layout.find_stream(f"session:{identifier}") == path
    with monkeypatch.context() as patched:
        patched.setattr(Path, "glob", lambda *_: pytest.fail("the folders were listed again"))
        assert layout.find_stream(f"session:{identifier}") == path
    archived = layout.home / "archived_sessions" / path.name
    archived.parent.mkdir(exist_ok=True)
    path.rename(archived)
    assert layout.find_stream(f"session:{identifier}") == archived
    archived.unlink()
    assert layout.find_stream(f"session:{identifier}") is None
