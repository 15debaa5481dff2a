"""Wire values of a restore for tests of how they read: the story of the payments project."""

import io
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import msgspec

from resumed.daemon.cli.paper import Line, Paper
from resumed.daemon.cli.words import Reader
from resumed.protocol.restore import (
    Answer,
    Choice,
    Difference,
    Drift,
    DriftKind,
    Evidence,
    LaunchPlan,
    LaunchStep,
    Outcome,
    Question,
    Record,
    RestoreReport,
    Severity,
    SixQuestions,
    Status,
    SubsystemReport,
)

READER = Reader(now=datetime(2026, 12, 1, 10, 0, tzinfo=UTC), home="/home/kim")
NATIVE = "5973b6c0-52f1-4f0e-9a57-0c1d6a8f2b11"
JUST_READ = Choice(id="readOnly", label="Just read", detail="Nothing is started or changed.")

ON_ANOTHER_BRANCH = Drift(
    id="worktree.branchDiffers",
    kind=DriftKind.BRANCH_DIFFERS,
    subsystem="worktree",
    severity=Severity.ASK,
    title="You are on a different branch.",
    reason="It was on fix/payment; this folder is on main. Its 2 edited files differ here.",
    differences=(Difference(what="branch", recorded="fix/payment (4f8c2d1)", now="main (b71e09a)"),),
    choices=(
        Choice(
            id="newWorktree",
            label="Continue on fix/payment in a new folder",
            detail="~/repo-a stays on main.",
        ),
        Choice(id="switch", label="Switch this folder back", not_possible="README.md is uncommitted"),
        Choice(id="stay", label="Stay on main and tell the agent", detail="its test result no longer counts"),
        JUST_READ,
    ),
    suggested="newWorktree",
)
NEVER_ASKED = Drift(
    id="permissions.neverAsk",
    kind=DriftKind.NEVER_ASK,
    subsystem="permissions",
    severity=Severity.ASK,
    title="Last time it ran without asking you.",
    reason="We never turn that back on by ourselves.",
    differences=(Difference(what="asks", recorded="never", now="your choice"),),
    choices=(
        Choice(id="onRequest", label="Start with questions on"),
        Choice(id="never", label="Without questions, this run only", typed="skip"),
        JUST_READ,
    ),
    suggested="onRequest",
    unattended="onRequest",
)
OF_ANOTHER_PROJECT = Drift(
    id="worktree.otherProject",
    kind=DriftKind.OTHER_PROJECT,
    subsystem="worktree",
    severity=Severity.BLOCK,
    title="This conversation belongs to another project.",
    reason="It ran in ~/repo-a; this is ~/repo-b, a different repository.",
    differences=(
        Difference(what="folder", recorded="~/repo-a", now="~/repo-b"),
        Difference(what="repository", recorded="github.com/acme/payments", now="github.com/acme/storefront"),
        Difference(what="branch", recorded="fix/payment (4f8c2d1)", now="main (77d0c3e)"),
    ),
    facts={"base": "/home/kim/repo-a"},
    choices=(Choice(id="open", label="Open ~/repo-a and continue there"), JUST_READ),
    suggested="open",
)


def changed_file(path: str, severity: Severity = Severity.ASK) -> Drift:
    """A file that is not as the agent left it; one that is only listed has no choices."""
    asked = severity is not Severity.INFORM
    keep = Choice(id="keep", label="Keep it as it is", detail="Nothing is written to it.")
    return Drift(
        id=f"operations.fileChanged:{path}",
        kind=DriftKind.FILE_CHANGED,
        subsystem="operations",
        severity=severity,
        title=f"{path} was changed after Codex.",
        reason="It will be kept exactly as it is, and the agent is told.",
        path=path,
        differences=(Difference(what=path, recorded="as the agent left it", now="other text"),),
        choices=(keep, JUST_READ) if asked else (),
        suggested="keep" if asked else None,
        unattended="keep" if asked else "",
    )


def question(*drifts: Drift, round_number: int = 1) -> Question:
    """One round that asks these."""
    return Question(
        restore_id="r",
        thread_id=NATIVE,
        thread_name="Fix payment rounding",
        token=f"token-{round_number}",
        round=round_number,
        rounds=2,
        drifts=drifts,
    )


PLAN = LaunchPlan(
    argv=("codex", "resume", NATIVE, "-C", "/home/kim/repo-a", "-s", "workspace-write", "-a", "on-request"),
    folder="/home/kim/repo-a",
)
PAUSE = LaunchStep(
    title="Pause the goal, so that nothing starts by itself", argv=("codex", "app-server"), requests=()
)


def part(name: str, summary: str, status: Status = Status.RESTORED, **more: Any) -> SubsystemReport:
    """One subsystem's outcome."""
    return SubsystemReport(name=name, status=status, summary=summary, **{"reason": "as recorded", **more})


PARTS = (
    part("environment", "Codex 0.171.0"),
    part("worktree", "~/repo-a, fix/payment, 4f8c2d1 (was on main)"),
    part("permissions", "asks on request, writes only in this folder: as before, nothing wider"),
    part("model", "gpt-5.5, as before"),
    part("tools", "not tracked", Status.NOT_TRACKED),
    part("conversation", "40 entries, 9 turns of yours; never shortened", details=("last said: done",)),
    part(
        "operations",
        "23 actions, none repeated",
        details=("`pytest -x tests` was cut off: the agent will check first",),
    ),
    part("verifier", "tests 7/9 still counts: same command, same files. Failing: half_even, jpy"),
    part("todos", '3 of 5, next "Round JPY to whole yen"'),
    part("cost", "about $1.84 so far, continues. Next message re-sends ~61k tokens"),
    part("attribution", "not tracked", Status.NOT_TRACKED),
)


def report(outcome: Outcome, headline: str, **more: Any) -> RestoreReport:
    """The report of the story, with these fields instead of the story's."""
    known = Evidence(holds=True, summary="known")
    whole = RestoreReport(
        restore_id="r",
        thread_id=NATIVE,
        thread_name="Fix payment rounding",
        session_id="s",
        resumed_from="before",
        agent="codex",
        run=2,
        outcome=outcome,
        headline=headline,
        stopped_at="2026-11-30T18:04:00Z",
        stopped="with an action open",
        six=SixQuestions(who=known, where=known, may_do=known, has_done=known, verified_to=known, why=known),
        subsystems=PARTS,
        drifts=(),
        answers={},
        record=Record(restored_through={"session:s": 184}, events_read=184, events_damaged=0),
    )
    return msgspec.structs.replace(whole, **more)


def ready() -> RestoreReport:
    """Restored, on the branch it was on."""
    return report(
        Outcome.RESTORED,
        "Ready to continue “Fix payment rounding” (Codex). 1 thing needs you.",
        drifts=(ON_ANOTHER_BRANCH,),
        answers={ON_ANOTHER_BRANCH.id: Answer(choice="newWorktree")},
        record=Record(
            restored_through={"session:s": 184},
            events_read=184,
            events_damaged=0,
            handed_to_person=("`pytest -x tests`",),
            not_known=('MCP server "stripe"', "databases and servers outside this folder"),
        ),
        handover="You were interrupted. What changed:\n- Back on fix/payment.\n- pytest was cut off.",
        launch=PLAN,
    )


def printed(lines: Iterable[Line], width: int = 80) -> str:
    """The lines as a pipe of that width gets them."""
    stream = io.StringIO()
    Paper(stream, width).show(lines)
    return stream.getvalue()
