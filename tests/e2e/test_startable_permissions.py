"""What the report, the note and the record say that Codex may do is what its command starts it with."""

from pathlib import Path

import msgspec
import pytest

from resumed.protocol.restore import RestoreReport
from resumed.restore.events.session import PermissionsSet
from tests.support.killed_agent import events, session_file
from tests.support.workspace import resume_unattended
from tests.support.world import inhabited


def started_with(report: RestoreReport) -> tuple[str, str]:
    """The approval and the sandbox in the command."""
    assert report.launch is not None
    argv = report.launch.argv
    return argv[argv.index("-a") + 1], argv[argv.index("-s") + 1]


def recorded_for(report: RestoreReport) -> tuple[str | None, str | None]:
    """The approval and the sandbox that the new run's stream says it has."""
    assert report.session_id is not None
    said = [event.payload for event in events(session_file(report.session_id))]
    (settled,) = [each for each in said if isinstance(each, PermissionsSet)]
    return settled.approval, settled.sandbox


@pytest.mark.parametrize(
    ("limit", "started", "may_do", "told"),
    [
        (
            "untrusted",
            ("on-request", "read-only"),
            "asks on request, reads only: less than before, nothing wider; Codex cannot be started so that"
            " it asks before most commands, so it reads only",
            "What you may do has changed: you ask on request and may change nothing.",
        ),
        (
            "on-failure",
            ("on-request", "workspace-write"),
            "asks on request, writes only in this folder: as before, nothing wider",
            "",
        ),
    ],
)
async def test_a_limit_that_codex_has_no_word_for(
    tmp_path: Path, limit: str, started: tuple[str, str], may_do: str, told: str
) -> None:
    with inhabited(tmp_path) as world:
        world.allow(approval=limit)
        world.scratch()
        thread = world.codex("v171_on_request_two_turns")
        report = await resume_unattended(world.serve("repo"), thread)
        assert started_with(report) == recorded_for(report) == started
        assert report.six.may_do.summary == may_do
        assert told in report.handover
        assert ("you ask" in report.handover) == bool(told)
        assert report.launch is not None
        assert report.launch.notes == ()
        assert "untrusted" not in msgspec.json.encode(report.subsystems).decode()


async def test_a_look_says_what_a_limit_makes_of_it(tmp_path: Path) -> None:
    with inhabited(tmp_path) as world:
        world.allow(approval="untrusted")
        world.scratch()
        thread = world.codex("v171_on_request_two_turns")
        report = await resume_unattended(world.serve("repo"), thread)
        (drift,) = [drift for drift in report.drifts if drift.subsystem == "permissions"]
        assert [(row.what, row.now) for row in drift.differences] == [("may change", "nothing")]
        assert drift.reason.endswith(
            "settings.toml. Codex cannot be started so that it asks before most commands, so it reads only."
        )
