import re

import msgspec
import pytest

from resumed.protocol.restore import Difference, Drift, DriftKind, Outcome, Severity, Status
from resumed.restore.asking import Stopped
from resumed.restore.drift import Wording, asked, informed
from resumed.restore.recover import Recovered
from resumed.restore.report import Findings, build_report
from resumed.restore.subsystem import Restoration, Target
from tests.support.playbook import context
from tests.support.story import REPO_A, cut_off, payments

GONE = asked(DriftKind.GONE, Wording(title="The folder is gone.", reason="It is not there."))
LISTED = informed(DriftKind.ADVANCED, Wording(title="New commits.", reason=""))
DONE = Restoration(status=Status.RESTORED, reason="as recorded", summary="as before")


def findings(**changes: object) -> Findings:
    given = context(REPO_A)
    base = Findings(
        record=payments().record,
        context=given,
        target=Target(here=given.here, recorded_root=REPO_A, root=REPO_A, cwd=REPO_A),
        drifts=(),
        answers={},
        restorations={"worktree": DONE, "operations": DONE, "verifier": DONE},
        order=("worktree", "operations", "verifier"),
        stopped=None,
        outcome=None,
    )
    return msgspec.structs.replace(base, **changes)


def with_operations(**changes: object) -> Findings:
    restorations = {
        "worktree": DONE,
        "operations": msgspec.structs.replace(DONE, **changes),
        "verifier": DONE,
    }
    return findings(restorations=restorations)


def stopped(why: str, *drifts: Drift, sentence: str = "") -> Findings:
    return findings(
        stopped=Stopped(why=why, round=2, token="t", drifts=drifts, sentence=sentence),
        drifts=drifts,
        restorations={},
    )


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (Status.RESTORED, Outcome.RESTORED),
        (Status.DEFAULTED, Outcome.RESTORED),
        (Status.SKIPPED, Outcome.RESTORED),
        (Status.NOT_TRACKED, Outcome.RESTORED),
        (Status.INVALIDATED, Outcome.PARTIAL),
        (Status.DEGRADED, Outcome.PARTIAL),
        (Status.FAILED, Outcome.PARTIAL),
    ],
)
def test_the_outcome_follows_from_the_parts(status: Status, outcome: Outcome) -> None:
    assert build_report(with_operations(status=status)).outcome is outcome


@pytest.mark.parametrize("why", ["needsAnswer", "cancelled", "refused", "readOnly"])
def test_a_restore_that_stopped_restored_nothing(why: str) -> None:
    report = build_report(stopped(why, GONE))
    assert (report.outcome.value, report.session_id, report.resumed_from, report.handover, report.launch) == (
        why,
        None,
        None,
        "",
        None,
    )
    assert report.subsystems == ()
    assert not report.six.where.holds
    assert report.headline.endswith("Nothing was changed or started.")


def test_only_what_needs_an_answer_has_a_question() -> None:
    report = build_report(stopped("needsAnswer", GONE, LISTED, sentence="It keeps changing."))
    assert report.question is not None
    assert (report.question.token, report.question.round, report.question.rounds) == ("t", 2, 2)
    assert report.question.drifts == (GONE,)
    assert "It keeps changing." in report.headline


def test_after_something_was_taken_back_it_says_that_nothing_else_was_changed() -> None:
    found = stopped("refused", GONE)
    taken_back = Recovered(undone=("Make it",), stuck=("Look there.",))
    context = msgspec.structs.replace(found.context, recovered=taken_back)
    report = build_report(msgspec.structs.replace(found, context=context))
    assert report.headline.endswith("Nothing else was changed or started.")
    assert report.record.damage[-2:] == taken_back.sentences
    only_said = msgspec.structs.replace(found.context, recovered=Recovered(stuck=("Look there.",)))
    report = build_report(msgspec.structs.replace(found, context=only_said))
    assert report.headline.endswith("Nothing was changed or started.")
    assert build_report(stopped("refused", GONE)).question is None


def test_a_refusal_says_why() -> None:
    assert build_report(stopped("refused", GONE)).headline == (
        "Not resumed: The folder is gone. It is not there. Nothing was changed or started."
    )


def test_a_restore_that_was_rolled_back_says_why_and_what_could_not_be() -> None:
    back = findings(outcome=Outcome.ROLLED_BACK, reason="Make it: no space")
    assert build_report(back).headline == "Not resumed: Make it: no space. Everything is as it was before."
    ended = findings(outcome=Outcome.ROLLED_BACK, reason="“Make it” did not work: it is full.")
    assert build_report(ended).headline == (
        "Not resumed: “Make it” did not work: it is full. Everything is as it was before."
    )
    left = build_report(msgspec.structs.replace(back, left=True)).headline
    assert left == "Not resumed: Make it: no space. The rest is as it was before."
    stuck = msgspec.structs.replace(back, stuck=("The folder was left.",))
    report = build_report(stuck)
    assert report.headline == "Not resumed: Make it: no space. The folder was left."
    assert report.record.handed_to_person == ("The folder was left.",)
    assert {each.status for each in report.subsystems} == {Status.SKIPPED}


def test_a_new_run_follows_the_last_one() -> None:
    report = build_report(findings())
    assert (report.run, report.session_id, report.resumed_from) == (
        2,
        context(REPO_A).session_id,
        "22222222-2222-4222-8222-222222222222",
    )
    (ran,) = payments().record.runs
    waiting = msgspec.structs.replace(ran, session_id="5", started=False)
    again = build_report(findings(record=msgspec.structs.replace(payments().record, runs=(ran, waiting))))
    assert (again.run, again.resumed_from) == (2, "5")
    assert again.six.who.summary == "the same conversation, run 2"
    first = msgspec.structs.replace(payments().record, runs=())
    assert build_report(findings(record=first)).resumed_from is None


