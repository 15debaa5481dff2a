"""What was read before is known again wherever the file lies and however it is kept, and only there."""

from pathlib import Path

import msgspec
import pytest
import zstandard

from resumed.daemon.agents.codex.store import CodexStore
from resumed.daemon.ingesting import changed, furthest, ingested, missing
from resumed.restore.events.session import Ingested
from tests.support.codex import install_recording

MORE = b'{"type":"other","payload":{}}\n'


def _compare(home: Path, path: Path, before: Ingested) -> str | None:
    reading = CodexStore(home).read(path)
    for _ in reading:
        pass
    return changed(path, reading, before)


def _installed(home: Path) -> tuple[Path, Ingested]:
    path = install_recording("v171_on_request_two_turns", home)
    return path, ingested(path, CodexStore(home), path.stat().st_size, 0)


def _compressed(path: Path, content: bytes) -> Path:
    packed = path.with_name(f"{path.name}.zst")
    packed.write_bytes(zstandard.compress(content))
    return packed


def test_a_file_that_grew_was_moved_or_compressed_is_the_same(tmp_path: Path) -> None:
    path, before = _installed(tmp_path)
    assert _compare(tmp_path, path, before) is None
    content = path.read_bytes() + MORE
    path.write_bytes(content)
    assert _compare(tmp_path, path, before) is None
    (tmp_path / "archived_sessions").mkdir()
    moved = path.rename(tmp_path / "archived_sessions" / path.name)
    assert _compare(tmp_path, moved, before) is None
    assert _compare(tmp_path, _compressed(moved, content), before) is None


def test_what_was_read_of_a_compressed_file_holds_for_the_plain_one(tmp_path: Path) -> None:
    path, plain = _installed(tmp_path)
    packed = _compressed(path, path.read_bytes())
    before = ingested(packed, CodexStore(tmp_path), plain.offset, 0)
    assert (before.path, before.inode) == (str(packed), packed.stat().st_ino)
    assert (before.offset, before.prefix_hash) == (plain.offset, plain.prefix_hash)
    assert _compare(tmp_path, packed, before) is None
    assert _compare(tmp_path, path, before) is None


@pytest.mark.parametrize("at", [20, 12_000, -20])
@pytest.mark.parametrize("more", [b"", MORE])
def test_other_bytes_are_told(tmp_path: Path, at: int, more: bytes) -> None:
    path, before = _installed(tmp_path)
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content + more)
    packed = _compressed(path, bytes(content + more))
    for file in (path, packed):
        assert _compare(tmp_path, file, before) == (
            f"The agent's own file ({file}) is not the one that was read before: "
            f"its first {before.offset} bytes are others. What only the earlier one held is missing."
        )


def test_a_lost_end_is_told_as_such(tmp_path: Path) -> None:
    path, before = _installed(tmp_path)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:3]))
    there = f"{path.stat().st_size} of {before.offset} bytes are there"
    assert _compare(tmp_path, path, before) == (
        f"The agent's own file ({path}) is shorter than it was: {there}. The rest is missing."
    )


def test_a_hash_that_was_made_otherwise_says_nothing(tmp_path: Path) -> None:
    path, before = _installed(tmp_path)
    assert _compare(tmp_path, path, msgspec.structs.replace(before, prefix_hash="0" * 64)) is None


def test_of_two_notes_the_one_of_the_longer_part_counts(tmp_path: Path) -> None:
    _, first = _installed(tmp_path)
    longer = msgspec.structs.replace(first, offset=first.offset + 1)
    again = msgspec.structs.replace(first, path="/elsewhere")
    assert furthest(None, first) is first
    assert furthest(first, longer) is furthest(longer, first) is longer
    assert furthest(first, again) is again


def test_a_file_that_is_missing_is_told_with_the_reason() -> None:
    rest = "What only that file held is missing."
    assert missing("", None) == f"The agent's own file is gone. {rest}"
    assert missing("/x", FileNotFoundError()) == f"The agent's own file (/x) is gone. {rest}"
    denied = PermissionError(13, "Permission denied")
    assert missing("/x", denied) == f"The agent's own file (/x) cannot be read: Permission denied. {rest}"
