"""Which files there are, and that reading them writes nothing."""

import os
from pathlib import Path

import pytest
import zstandard

from resumed.daemon.agents.codex.store import CodexStore
from tests.support.codex import NAMES, install_recording, sha256


def test_files_newest_first_and_archived_last(tmp_path: Path) -> None:
    for name in NAMES:
        install_recording(name, tmp_path)
    old = install_recording("v171_read_only", tmp_path)
    (tmp_path / "archived_sessions").mkdir()
    archived = old.rename(tmp_path / "archived_sessions" / old.name)
    (old.parent / "notes.txt").write_text("not a rollout")
    names = [path.name for path in CodexStore(tmp_path).files()]
    assert names[-1] == archived.name
    assert names[:-1] == sorted(names[:-1], reverse=True)
    assert len(names) == len(set(names)) == len(NAMES) - 2


def test_a_home_that_does_not_exist_has_no_files(tmp_path: Path) -> None:
    assert list(CodexStore(tmp_path / "nowhere").files()) == []


def test_a_compressed_file_says_the_same(tmp_path: Path) -> None:
    path = install_recording("v171_resumed", tmp_path)
    store = CodexStore(tmp_path)
    plain, head = list(store.read(path)), store.head(path)
    compressed = path.with_name(f"{path.name}.zst")
    content = path.read_bytes()
    compressed.write_bytes(zstandard.compress(content[:20_000]) + zstandard.compress(content[20_000:]))
    assert list(store.files()) == [path]
    path.unlink()
    assert list(store.files()) == [compressed]
    assert list(store.read(compressed)) == plain
    packed = store.head(compressed)
    assert head is not None
    assert packed is not None
    assert (packed.name, packed.state, packed.last_active_at) == (head.name, head.state, head.last_active_at)
    ended = store.read(compressed)
    list(ended)
    assert list(store.read(compressed, ended.cursor())) == []


def test_a_file_that_vanished(tmp_path: Path) -> None:
    store = CodexStore(tmp_path)
    assert store.head(tmp_path / "gone.jsonl") is None
    assert store.head(tmp_path / "gone.jsonl.zst") is None
    with pytest.raises(FileNotFoundError):
        list(store.read(tmp_path / "gone.jsonl"))


def test_a_damaged_compression_is_a_failure_to_read(tmp_path: Path) -> None:
    path = install_recording("v171_resumed", tmp_path)
    store = CodexStore(tmp_path)
    plain = store.head(path)
    assert plain is not None
    content = path.read_bytes()
    compressed = path.rename(path.with_name(f"{path.name}.zst"))
    compressed.write_bytes(b"garbage")
    head = store.head(compressed)
    assert head is not None
    assert (head.thread_id, head.unread, head.name) == (plain.thread_id, True, "")
    assert head.damaged == (
        "The file cannot be read: its compression is damaged; this comes from the file's name."
    )
    with pytest.raises(OSError, match="compression is damaged"):
        list(store.read(compressed))
    more = b'{"type":"other","payload":{}}\n' * 100_000
    compressed.write_bytes(zstandard.compress(content + more) + b"garbage")
    head = store.head(compressed)
    assert head is not None
    assert (head.name, head.unread) == (plain.name, True)
    assert head.damaged == "The file cannot be read to its end: its compression is damaged."


def test_nothing_is_written(tmp_path: Path) -> None:
    paths = [install_recording(name, tmp_path) for name in NAMES if name != "v171_worktree"]

    def listing() -> list[tuple[str, int, str]]:
        found = sorted(path for path in tmp_path.rglob("*") if path.is_file())
        return [(str(path), os.stat(path).st_mtime_ns, sha256(path)) for path in found]

    before = listing()
    store = CodexStore(tmp_path)
    for path in store.files():
        assert store.head(path) is not None
        list(store.read(path))
    assert listing() == before
    assert len(before) == len({path.name for path in paths})
