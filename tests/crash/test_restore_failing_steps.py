"""A step of a restore fails: everything is rolled back or the parts are named, never passed off."""

from collections.abc import Callable

import pytest

from resumed.protocol.restore import DriftKind, Outcome, RestoreReport, Status
from resumed.restore.effects import Journal
from resumed.restore.events.journal import RestoreClosed, RestorePlanned, RestoreStep
from resumed.restore.events.session import StateInvalidated, WorktreeBound
from resumed.restore.probes import Seen
from resumed.restore.resume import ROLLS_BACK
from resumed.restore.steps import AnyVerb, RecordState, RemoveWorktree, Step
from resumed.restore.subsystem import Choices, Restoration, Target
from resumed.restore.subsystems import SUBSYSTEMS
from resumed.restore.subsystems.untracked import Untracked
from tests.support.playbook import Play, Player, context, suggested
from tests.support.situations import SITUATIONS
from tests.support.story import COMMITTED, REPO_A, Story, cut_off, payments, permitted


def status(report: RestoreReport, name: str) -> Status:
    return next(each.status for each in report.subsystems if each.name == name)


def restored_with(refused: Callable[[AnyVerb], bool]) -> tuple[Play, Story, object]:
    """Everything that can be a step, one of them refused."""
    story, root = SITUATIONS[DriftKind.WORKTREE_REMOVED]()
    story.add(permitted("never"), cut_off("op-9", command="x"))
    before = story.world.outside()
    player = Player(
        story.world, [suggested, suggested], refuses=lambda verb: "no space" if refused(verb) else None
    )
    return player.play(story.record, context(root)), story, before


def event_of(verb: AnyVerb) -> str:
    return verb.events[0][0] if isinstance(verb, RecordState) else type(verb).__name__


@pytest.mark.parametrize(
    ("event", "owner"),
    [
        ("AddWorktree", "worktree"),
        ("worktree_bound", "worktree"),
        ("permissions_set", "permissions"),
        ("operation_resolved", "operations"),
        ("model_set", "model"),
        ("state_invalidated", "operations"),
    ],
)
def test_a_step_that_fails_is_never_called_restored(event: str, owner: str) -> None:
    failed, story, before = restored_with(lambda verb: event_of(verb) == event)
    report = failed.ended
    if owner in ROLLS_BACK:
        assert (report.outcome, report.launch, story.world.outside()) == (Outcome.ROLLED_BACK, None, before)
        assert report.headline.endswith("no space. Everything is as it was before.")
        assert {each.status for each in report.subsystems} == {Status.SKIPPED, Status.NOT_TRACKED}
    else:
        assert report.outcome is Outcome.PARTIAL
        assert status(report, owner) is Status.FAILED
        later = ("conversation", "operations", "verifier")
        assert {status(report, name) for name in later} == {Status.SKIPPED}
        assert report.launch is not None
    closed = failed.journal[-1]
    assert isinstance(closed, RestoreClosed)
    assert closed.outcome == report.outcome.value


def test_a_check_that_cannot_be_recorded_makes_it_partial() -> None:
    story = payments()
    story.world.files[f"{REPO_A}/rounding.py"] = COMMITTED
    player = Player(
        story.world,
        [suggested],
        refuses=lambda verb: "no space" if event_of(verb) == "state_invalidated" else None,
    )
    report = player.play(story.record, context(REPO_A)).ended
    assert (report.outcome, status(report, "verifier")) == (Outcome.PARTIAL, Status.FAILED)


def test_what_cannot_be_rolled_back_is_said() -> None:
    stuck, story, before = restored_with(
        lambda verb: event_of(verb) == "permissions_set" or isinstance(verb, RemoveWorktree)
    )
    assert stuck.ended.outcome is Outcome.ROLLED_BACK
    assert "as it was before" not in stuck.ended.headline
    assert stuck.ended.headline.endswith("“Make ~/repo-a.wt on fix/payment” could not be undone: no space.")
    assert stuck.ended.record.handed_to_person[-1].endswith("could not be undone: no space.")
    assert story.world.outside() != before
    # Whoever resumes next is in that folder: it was made, and edits are missing from it.
    (closed,) = (each for each in stuck.trace if isinstance(each, Journal) and each.more)
    bound, lost = closed.more
    assert isinstance(bound, WorktreeBound)
    assert (bound.root, bound.made) == (f"{REPO_A}.wt", True)
    assert isinstance(lost, StateInvalidated)
    assert lost.subsystem == "operations"


class TwoSteps(Untracked, frozen=True, kw_only=True):
    """A subsystem that records two things, one step each."""

    def steps(self, state: None, seen: Seen, choices: Choices, target: Target) -> Restoration:
        """Two records."""
        step = Step(subsystem=self.name, title="Record", do=RecordState(events=((self.name, {}),)))
        return Restoration(status=Status.RESTORED, reason="", summary="", steps=(step, step))


def test_a_step_after_one_that_was_left_out_keeps_its_number_in_the_plan(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tools = TwoSteps(name="tools", after=("permissions",))
    others = tuple(each for each in SUBSYSTEMS if each.name != "tools")
    monkeypatch.setattr("tests.support.playbook.SUBSYSTEMS", (*others, tools))
    story = payments().add(cut_off("op-9", command="x"))
    player = Player(
        story.world, [suggested], refuses=lambda verb: "no space" if event_of(verb) == "tools" else None
    )
    played = player.play(story.record, context(REPO_A))
    (plan,) = [each for each in played.journal if isinstance(each, RestorePlanned)]
    done = [each.n for each in played.journal if isinstance(each, RestoreStep) and each.state == "done"]
    assert [plan.steps[n - 1]["subsystem"] for n in done] == [
        "worktree",
        "permissions",
        "model",
        "operations",
    ]
    assert done == [1, 2, 3, 6]
