"""A folder that a killed restore made holds a person's work now: it stays, and what it lacks is told."""

from collections.abc import Callable
from pathlib import Path

import pytest

from resumed.protocol.restore import Outcome
from tests.support.repository import run_git
from tests.support.restore_worlds import (
    deleted_worktree,
    journals,
    point_before_first_done,
    resume_and_look,
    try_resume,
)
from tests.support.workspace import choosing

Change = Callable[[Path], object]
MADE_NEW = "This folder was made new."


def _a_file(folder: Path) -> None:
    (folder / "mine.txt").write_text("mine\n")


def _a_commit(folder: Path) -> None:
    _a_file(folder)
    run_git(folder, "add", "--all")
    run_git(folder, "commit", "--quiet", "--message", "mine")


def _another_branch(folder: Path) -> None:
    run_git(folder, "switch", "--quiet", "--create", "mine")


@pytest.mark.timeout(300)
@pytest.mark.parametrize("change", [_a_file, _a_commit, _another_branch])
async def test_what_is_lost_in_a_folder_that_stays_is_told_as_without_the_kill(
    change: Change, worlds: Callable[[int], Path]
) -> None:
    with deleted_worktree(worlds(0), "") as world:
        whole = await try_resume(world)
    assert whole is not None
    assert (whole.outcome, MADE_NEW in whole.handover) == (Outcome.PARTIAL, True)
    point = await point_before_first_done(deleted_worktree, worlds(1))
    # Right before and right after the record that it was made.
    for n in (point, point + 2):
        with deleted_worktree(worlds(n), f"journal:{n}") as world:
            assert await try_resume(world) is None
            (made,) = (path for path in world.base.iterdir() if path != world.root and _is_checkout(path))
            change(made)
            world.daemon.start_again()
            stays = world._replace(decide=choosing(branchDiffers="stay", fileChanged="keep"))
            reports = [(await resume_and_look(stays)).report for _ in range(2)]
            assert "rolledBack" in [journal.outcome for journal in journals()]
            (told,) = reports[0].record.damage
            assert "could not be undone" in told or "it was left as it is" in told
            for report in reports:
                assert report.outcome is whole.outcome, report.headline
                assert report.record.invalidated == whole.record.invalidated
                assert MADE_NEW in report.handover
                assert report.launch is not None
                assert report.launch.folder == str(made)


def _is_checkout(path: Path) -> bool:
    return (path / ".git").exists()
