import msgspec
import pytest

from resumed.protocol.restore import Answer, DriftKind, Outcome, RestoreReport, Severity, Status
from resumed.restore.drift import RULES, STOP
from resumed.restore.effects import Ask, Cancelled, Observe, PlanLaunch, Unanswered
from resumed.restore.events.journal import RestoreAnswered, RestorePlanned, RestoreStep
from resumed.restore.events.session import WorktreeBound
from resumed.restore.probes import FileProbe, RepositoryProbe
from tests.support.playbook import play, suggested, taking
from tests.support.situations import SITUATIONS
from tests.support.story import (
    BRANCH,
    REPO_A,
    Story,
    cut_off,
    linked_path,
    payments,
    permitted,
)

PLACES = [kind for kind, rule in RULES.items() if rule.subsystem == "worktree"]
INFORMED = [DriftKind.POLICY_STRICTER]


def status(report: RestoreReport, name: str) -> Status:
    return next(each.status for each in report.subsystems if each.name == name)


def allowed(story: Story) -> tuple[object, object]:
    fields = next(fields for name, fields in reversed(story.world.recorded) if name == "permissions_set")
    return fields["approval"], fields["sandbox"]


def test_the_calm_case_asks_nothing_and_is_ready() -> None:
    story = payments()
    before = story.world.outside()
    calm = play(story.record, story.world, REPO_A)
    report = calm.ended
    assert (report.outcome, calm.asked, calm.outward) == (Outcome.RESTORED, [], [])
    assert story.world.outside() == before
    assert {status(report, each.name) for each in report.subsystems} == {Status.RESTORED, Status.NOT_TRACKED}
    assert report.headline == "Ready to continue “Fix payment rounding” (Codex)."
    assert report.launch is not None
    assert (report.launch.folder, report.drifts, report.handover) == (REPO_A, (), "")
    assert allowed(story) == ("on-request", "workspace-write")


def test_the_journal_begins_before_the_first_step_and_ends_last() -> None:
    story = payments()
    assert play(story.record, story.world, REPO_A).notation == [
        "planned",
        *(word for n in (1, 2, 3) for word in (f"begun {n}", "RecordState", f"done {n}")),
        "closed restored",
    ]


def test_the_plan_holds_every_step_with_its_undo() -> None:
    story, root = SITUATIONS[DriftKind.BRANCH_DIFFERS]()
    switched = play(story.record, story.world, root, taking(branchDiffers="switch"), suggested)
    (plan,) = [each for each in switched.journal if isinstance(each, RestorePlanned)]
    assert [step["do"]["type"] for step in plan.steps] == [
        "SwitchBranch",
        *["RecordState"] * (len(plan.steps) - 1),
    ]
    assert plan.steps[0]["undo"]["to_branch"] == "main"
    done = [each.n for each in switched.journal if isinstance(each, RestoreStep) and each.state == "done"]
    assert done == list(range(1, len(plan.steps) + 1))
    assert plan.drift[0] == "worktree.branchDiffers"


@pytest.mark.parametrize("kind", [kind for kind in SITUATIONS if kind not in INFORMED])
def test_every_kind_is_asked_about_in_its_round(kind: DriftKind) -> None:
    story, root = SITUATIONS[kind]()
    before = story.world.outside()
    left = play(story.record, story.world, root, Cancelled())
    assert [drift.kind for drift in left.asks[0].drifts] == [kind]
    assert left.asks[0].round == (1 if kind in PLACES else 2)
    assert left.ended.outcome in (Outcome.CANCELLED, Outcome.REFUSED)
    assert (left.verbs, left.ended.launch, story.world.outside()) == ([], None, before)


@pytest.mark.parametrize("kind", INFORMED)
def test_what_is_only_listed_is_not_asked(kind: DriftKind) -> None:
    story, root = SITUATIONS[kind]()
    calm = play(story.record, story.world, root)
    assert [drift.kind for drift in calm.ended.drifts] == [kind]
    assert calm.ended.outcome is Outcome.RESTORED


