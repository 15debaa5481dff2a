from pathlib import Path

import msgspec
import pytest

from resumed.daemon.cli.report import report_lines, start_command
from resumed.protocol.restore import Answer, LaunchPlan, Outcome, Record, RestoreReport, Severity, Status
from tests.support.goldens import check_golden
from tests.support.reports import (
    NEVER_ASKED,
    OF_ANOTHER_PROJECT,
    ON_ANOTHER_BRANCH,
    PARTS,
    PAUSE,
    PLAN,
    READER,
    changed_file,
    part,
    printed,
    question,
    ready,
    report,
)

GOLDEN = Path(__file__).parent / "golden"


def partly() -> RestoreReport:
    """Stayed on main: lost edits, a check that no longer counts, a goal to be paused."""
    lost = changed_file("rounding.py", Severity.INFORM)
    parts = [
        part(
            "operations",
            "23 actions, none repeated; its edits of 1 file are missing here",
            Status.INVALIDATED,
            reason="edits of the agent are missing from the branch you stay on",
            details=(
                "notes.txt: kept as it is, other text",
                "rounding.py: 3 lines added by the agent are missing",
                "`pytest -x tests` was cut off: the agent will check first",
            ),
        ),
        part("verifier", "7/9 no longer counts, both files differ", Status.INVALIDATED, reason="both differ"),
        part(
            "permissions", "asks on request, reads only", Status.DEFAULTED, reason="the record does not say"
        ),
        part("model", "gpt-5.5 is gone, gpt-6 instead", Status.DEGRADED, reason="not offered now"),
        part("conversation", "40 entries", Status.DEGRADED, reason="2 events lost", details=("one", "two")),
    ]
    names = {each.name for each in parts}
    return report(
        Outcome.PARTIAL,
        "Ready to continue “Fix payment rounding” (Codex), 2 parts out of date.",
        subsystems=(*(each for each in PARTS if each.name not in names), *parts),
        drifts=(ON_ANOTHER_BRANCH, changed_file("notes.txt"), lost),
        answers={ON_ANOTHER_BRANCH.id: Answer(choice="stay")},
        record=Record(
            restored_through={"session:s": 184},
            events_read=182,
            events_damaged=2,
            invalidated=("tests", "rounding.py"),
            rerun_checks=("pytest tests",),
            damage=("2 lines of the record can't be read (events 7 and 9).",),
        ),
        handover="Read notes.txt again.",
        launch=msgspec.structs.replace(PLAN, before=(PAUSE,)),
    )


def elsewhere() -> RestoreReport:
    """Asked for in another project, with nobody to ask."""
    return report(
        Outcome.NEEDS_ANSWER,
        "Not resumed yet: This conversation belongs to another project. Nothing was changed or started.",
        drifts=(OF_ANOTHER_PROJECT,),
        differences=OF_ANOTHER_PROJECT.differences,
        question=question(OF_ANOTHER_PROJECT),
    )


def second_round() -> RestoreReport:
    """The place is answered for, the rest is not."""
    files = (changed_file("a.py"), changed_file("b.py"))
    return report(
        Outcome.NEEDS_ANSWER,
        "Not resumed yet: Last time it ran without asking you. Nothing was changed or started.",
        drifts=(ON_ANOTHER_BRANCH, NEVER_ASKED, *files),
        answers={ON_ANOTHER_BRANCH.id: Answer(choice="stay")},
        question=question(NEVER_ASKED, *files, round_number=2),
    )


def refused() -> RestoreReport:
    """No choice could help."""
    return report(
        Outcome.REFUSED,
        "Not resumed: this folder is a different project. Nothing was changed or started.",
        drifts=(OF_ANOTHER_PROJECT,),
        differences=OF_ANOTHER_PROJECT.differences,
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("restored", ready()),
        ("partial", partly()),
        ("elsewhere", elsewhere()),
        ("second_round", second_round()),
        ("refused", refused()),
        ("cancelled", report(Outcome.CANCELLED, "Left as it is. Nothing was changed or started.")),
        ("read_only", report(Outcome.READ_ONLY, "Only reading “Fix payment rounding” (Codex).")),
        ("rolled_back", report(Outcome.ROLLED_BACK, "Not resumed: git said no. Everything is as it was.")),
    ],
)
def test_reports_read_as_they_should(name: str, value: RestoreReport, update_goldens: bool) -> None:
    text = printed(report_lines(value, "fix payment", READER))
    copied = ("  Start", "  Answer:", "  Go on:", "  Just read:")
    assert all(len(line) <= 80 for line in text.splitlines() if not line.startswith(copied))
    check_golden(GOLDEN / f"report_{name}.txt", text, update_goldens)


def test_what_an_agent_wrote_cannot_steer_the_terminal() -> None:
    value = report(Outcome.RESTORED, "Ready “\x1b]0;x\x07\x1b[2Jname”", handover="\x1b[31mred", launch=PLAN)
    text = printed(report_lines(value, "fix", READER))
    assert "\x1b" not in text
    assert "Ready “name”" in text
    assert "will be told: red" in text


def test_the_command_can_be_pasted_into_a_shell() -> None:
    plan = LaunchPlan(
        argv=("agent", "say it's $5"), folder="/home/kim/my shop", environment={"MODE": "two words"}
    )
    assert start_command(plan, READER) == """cd ~/"my shop" && MODE="two words" agent 'say it'"'"'s $5'"""


def test_an_agent_without_a_command_takes_it_up_itself() -> None:
    text = printed(report_lines(report(Outcome.RESTORED, "Ready."), "fix", READER))
    assert "  Start      - Codex takes it up itself; there is no command for it\n" in text


def test_a_file_outside_the_folder_is_among_the_files_by_its_name_for_people() -> None:
    outside = changed_file("~/notes/todo.md")
    outside = msgspec.structs.replace(outside, path="/home/kim/notes/todo.md")
    done = part("operations", "3 actions, none repeated", details=("~/notes/todo.md: stays away",))
    value = report(Outcome.RESTORED, "Ready.", subsystems=(done,), drifts=(outside,))
    lines = printed(report_lines(value, "fix", READER)).splitlines()
    assert "  Files      ! ~/notes/todo.md: stays away" in lines
