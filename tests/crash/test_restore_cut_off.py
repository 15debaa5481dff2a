"""A restore that was killed in the middle is told wherever its conversation is, until it is settled."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from resumed.daemon.cli.main import main
from resumed.protocol.daemon import StatusParams, StatusResult
from resumed.protocol.resume import DriftCheckParams, DriftCheckResult
from resumed.protocol.threads import ThreadListParams, ThreadListResult, ThreadReadParams, ThreadReadResult
from tests.support.restore_worlds import (
    KEPT,
    World,
    deleted_worktree,
    point_before_first_done,
    resume_and_look,
    try_resume,
)
from tests.support.workspace import client


class Told:
    """What a client is told of the one conversation of a world."""

    def __init__(
        self, page: ThreadListResult, shown: ThreadReadResult, status: StatusResult, found: DriftCheckResult
    ) -> None:
        self.states = {page.threads[0].state, shown.state}
        self.notes = page.notes
        self.same_in_status = status.notes == page.notes
        self.found = found


async def told(world: World) -> Told:
    async with client(world.root) as connection:
        return Told(
            await connection.call("thread/list", ThreadListParams()),
            await connection.call("thread/read", ThreadReadParams(thread=world.thread)),
            await connection.call("daemon/status", StatusParams()),
            await connection.call("drift/check", DriftCheckParams(thread=world.thread)),
        )


@pytest.mark.timeout(300)
async def test_a_restore_that_was_cut_off_is_told_until_it_is_settled(worlds: Callable[[int], Path]) -> None:
    point = await point_before_first_done(deleted_worktree, worlds(0))
    with deleted_worktree(worlds(1), f"journal:{point}") as world:
        before = await told(world)
        assert await try_resume(world) is None
        world.daemon.start_again()
        crashed = world.facts()
        for _ in range(2):
            now = await told(world)
            assert now.states == {"unfinished"}
            (note,) = now.notes
            assert note.endswith("was cut off; its next Resume settles that first.")
            assert now.same_in_status
            assert now.found.unfinished is not None
            assert now.found.unfinished.startswith(
                "A restore that was cut off has to be taken back first: Make "
            )
            assert (now.found.drifts, now.found.question) == ((), None)
            assert world.facts() == crashed
        checked = await asyncio.to_thread(
            CliRunner().invoke, main, ["check", world.thread, "--workspace", str(world.root)]
        )
        assert (checked.exit_code, "has to be taken back first" in checked.output) == (3, True)
        report = (await resume_and_look(world)).report
        assert report.outcome in KEPT
        after = await told(world)
        assert after.states == before.states
        assert (after.notes, after.found.unfinished) == (before.notes, None)
        assert after.same_in_status
