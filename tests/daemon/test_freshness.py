"""What comes or goes shows at once, without a look at every file."""

import asyncio
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from resumed.daemon import freshness, scanning
from resumed.protocol.threads import ThreadListParams
from tests.support.codex import build_scratch_repo, install_recording
from tests.support.parts import opened
from tests.support.repository import make_repository, run_git

THREAD = "01a22dbd-6721-7b02-8d3d-d77a010ed4f3"
EVERYTHING = ThreadListParams(scope="all")


def _when(marks: freshness.Marks, path: Path) -> int:
    return dict(marks)[str(path)]


def test_a_folder_that_gets_or_loses_an_entry_shows(tmp_path: Path) -> None:
    day = tmp_path / "2026" / "11" / "30"
    day.mkdir(parents=True)
    source = day / "rollout.jsonl"
    source.touch()
    own = tmp_path / "threads"
    folders = freshness.watched([str(source), str(source) + ".zst"])
    assert folders == {str(day), str(day.parent)}
    before = freshness.marks([*folders, str(own)])
    assert (_when(before, own), _when(before, day)) == (-1, day.stat().st_mtime_ns)
    assert freshness.marks([*folders, str(own)]) == before
    own.mkdir()
    assert freshness.marks([*folders, str(own)]) != before


def test_a_work_tree_that_is_registered_or_moved_shows(tmp_path: Path) -> None:
    assert freshness.registered(None) == frozenset()
    repository = make_repository(tmp_path / "repo")
    repository.commit({"a": "a\n"}, "first")
    registry = str(repository.root / ".git" / "worktrees")
    assert freshness.registered(registry) == frozenset()
    repository.git("worktree", "add", "--quiet", str(tmp_path / "one"))
    one = freshness.registered(registry)
    assert [name for name, _ in one] == ["one"]
    repository.git("worktree", "move", str(tmp_path / "one"), str(tmp_path / "two"))
    assert freshness.registered(registry) != one


def _goes_to(folder: Path, name: str = "v171_on_request_two_turns") -> None:
    install_recording(name, Path(os.environ["CODEX_HOME"]), {"/home/dev/repo": str(folder)})


async def test_what_came_since_the_last_look_is_listed_and_found_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo, _ = build_scratch_repo(tmp_path)
    _goes_to(repo, "v171_read_only")
    monkeypatch.setattr(freshness, "FRESH_SECONDS", float("inf"))
    looks = 0
    original = scanning.scan

    def counted(*arguments: Any) -> scanning.Scan:
        nonlocal looks
        looks += 1
        return original(*arguments)

    async with opened(repo) as workspace:
        (first,) = (await workspace.threads.page(ThreadListParams())).threads
        assert first.group == "project"
        monkeypatch.setattr(scanning, "scan", counted)
        await workspace.threads.page(ThreadListParams())
        looks = 0
        await workspace.threads.page(ThreadListParams())
        assert looks == 0, "nothing came"
        run_git(repo, "worktree", "add", "--quiet", str(tmp_path / "linked"))
        _goes_to(tmp_path / "linked")
        here = {
            row.thread_id: row.group for row in (await workspace.threads.page(ThreadListParams())).threads
        }
        assert here == {first.thread_id: "project", THREAD: "worktree"}
        run_git(repo, "worktree", "move", str(tmp_path / "linked"), str(tmp_path / "moved"))
        # Its folder is gone now, and the commit is one of this repository.
        (group,) = {row.group for row in (await workspace.threads.page(ThreadListParams())).threads}
        assert group == "project"


async def test_a_name_waits_for_a_look_that_begins_after_it_was_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(freshness, "FRESH_SECONDS", float("inf"))
    reached, go = threading.Event(), threading.Event()
    original = scanning.scan

    def held_up(*arguments: Any) -> scanning.Scan:
        found = original(*arguments)
        reached.set()
        assert go.wait(30)
        return found

    async with opened(tmp_path) as workspace:
        with monkeypatch.context() as patched:
            patched.setattr(scanning, "scan", held_up)
            looking = asyncio.create_task(workspace.threads.look_again())
            assert await asyncio.to_thread(reached.wait, 30)
            # That look has passed the folders already.
            _goes_to(tmp_path)
            finding = asyncio.create_task(workspace.threads.find("fix the rounding"))
            listing = asyncio.create_task(workspace.threads.page(EVERYTHING))
            go.set()
            assert (await finding).thread_id == THREAD
            assert [row.thread_id for row in (await listing).threads] == [THREAD]
            await looking
