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
    registered_worktree,
    resume_and_look,
    switched_branch,
    try_resume,
)

MOST_POINTS = 60


@pytest.mark.timeout(600)
@pytest.mark.parametrize("build", [switched_branch, deleted_worktree, registered_worktree])
async def test_killed_at_any_point_the_repository_is_as_before_or_as_after(
    build: Build, worlds: Callable[[int], Path]
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
        with build(worlds(n), f"journal:{n}") as world:
            assert world.facts() == before
            if await try_resume(world) is not None:
                break
            crashed = world.facts()
            assert crashed in (before, after), n
            (killed,) = journals()
            world.daemon.start_again()
            report, settled = await resume_and_look(world)
            assert settled == (after if killed.complete else before), (n, killed)
            assert world.facts() == after, n
            assert report.outcome in KEPT, (n, report.headline)
            assert all("was taken back first" in note for note in report.record.damage), n
            assert all(each.outcome is not None for each in journals()), n
    assert n - 1 >= 2 * 2 * journal.steps, "before and after each of the two writes of every step"


@pytest.mark.timeout(600)
async def test_a_recovery_that_is_killed_is_taken_up_again(worlds: Callable[[int], Path]) -> None:
    point = await point_before_first_done(switched_branch, worlds(0))
    for m in range(1, MOST_POINTS):
        with switched_branch(worlds(m), f"journal:{point}") as world:
            before = world.facts()
            assert await try_resume(world) is None
            after = world.facts()
            assert after != before
            world.daemon.start_again(RESUMED_FAILPOINT=f"journal:{m}")
            assert await try_resume(world) is None
            if len(journals()) > 1:
                break
            assert world.facts() in (before, after), m
            world.daemon.start_again()
            report, settled = await resume_and_look(world)
            assert settled == before, m
            assert world.facts() == after, m
            assert report.outcome in KEPT
            assert all("was taken back first" in note for note in report.record.damage), m
    assert m - 1 >= 2 * 4, "undoing, undone, closed and ended are each written by the recovery"