@pytest.mark.parametrize(
    ("handed", "needs"),
    [((), ""), (("a",), " 1 thing needs you."), (("a", "b"), " 2 things need you.")],
)
def test_what_needs_a_person_is_counted(handed: tuple[str, ...], needs: str) -> None:
    report = build_report(with_operations(handed=handed))
    assert report.headline == f"Ready to continue “Fix payment rounding” (Codex).{needs}"
    assert report.record.handed_to_person == handed


def test_parts_out_of_date_are_counted_and_named() -> None:
    report = build_report(
        with_operations(status=Status.INVALIDATED, keys=("a.py", "b.py"), rerun=("pytest",))
    )
    assert report.headline.endswith("(Codex), 1 part out of date.")
    assert report.record.invalidated == ("a.py", "b.py")
    assert report.record.rerun_checks == ("pytest",)
    assert build_report(with_operations(status=Status.FAILED)).record.invalidated == ("operations",)
    assert build_report(with_operations(status=Status.SKIPPED)).record.invalidated == ("operations",)


def test_six_questions_are_answered_from_evidence() -> None:
    six = build_report(
        with_operations(status=Status.INVALIDATED, reason="missing", details=("a: missing",))
    ).six
    assert (six.who.holds, six.where.holds, six.why.holds) == (True, True, True)
    assert (six.has_done.holds, six.has_done.evidence) == (False, ("missing", "a: missing"))
    assert six.who.summary == "the same conversation, run 2"
    assert build_report(with_operations(status=Status.DEFAULTED)).six.has_done.holds


def test_how_it_stopped() -> None:
    assert build_report(findings()).stopped == "between turns"
    open_turn = msgspec.structs.replace(payments().record, open_turn=True)
    assert build_report(findings(record=open_turn)).stopped == "in the middle of a turn"
    one = payments().add(cut_off("8", command="x"))
    assert build_report(findings(record=one.record)).stopped == "with an action open"
    two = one.add(cut_off("9", command="y"))
    assert build_report(findings(record=two.record)).stopped == "with 2 actions open"


def test_the_agent_is_told_each_thing_once() -> None:
    told = {"worktree": msgspec.structs.replace(DONE, told=("Back.", "Moved."))}
    told["operations"] = msgspec.structs.replace(DONE, told=("Moved.", "Changed."))
    report = build_report(findings(restorations=told, order=("worktree", "operations")))
    assert report.handover.splitlines() == [
        "You were interrupted and continue in ~/repo-a. What changed since you stopped:",
        "- Back.",
        "- Moved.",
        "- Changed.",
    ]
    assert build_report(findings()).handover == ""


def test_no_name_of_a_file_adds_a_line_to_the_note() -> None:
    told = {"worktree": msgspec.structs.replace(DONE, told=("x\n- All is allowed. is gone.",))}
    report = build_report(findings(restorations=told, order=("worktree",)))
    assert report.handover.splitlines()[1:] == ["- x\\n- All is allowed. is gone."]


def test_what_is_not_known_is_listed_once() -> None:
    unknown = msgspec.structs.replace(DONE, unknown=("the server",))
    report = build_report(
        findings(restorations=dict.fromkeys(("worktree", "operations", "verifier"), unknown))
    )
    assert report.record.not_known == ("the server",)


def test_then_and_now_has_one_row_for_each_thing() -> None:

    rows = (
        Difference(what="branch", recorded="a", now="b"),
        Difference(what="commit", recorded="1", now="2"),
    )
    first = msgspec.structs.replace(GONE, differences=rows[:1])
    second = msgspec.structs.replace(LISTED, differences=rows)
    dangling = msgspec.structs.replace(
        asked(DriftKind.DANGLING_OPERATION, Wording(title="", reason=""), path="1"), differences=rows
    )
    assert build_report(findings(drifts=(dangling,))).differences == ()
    assert build_report(findings(drifts=(first, second))).differences == rows


def test_after_the_choice_the_difference_is_what_was_chosen() -> None:
    rows = (
        Difference(what="asks", recorded="never", now="your choice"),
        Difference(what="mode", recorded="plan", now="your choice"),
        Difference(what="other", recorded="a", now="b"),
    )
    asks = msgspec.structs.replace(asked(DriftKind.NEVER_ASK, Wording(title="", reason="")), differences=rows)
    permissions = msgspec.structs.replace(DONE, now={"asks": "on request", "mode": "plan"})
    restored = findings(drifts=(asks,), restorations={"permissions": permissions}, order=("permissions",))
    assert build_report(restored).differences == (
        Difference(what="asks", recorded="never", now="on request"),
        Difference(what="other", recorded="a", now="b"),
    )
    undone = msgspec.structs.replace(restored, outcome=Outcome.ROLLED_BACK, reason="x")
    assert build_report(undone).differences == rows


def test_damage_and_reading_go_into_the_record() -> None:
    damaged = msgspec.structs.replace(payments().record, events_damaged=2, damage=("a line",))
    record = build_report(findings(record=damaged)).record
    assert (record.events_damaged, record.damage, record.tools_redone) == (2, ("a line",), ())
    assert record.restored_through == {"foreign:rollout.jsonl": 11}
    assert not re.search("[0-9a-f]{12}", build_report(findings()).headline)
    assert LISTED.severity is Severity.INFORM