@pytest.mark.parametrize("kind", SITUATIONS)
def test_with_nobody_to_ask_nothing_is_written_or_loosened(kind: DriftKind) -> None:
    story, root = SITUATIONS[kind]()
    before = story.world.outside()
    alone = play(story.record, story.world, root, unattended=True)
    assert (story.world.outside(), alone.outward, alone.asked) == (before, [], [])
    stops = RULES[kind].unattended == STOP and RULES[kind].severity is not Severity.INFORM
    assert (alone.ended.outcome is Outcome.NEEDS_ANSWER) == stops
    assert stops == (kind in PLACES)
    if stops:
        assert story.world.recorded == []
        assert alone.ended.question is not None
        return
    approval, sandbox = allowed(story)
    assert approval == "on-request"
    assert sandbox in ("read-only", "workspace-write")


@pytest.mark.parametrize("kind", [kind for kind in SITUATIONS if kind not in INFORMED])
def test_just_reading_writes_nothing(kind: DriftKind) -> None:
    story, root = SITUATIONS[kind]()
    before = story.world.outside()

    def read(ask: Ask) -> dict[str, str]:
        return {ask.drifts[0].id: "readOnly"}

    reading = play(story.record, story.world, root, read)
    assert (reading.ended.outcome, reading.verbs, reading.ended.launch) == (Outcome.READ_ONLY, [], None)
    assert (story.world.outside(), story.world.recorded) == (before, [])


@pytest.mark.parametrize("kind", PLACES)
def test_a_client_that_cannot_be_asked_gets_the_question_and_comes_back_with_answers(kind: DriftKind) -> None:
    story, root = SITUATIONS[kind]()
    first = play(story.record, story.world, root, Unanswered())
    question = first.ended.question
    assert question is not None
    assert first.ended.outcome is Outcome.NEEDS_ANSWER
    given = {
        drift.id: Answer(choice=drift.suggested or "", typed=None)
        for drift in question.drifts
        if drift.suggested not in ("readOnly", "cancel")
    }
    if not given:
        return
    again = play(
        story.record, story.world, root, *(), given=given, given_token=question.token, unattended=True
    )
    assert again.ended.outcome in (Outcome.RESTORED, Outcome.PARTIAL, Outcome.NEEDS_ANSWER)
    assert "planned" in again.notation or again.ended.question is not None


def test_two_rounds_the_place_first_and_then_the_rest_together() -> None:
    story, root = SITUATIONS[DriftKind.WORKTREE_REMOVED]()
    story.add(permitted("never", goal="active"), cut_off("op-9", command="npm run migrate"))
    restored = play(story.record, story.world, root, suggested, suggested)
    assert restored.asked == [
        ["worktree.worktreeRemoved"],
        ["permissions.neverAsk", "permissions.activeGoal", "operations.danglingOperation:op-9"],
    ]
    assert restored.outward == ["AddWorktree"]
    report = restored.ended
    assert report.outcome is Outcome.PARTIAL
    operations = next(each for each in report.subsystems if each.name == "operations")
    assert operations.status is Status.INVALIDATED
    assert operations.details[:2] == (
        "rounding.py: 1 line added by the agent is missing",
        "note.txt: written by the agent, missing",
    )
    assert report.record.invalidated == ("rounding.py", "note.txt", "tests")
    assert report.record.handed_to_person == ("`npm run migrate`",)
    assert report.launch is not None
    assert report.launch.folder == linked_path()
    answered = [each for each in restored.journal if isinstance(each, RestoreAnswered)]
    assert [each.round for each in answered] == [1, 2]
    assert answered[1].token.startswith(f"{answered[0].token}.")


def test_a_token_of_both_rounds_carries_both_answers() -> None:
    story, root = SITUATIONS[DriftKind.WORKTREE_REMOVED]()
    story.add(permitted("never"))
    first = play(story.record, story.world, root, suggested, Unanswered())
    question = first.ended.question
    assert question is not None
    assert question.round == 2
    given = {
        "worktree.worktreeRemoved": Answer(choice="recreate"),
        "permissions.neverAsk": Answer(choice="onRequest"),
    }
    again = play(story.record, story.world, root, given=given, given_token=question.token)
    assert (again.asked, again.ended.outcome) == ([], Outcome.PARTIAL)


def test_staying_on_another_branch_leaves_the_edits_out_of_date() -> None:
    story, root = SITUATIONS[DriftKind.BRANCH_DIFFERS]()
    stayed = play(story.record, story.world, root, taking(branchDiffers="stay"))
    assert (stayed.outward, stayed.ended.outcome) == ([], Outcome.PARTIAL)
    assert stayed.ended.headline.endswith("2 parts out of date.")
    assert status(stayed.ended, "operations") is Status.INVALIDATED
    assert stayed.ended.record.invalidated == ("rounding.py", "tests")
    assert "This folder is on main, not on fix/payment." in stayed.ended.handover


