"""A run is whole wherever a move is killed, and a later move leaves nothing behind."""

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from resumed.daemon.storage import moving
from resumed.daemon.storage.layout import Layout
from resumed.daemon.storage.reader import Reading
from tests.support.runs import SESSION, write_run
from tests.support.streams import line, program_environment, texts

STREAM = f"session:{SESSION}"


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return Layout.open(tmp_path / "state")


def read(layout: Layout) -> list[str]:
    """The messages of the run, which must be undamaged."""
    first = layout.find_stream(STREAM)
    assert first is not None
    reading = Reading(first)
    found = texts(reading)
    assert reading.damage == ()
    return found


def places(layout: Layout) -> tuple[int, int]:
    """How many files are among the days, and how many in the archive."""
    return len(list(layout.sessions.rglob("rollout-*"))), len(list(layout.archived_sessions.rglob("*")))


def test_a_run_goes_away_and_comes_back_byte_by_byte(layout: Layout) -> None:
    first = write_run(layout, "one", "two")
    before = {path.name: path.read_bytes() for path in first.parent.iterdir()}
    assert moving.settle(layout, SESSION, archived=True)
    assert {path.name: path.read_bytes() for path in layout.archived_sessions.iterdir()} == before
    assert (places(layout), read(layout)) == ((0, 2), ["one", "two"])
    assert not moving.settle(layout, SESSION, archived=True)
    assert moving.settle(layout, SESSION, archived=False)
    assert {path.name: path.read_bytes() for path in first.parent.iterdir()} == before
    assert (places(layout), layout.find_stream(STREAM)) == ((2, 0), first)
    assert not moving.settle(layout, SESSION, archived=False)


def test_a_run_that_is_not_there_is_nothing_to_do(layout: Layout) -> None:
    assert not moving.settle(layout, SESSION, archived=True)


@pytest.mark.parametrize("points", ["moving.place", "moving.placed", "moving.remove"])
@pytest.mark.parametrize("how", ["away", "back"])
def test_a_kill_leaves_it_whole_in_one_place(layout: Layout, points: str, how: str) -> None:
    write_run(layout, "one", "two")
    if how == "back":
        moving.settle(layout, SESSION, archived=True)
    for n in range(1, 9):
        command = [sys.executable, "-m", "tests.support.move_program", str(layout.home), SESSION, how]
        done = subprocess.run(
            command,
            env=program_environment(RESUMED_FAILPOINT=f"{points}:{n}"),
            cwd=Path(__file__).parents[3],
            timeout=60,
            check=False,
        )
        assert read(layout) == ["one", "two"]
        if done.returncode == 0:
            break
        assert done.returncode == -signal.SIGKILL
        # Whoever comes next may want it the other way, and back again.
        moving.settle(layout, SESSION, archived=how == "back")
        assert (places(layout), read(layout)) == ((0, 2) if how == "back" else (2, 0), ["one", "two"])
    assert n > 1
    assert places(layout) == ((0, 2) if how == "away" else (2, 0))
    assert list(layout.home.rglob(".*")) == []


@pytest.mark.parametrize("number", [errno.EPERM, errno.ENOTSUP, errno.EMLINK])
def test_where_there_are_no_links_it_is_copied(
    layout: Layout, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    first = write_run(layout, "one" * (1 << 20), "two")
    expected = read(layout)

    def refuse(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "link", refuse)
    assert moving.settle(layout, SESSION, archived=True)
    assert (places(layout), read(layout)) == ((0, 2), expected)
    assert {path.stat().st_mode & 0o777 for path in layout.archived_sessions.iterdir()} == {0o600}
    assert not first.exists()


def test_another_failure_is_told_and_changes_nothing(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    write_run(layout, "one")

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "link", refuse)
        with pytest.raises(OSError, match="No space"):
            moving.settle(layout, SESSION, archived=True)
    assert (places(layout), read(layout)) == ((2, 0), ["one"])


def test_what_an_older_move_left_in_the_other_place_does_not_count(layout: Layout) -> None:
    first = write_run(layout, "one")
    layout.archived_sessions.mkdir()
    for number, name in enumerate((first.name, f"{first.stem}.1.jsonl", f"{first.stem}.2.jsonl")):
        (layout.archived_sessions / name).write_bytes(line(f"old {number}", 1))
    assert read(layout) == ["one"]
    assert moving.settle(layout, SESSION, archived=False)
    assert places(layout) == (2, 0)
    (layout.archived_sessions / f"{first.stem}.2.jsonl").write_bytes(line("old", 1))
    assert moving.settle(layout, SESSION, archived=True)
    assert (places(layout), read(layout)) == ((0, 2), ["one"])
