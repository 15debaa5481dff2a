"""Recordings of real agents never change by accident: each file is pinned by its hash."""

import hashlib
from pathlib import Path

import pytest

from tests.support.tree import ROOT, files

AGENTS = sorted(path for path in (ROOT / "tests" / "recordings").iterdir() if path.is_dir())


def pinned(sums: Path) -> dict[str, str]:
    """The hashes on record by path relative to their folder, in `sha256sum`'s format."""
    rows = [line.split("  ", 1) for line in sums.read_text(encoding="utf-8").splitlines()]
    return {path.removeprefix("./"): digest for digest, path in rows}


@pytest.mark.parametrize("folder", AGENTS, ids=lambda path: path.name)
def test_every_recording_is_as_recorded(folder: Path) -> None:
    sums = folder / "SHA256SUMS"
    present = {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files(folder)
        if path not in (sums, folder / "README.md")
    }
    assert present == pinned(sums), (
        "a recording changed; a test that needs other paths or ids rewrites a copy"
    )


def test_there_are_recordings() -> None:
    assert AGENTS