def test_switching_back_moves_head_once_and_keeps_what_is_not_committed() -> None:
    story, root = SITUATIONS[DriftKind.BRANCH_DIFFERS]()
    switched = play(story.record, story.world, root, taking(branchDiffers="switch"), suggested)
    assert switched.outward == ["SwitchBranch"]
    assert story.payments.trees[REPO_A].branch == BRANCH
    assert story.world.files[f"{REPO_A}/note.txt"]
    assert switched.asked[1] == ["operations.fileReverted:rounding.py"]
    assert status(switched.ended, "operations") is Status.RESTORED


def test_after_recreating_the_real_folder_is_looked_at() -> None:
    story, root = SITUATIONS[DriftKind.WORKTREE_REMOVED]()
    restored = play(story.record, story.world, root, suggested)
    made = next(
        n for n, each in enumerate(restored.trace) if getattr(each, "verb", None) in restored.verbs[:1]
    )
    looks = [each for each in restored.trace[made:] if isinstance(each, Observe)]
    assert any(FileProbe(f"{linked_path()}/rounding.py") in each.probes for each in looks)


def test_every_step_is_done_between_its_two_records() -> None:
    for kind, choice in ((DriftKind.WORKTREE_REMOVED, "recreate"), (DriftKind.BRANCH_DIFFERS, "switch")):
        story, root = SITUATIONS[kind]()
        words = play(
            story.record, story.world, root, *[taking(**{kind.value: choice})] * (1 + (choice == "switch"))
        ).notation
        steps = words[words.index("planned") + 1 : -1]
        assert len(steps) % 3 == 0
        for begun, verb, done in zip(steps[::3], steps[1::3], steps[2::3], strict=True):
            assert begun.startswith("begun")
            assert verb in ("AddWorktree", "SwitchBranch", "RecordState")
            assert done == begun.replace("begun", "done")


def test_a_damaged_record_is_degraded_and_never_passed_off_as_whole() -> None:
    story = payments()
    damaged = msgspec.structs.replace(story.record, degraded={"todos": "1 line was lost"})
    report = play(damaged, story.world, REPO_A).ended
    assert (report.outcome, status(report, "todos")) == (Outcome.PARTIAL, Status.DEGRADED)


def test_the_launch_is_planned_only_for_what_may_start() -> None:
    story, root = SITUATIONS[DriftKind.OTHER_PROJECT]()
    left = play(story.record, story.world, root, Cancelled())
    assert not any(isinstance(each, PlanLaunch) for each in left.trace)
    opened = play(story.record, story.world, root, suggested)
    assert opened.ended.launch is not None
    assert opened.ended.launch.folder == REPO_A


def test_going_on_in_the_last_folder_needs_no_answer_about_the_recorded_one() -> None:
    story, root = SITUATIONS[DriftKind.WORKTREE_REMOVED]()
    story.add(WorktreeBound(cwd=REPO_A, cause="agentSilent"))

    def last(ask: Ask) -> dict[str, str]:
        assert [drift.kind for drift in ask.drifts] == [DriftKind.SILENT_SWITCH, DriftKind.WORKTREE_REMOVED]
        return {"worktree.silentSwitch": "last"}

    went = play(story.record, story.world, root, last, suggested)
    assert (went.outward, went.ended.launch and went.ended.launch.folder) == ([], REPO_A)
    assert went.asked[1:] == [
        [f"operations.fileGone:{linked_path()}/{n}" for n in ("rounding.py", "note.txt")]
    ]
    assert went.asks[1].drifts[0].title == "~/repo-a.wt/rounding.py, which Codex edited, is gone."


@pytest.mark.parametrize("name", ["worktree", "files"])
def test_what_cannot_be_seen_is_never_taken_for_unchanged(name: str) -> None:
    story = payments()
    story.world.hidden.add(
        RepositoryProbe(REPO_A) if name == "worktree" else FileProbe(f"{REPO_A}/rounding.py")
    )
    asked = play(story.record, story.world, REPO_A, Unanswered()).asked
    assert asked == [["worktree.gone"] if name == "worktree" else ["operations.fileChanged:rounding.py"]]
