"""Copies of loose bytes: whole or not there, and durable whoever made them."""

import hashlib
from pathlib import Path

import pytest

from resumed.daemon.storage.damage import LooseBytes
from resumed.daemon.storage.quarantine import copy_aside, is_copied
from tests.support.sync_gate import synced_folders

TORN = b"torn bytes"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"whole\n" + TORN)
    return path


@pytest.fixture
def loose() -> LooseBytes:
    return LooseBytes(
        file="s.jsonl",
        offset=6,
        length=len(TORN),
        sha256=hashlib.sha256(TORN).hexdigest(),
        reason="torn",
        torn=True,
        first_line=False,
    )


def test_a_copy_is_whole_and_counts_only_when_it_is(tmp_path: Path, source: Path, loose: LooseBytes) -> None:
    folder = tmp_path / "quarantine"
    assert not is_copied(folder, loose)
    copy_aside(folder, source, loose)
    assert is_copied(folder, loose)
    (copy,) = folder.iterdir()
    assert copy.read_bytes() == TORN
    copy.write_bytes(TORN[:3])
    assert not is_copied(folder, loose)
    copy_aside(folder, source, loose)
    assert is_copied(folder, loose)


def test_a_copy_that_somebody_else_made_is_made_durable(
    tmp_path: Path, source: Path, loose: LooseBytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "quarantine"
    copy_aside(folder, source, loose)
    synced = synced_folders(monkeypatch)
    copy_aside(folder, source, loose)
    assert synced == [folder]
