import msgspec
import pytest

from resumed.protocol.restore import Choice, Drift, DriftKind
from resumed.restore import place_wording
from resumed.restore.place import Place, WorktreeState, judge
from resumed.restore.probes import FolderProbe, HistoryProbe, Seen
from resumed.restore.subsystem import Target
from tests.support.looks import observed, state_of, target_at, without
from tests.support.situations import SITUATIONS
from tests.support.story import BRANCH, REPO_A, REPO_B, Story, payments

FILES = ("rounding.py",)


def looked(
    story: Story, root: str, *hidden: type, files: tuple[str, ...] | None = FILES
) -> tuple[WorktreeState, Place, Seen, Target]:
    target, state = target_at(root, files), state_of(story)
    seen = without(observed(story, state, target), *hidden)
    return state, judge(state, seen, target), seen, target


def choice(drift: Drift, choice_id: str) -> Choice:
    return next(each for each in drift.choices if each.id == choice_id)


def obstacles(drift: Drift) -> dict[str, str]:
    return {each.id: each.not_possible for each in drift.choices if each.not_possible}


@pytest.mark.parametrize(
    ("kind", "hidden", "title"),
    [
        (DriftKind.ADVANCED, (), "fix/payment has new commits since."),
        (DriftKind.REWRITTEN, (), "The branch was rewritten since."),
        (DriftKind.REWRITTEN, (HistoryProbe,), "fix/payment is at another commit."),
        (DriftKind.COMMIT_GONE, (), "The commit {sha} is not in this repository any more."),
    ],
)
def test_another_commit(kind: DriftKind, hidden: tuple[type, ...], title: str) -> None:
    story, root = SITUATIONS[kind]()
    drift = place_wording.commit_question(kind, *looked(story, root, *hidden))
    sha = story.recorded_sha()[:7]
    assert drift.title == title.format(sha=sha)
    assert drift.reason.startswith(f"It was at {sha} when it started; now ")
    assert ("could not be looked at" in drift.reason) == bool(hidden)
    assert drift.facts["files"] == "rounding.py"
    assert drift.severity.value == "ask"


@pytest.mark.parametrize("kind", [DriftKind.ADVANCED, DriftKind.REWRITTEN])
def test_opening_the_recorded_commit_says_where_and_on_what(kind: DriftKind) -> None:
    story, root = SITUATIONS[kind]()
    opened = choice(place_wording.commit_question(kind, *looked(story, root)), "newWorktree")
    sha = story.recorded_sha()[:7]
    assert opened.label == f"Open the recorded commit {sha} in a new folder ~/repo-a.fix-payment"
    assert opened.detail == "On no branch. ~/repo-a stays as it is."


def test_a_branch_that_lost_its_commits_is_not_called_rewritten() -> None:
    story = payments()
    story.payments.trees[REPO_A].sha = None
    drift = place_wording.commit_question(DriftKind.REWRITTEN, *looked(story, REPO_A, HistoryProbe))
    assert drift.title == "fix/payment has no commits any more."
    assert drift.reason.startswith(f"It was at {story.recorded_sha()[:7]} when it started; now no commit.")


def test_a_branch_that_was_set_back_is_not_called_rewritten() -> None:
    story = payments()
    story.payments.branches[BRANCH] = story.payments.branches["main"]
    story.payments.trees[REPO_A].sha = story.payments.branches["main"]
    drift = place_wording.commit_question(DriftKind.REWRITTEN, *looked(story, REPO_A))
    assert drift.title == "fix/payment was set back to an older commit."


def test_something_half_finished_needs_its_name_typed() -> None:
    story, root = SITUATIONS[DriftKind.IN_PROGRESS]()
    _, place, _, target = looked(story, root)
    assert place.repository is not None
    counted = msgspec.structs.replace(place.repository, done=3, total=5)
    drift = place_wording.in_progress(msgspec.structs.replace(place, repository=counted), target)
    assert drift.title == "A rebase is half finished here."
    assert drift.reason == "3 of 5 commits. An agent editing now could damage it."
    assert (choice(drift, "continueAnyway").typed, drift.suggested) == ("rebase", "cancel")
    assert drift.facts == {"inProgress": "rebase", "done": "3"}
    uncounted = place_wording.in_progress(place, target)
    assert uncounted.reason == "An agent editing now could damage it."
    assert uncounted.facts == {"inProgress": "rebase", "done": ""}


def test_a_silent_switch() -> None:
    story, root = SITUATIONS[DriftKind.SILENT_SWITCH]()
    drift = place_wording.silent_switch(*looked(story, root))
    assert drift.reason == "It began in ~/repo-a; later Codex ran in ~/repo-b without anyone choosing that."
    assert [each.label for each in drift.choices[:2]] == ["Go back to ~/repo-a", "Continue in ~/repo-b"]
    assert obstacles(drift) == {}
    story.world.repositories[1].trees[REPO_B].in_progress = "merge"
    drift = place_wording.silent_switch(*looked(story, root))
    assert obstacles(drift) == {"last": "a merge is half finished there"}
    story.world.remove_folder(REPO_B)
    assert obstacles(place_wording.silent_switch(*looked(story, root))) == {"last": "that folder is gone"}
    assert obstacles(place_wording.silent_switch(*looked(story, root, FolderProbe))) == {
        "last": "that folder could not be looked at"
    }
