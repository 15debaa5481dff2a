"""The daemon is killed at every point of a restore's journal; the repository is never between.

Each kill gets a world of its own. `RESUMED_FAILPOINT=journal:n` kills right before and right after each
write of the journal, so every window between a step and its record is hit.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.restore_worlds import (
    KEPT,
    Build,
    deleted_worktree,
    journals,
    point_before_first_done,
    replaced_worktree,
    resume_and_look,
    switched_branch,
    try_resume,
)

MOST_POINTS = 60


@pytest.mark.timeout(600)
@pytest.mark.parametrize("point", ["journal", "git"])
@pytest.mark.parametrize("build", [switched_branch, deleted_worktree, replaced_worktree])
async def test_killed_at_any_point_the_repository_is_as_before_or_as_after(
    build: Build, point: str, worlds: Callable[[int], Path]
) -> None:
    with build(worlds(0), "") as world:
        before = world.facts()
        whole = await try_resume(world)
        after = world.facts()
        (journal,) = journals()
    assert whole is not None
    assert whole.outcome in KEPT
    assert before != after
    assert journal.complete, journal
    assert list(journal.states) == list(range(1, journal.steps + 1))
    assert journal.outcome == whole.outcome.value

    for n in range(1, MOST_POINTS):
        with build(worlds(n), f"{point}:{n}") as world:
            assert world.facts() == before
            kept = world.kept()
            if await try_resume(world) is not None:
                break
            crashed = world.facts()
            assert crashed in (before, after), n
            (killed,) = journals()
            world.daemon.start_again()
            looked = await resume_and_look(world)
            assert looked.settled == (after if killed.complete else before), (n, killed)
            assert killed.complete or looked.kept == kept, n
            assert world.facts() == after, n
            assert looked.report.outcome in KEPT, (n, looked.report.headline)
            assert all("was taken back first" in note for note in looked.report.record.damage), n
            assert all(each.outcome is not None for each in journals()), n
    # The journal is passed before and after each of the two writes of every step.
    assert n - 1 >= {"journal": 2 * 2 * journal.steps, "git": 2}[point]


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("build", "point", "passages"),
    [
        (switched_branch, "journal", 2 * 4),
        (switched_branch, "git", 2),
        (deleted_worktree, "removal", 6),
        (replaced_worktree, "journal", 2 * 4),
        (replaced_worktree, "git", 2),
        (replaced_worktree, "removal", 6),
        (replaced_worktree, "registration", 2),
    ],
)
async def test_a_recovery_that_is_killed_is_taken_up_again(
    build: Build, point: str, passages: int, worlds: Callable[[int], Path]
) -> None:
    """`passages`: undoing, undone, closed and ended are each written by the recovery; git deletes the
    branch, or switches; a work tree is taken away in parts."""
    first = await point_before_first_done(build, worlds(0))
    for m in range(1, MOST_POINTS):
        with build(worlds(m), f"journal:{first}") as world:
            before, kept = world.facts(), world.kept()
            assert await try_resume(world) is None
            after = world.facts()
            assert after != before
            world.daemon.start_again(RESUMED_FAILPOINT=f"{point}:{m}")
            killed_again = await try_resume(world) is None
            if not killed_again or len(journals()) > 1:
                break
            world.daemon.start_again()
            looked = await resume_and_look(world)
            assert looked.settled == before, m
            assert looked.kept == kept, m
            assert world.facts() == after, m
            assert looked.report.outcome in KEPT
            assert all("was taken back first" in note for note in looked.report.record.damage), m
    assert m - 1 == passages
