import re

import msgspec
import pytest

from resumed.protocol.restore import Choice, Drift, DriftKind
from resumed.restore import place_wording
from resumed.restore.place import Place, WorktreeState, judge
from resumed.restore.probes import BranchProbe, FolderProbe, HistoryProbe, Seen
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


def branch(kind: DriftKind, *hidden: type, files: tuple[str, ...] | None = FILES) -> Drift:
    story, root = SITUATIONS[kind]()
    return place_wording.branch_question(kind, *looked(story, root, *hidden, files=files))


def choice(drift: Drift, choice_id: str) -> Choice:
    return next(each for each in drift.choices if each.id == choice_id)


def obstacles(drift: Drift) -> dict[str, str]:
    return {each.id: each.not_possible for each in drift.choices if each.not_possible}


@pytest.mark.parametrize(
    ("kind", "title", "labels"),
    [
        (
            DriftKind.BRANCH_DIFFERS,
            "You are on a different branch.",
            [
                "Continue on fix/payment in a new folder ~/repo-a.fix-payment",
                "Switch this folder back to fix/payment",
                "Stay on main and tell the agent",
                "Just read",
            ],
        ),
        (
            DriftKind.BRANCH_DELETED,
            "The branch fix/payment was deleted.",
            [
                "Make fix/payment again at {sha}, in a new folder ~/repo-a.fix-payment",
                "Stay on main and tell the agent",
                "Just read",
            ],
        ),
        (
            DriftKind.DETACHED,
            "This folder is on no branch.",
            [
                "Switch this folder back to fix/payment",
                "Continue on fix/payment in a new folder ~/repo-a.fix-payment",
                "Stay on no branch ({sha}) and tell the agent",
                "Just read",
            ],
        ),
    ],
)
def test_another_branch(kind: DriftKind, title: str, labels: list[str]) -> None:
    drift = branch(kind)
    sha = payments().recorded_sha()[:7]
    assert drift.title == title
    assert [each.label for each in drift.choices] == [label.format(sha=sha) for label in labels]
    assert obstacles(drift) == {}


@pytest.mark.parametrize(
    ("files", "words"),
    [
        (None, "this folder is on main."),
        ((), "The files it edited are the same here."),
        (("a",), "1 file it edited differs here: a."),
        (("a", "b"), "2 files it edited differ here: a and b."),
    ],
)
def test_its_files_are_counted(files: tuple[str, ...] | None, words: str) -> None:
    assert branch(DriftKind.BRANCH_DIFFERS, files=files).reason.endswith(words)


def test_why_a_switch_or_a_new_folder_is_not_possible_yet() -> None:
    story, root = SITUATIONS[DriftKind.BRANCH_DIFFERS]()
    story.world.files[f"{REPO_A}/rounding.py"] = b"mine"
    drift = place_wording.branch_question(DriftKind.BRANCH_DIFFERS, *looked(story, root))
    assert obstacles(drift) == {
        "switch": "would overwrite 1 uncommitted file: rounding.py. Commit or stash it first"
    }
    for name in ("", "-2", "-3"):
        story.world.folders.add(f"{REPO_A}.fix-payment{name}")
    drift = place_wording.branch_question(DriftKind.BRANCH_DIFFERS, *looked(story, root))
    assert obstacles(drift)["newWorktree"] == "no free name for a new folder was found"
    assert drift.suggested == "stay"


def test_a_branch_in_use_elsewhere() -> None:
    story, root = SITUATIONS[DriftKind.BRANCH_DIFFERS]()
    story.world.check_out(story.payments, "/home/dev/third", BRANCH, "linked")
    drift = place_wording.branch_question(DriftKind.BRANCH_DIFFERS, *looked(story, root))
    assert set(obstacles(drift)) == {"switch", "newWorktree"}


def test_a_branch_that_could_not_be_seen() -> None:
    assert obstacles(branch(DriftKind.BRANCH_DIFFERS, BranchProbe)) == {
        "newWorktree": "fix/payment could not be looked at",
        "switch": "the branch could not be seen",
    }


def test_a_deleted_branch_whose_commit_is_gone_too() -> None:
    story, root = SITUATIONS[DriftKind.BRANCH_DELETED]()
    del story.payments.commits[story.recorded_sha()]
    drift = place_wording.branch_question(DriftKind.BRANCH_DELETED, *looked(story, root))
    assert list(obstacles(drift)) == ["newWorktree"]
    assert "is gone too" in obstacles(drift)["newWorktree"]


def test_an_unborn_branch() -> None:
    story, root = SITUATIONS[DriftKind.BRANCH_DIFFERS]()
    story.payments.trees[REPO_A].sha = None
    drift = place_wording.branch_question(DriftKind.DETACHED, *looked(story, root, files=None))
    assert drift.title == "This folder is on a branch without commits."
    assert drift.reason == "It was on fix/payment; this folder is on main, which has no commits yet."
    assert [row.now for row in drift.differences] == ["main (no commits yet)"]
    assert choice(drift, "stay").label == "Stay on main and tell the agent"


def test_the_branch_of_another_project_is_said_to_be_its() -> None:
    story, _ = SITUATIONS[DriftKind.BRANCH_DIFFERS]()
    drift = place_wording.branch_question(DriftKind.BRANCH_DIFFERS, *looked(story, REPO_B))
    assert drift.title == "~/repo-a is on a different branch."
    assert drift.reason == (
        "It was on fix/payment; ~/repo-a is on main. 1 file it edited differs there: rounding.py."
    )
    assert choice(drift, "switch").label == "Switch ~/repo-a back to fix/payment"
    assert choice(drift, "stay").label == "Stay on main there and tell the agent"
    story.payments.trees[REPO_A].branch = None
    drift = place_wording.branch_question(DriftKind.DETACHED, *looked(story, REPO_B))
    assert drift.title == "~/repo-a is on no branch."
    story, _ = SITUATIONS[DriftKind.COMMIT_GONE]()
    drift = place_wording.commit_question(DriftKind.COMMIT_GONE, *looked(story, REPO_B))
    assert drift.title.endswith("is not in ~/repo-a any more.")
    story, _ = SITUATIONS[DriftKind.IN_PROGRESS]()
    _, place, _, target = looked(story, REPO_B)
    assert place_wording.in_progress(place, target).title == "A rebase is half finished in ~/repo-a."


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


def test_people_read_no_ids_and_no_words_of_the_wire() -> None:
    kinds = (DriftKind.BRANCH_DIFFERS, DriftKind.BRANCH_DELETED, DriftKind.DETACHED)
    drifts = [branch(kind) for kind in kinds]
    for kind in (DriftKind.ADVANCED, DriftKind.REWRITTEN, DriftKind.COMMIT_GONE):
        drifts.append(place_wording.commit_question(kind, *looked(*SITUATIONS[kind]())))
    for drift in drifts:
        texts = [drift.title, drift.reason]
        texts += [f"{row.what} {row.recorded} {row.now}" for row in drift.differences]
        texts += [f"{each.label} {each.detail}" for each in drift.choices]
        for text in texts:
            assert not re.search(r"[0-9a-f]{12,}|[a-z][A-Z]|None", text)
        assert all(len(each.label) <= 78 for each in drift.choices)
