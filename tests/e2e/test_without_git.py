"""A daemon that finds no git: everything that could not be looked at says so, with the reason."""

from pathlib import Path

from resumed.protocol.resume import DriftCheckParams
from tests.support.workspace import client, resume_unattended, serving
from tests.support.world import inhabited

WHY = "git could not be started: No such file or directory"


async def test_the_reason_is_in_the_question_and_nothing_is_said_to_be_none(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with inhabited(tmp_path) as world:
        world.scratch()
        thread = world.codex("v171_on_request_two_turns")
        with serving(world.home / "repo", PATH=str(tmp_path / "empty")) as daemon:
            report = await resume_unattended(daemon.folder, thread)
            async with client(daemon.folder) as connection:
                checked = await connection.call("drift/check", DriftCheckParams(thread=thread))
    (asked,) = [drift for drift in report.drifts if drift.subsystem == "worktree"]
    assert asked.reason == f"What is at ~/repo is not known: {WHY}."
    assert {row.what: row.now for row in asked.differences} == {
        "folder": "~/repo",
        "repository": "not known",
        "branch": "not known",
    }
    assert asked.reason in [drift.reason for drift in checked.drifts]
