"""What an agent says when it takes a run up is put on record where it is news."""

from pathlib import Path

import msgspec

from resumed.protocol.sessions import AgentInfo, PermissionsInfo, SessionStartParams
from tests.support.parts import LocalClient, opened
from tests.support.repository import run_git

LOOSER = PermissionsInfo(approval="on-request", sandbox="workspace-write")
STRICTER = PermissionsInfo(approval="untrusted", sandbox="read-only", mode="plan")


async def test_a_run_taken_up_records_what_differs_and_nothing_else(tmp_path: Path) -> None:
    run_git(tmp_path, "init", "-b", "main")
    run_git(tmp_path, "commit", "--allow-empty", "-m", "one")
    (tmp_path / "src").mkdir()
    start = SessionStartParams(
        agent=AgentInfo(name="mine", version="1"), cwd=str(tmp_path), name="Pay", model="m-1",
        permissions=LOOSER,
    )  # fmt: skip
    async with opened(tmp_path) as workspace:
        first = await workspace.sessions.start(LocalClient("a"), start)
    again = msgspec.structs.replace(start, session_id=first.session_id)
    async with opened(tmp_path) as workspace:
        same = await workspace.sessions.start(LocalClient("b"), again)
        assert (same.thread_id, same.last_durable) == (first.thread_id, first.last_durable)
    other = msgspec.structs.replace(
        again, agent=AgentInfo(name="mine", version="2"), cwd=str(tmp_path / "src"), name="Round",
        model="m-2", permissions=STRICTER,
    )  # fmt: skip
    async with opened(tmp_path) as workspace:
        await workspace.sessions.start(LocalClient("c"), other)
        record = await workspace.threads.record(first.thread_id)
    states = record.states
    permissions = states["permissions"]
    assert (permissions.approval, permissions.sandbox, permissions.mode) == ("untrusted", "read-only", "plan")
    assert (states["model"].model, states["environment"].version) == ("m-2", "2")
    assert (states["worktree"].cwd, record.name) == (str(tmp_path / "src"), "Round")
