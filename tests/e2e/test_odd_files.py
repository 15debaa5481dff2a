"""Something that can never be read, among an agent's files or our own, hides nothing else."""

from pathlib import Path

import pytest

from resumed.daemon.runtime import state_folder
from resumed.protocol.daemon import StatusParams
from resumed.protocol.threads import ThreadListParams
from tests.support.killed_agent import listed
from tests.support.odd_files import KINDS, put_something_odd
from tests.support.workspace import client, resume_unattended
from tests.support.world import inhabited

OTHER = "01a22dbd-6721-7b02-8d3d-000000000001"


@pytest.mark.parametrize("kind", KINDS)
async def test_among_the_agents_files(tmp_path: Path, kind: str) -> None:
    with inhabited(tmp_path) as world:
        world.scratch()
        thread = world.codex("v171_on_request_two_turns")
        (rollout,) = (world.home / ".codex").rglob(f"*{thread}.jsonl")
        odd = rollout.with_name(rollout.name.replace(thread, OTHER))
        put_something_odd(odd, kind)
        folder = world.serve("repo")
        found = await listed(folder)
        assert [row.thread_id for row in found.threads] == [thread]
        assert found.notes == (
            f"{odd.name} among the sessions of codex is no regular file; it was passed over.",
        )
        assert (await resume_unattended(folder, thread)).launch is not None
        async with client(folder) as connection:
            status = await connection.call("daemon/status", StatusParams())
        assert (status.index, status.threads) == ("ok", 1)


async def test_among_our_own_streams(tmp_path: Path) -> None:
    with inhabited(tmp_path) as world:
        world.payments()
        thread = await world.work("payments")
        world.let_go()
        (stream,) = state_folder().glob("sessions/*/*/*/rollout-*.jsonl")
        put_something_odd(stream.with_name(stream.name.replace(stream.stem[-36:], OTHER)), "pipe")
        world.serve("payments")
        async with client(world.home / "payments") as connection:
            found = await connection.call("thread/list", ThreadListParams(scope="all"))
            assert [row.thread_id for row in found.threads] == [thread]
            assert (await connection.call("daemon/status", StatusParams())).index == "ok"
