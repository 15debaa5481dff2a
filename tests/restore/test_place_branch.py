import re

import pytest

from resumed.protocol.restore import Choice, Drift, DriftKind
from resumed.restore import place_branch, place_wording
from resumed.restore.place import Place, WorktreeState, judge
from resumed.restore.probes import BranchProbe, LooseProbe, Seen
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
    return place_branch.branch_question(kind, *looked(story, root, *hidden, files=files))


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
    drift = place_branch.branch_question(DriftKind.BRANCH_DIFFERS, *looked(story, root))
    assert obstacles(drift) == {
        "switch": "would overwrite 1 uncommitted file: rounding.py. Commit or stash it first"
    }
    for name in ("", "-2", "-3"):
        story.world.folders.add(f"{REPO_A}.fix-payment{name}")
    drift = place_branch.branch_question(DriftKind.BRANCH_DIFFERS, *looked(story, root))
    assert obstacles(drift)["newWorktree"] == "no free name for a new folder was found"
    assert drift.suggested == "stay"


def test_a_branch_in_use_elsewhere() -> None:
    story, root = SITUATIONS[DriftKind.BRANCH_DIFFERS]()
    story.world.check_out(story.payments, "/home/dev/third", BRANCH, "linked")
    drift = place_branch.branch_question(DriftKind.BRANCH_DIFFERS, *looked(story, root))
    assert set(obstacles(drift)) == {"switch", "newWorktree"}


def test_a_branch_that_could_not_be_seen() -> None:
    assert obstacles(branch(DriftKind.BRANCH_DIFFERS, BranchProbe)) == {
        "newWorktree": "fix/payment could not be looked at",
        "switch": "the branch could not be seen",
    }


def test_a_deleted_branch_whose_commit_is_gone_too() -> None:
    story, root = SITUATIONS[DriftKind.BRANCH_DELETED]()
    del story.payments.commits[story.recorded_sha()]
    drift = place_branch.branch_question(DriftKind.BRANCH_DELETED, *looked(story, root))
    assert list(obstacles(drift)) == ["newWorktree"]
    assert "is gone too" in obstacles(drift)["newWorktree"]


def test_an_unborn_branch() -> None:
    story, root = SITUATIONS[DriftKind.BRANCH_DIFFERS]()
    story.payments.trees[REPO_A].sha = None
    drift = place_branch.branch_question(DriftKind.DETACHED, *looked(story, root, files=None))
    assert drift.title == "This folder is on a branch without commits."
    assert drift.reason == "It was on fix/payment; this folder is on main, which has no commits yet."
    assert [row.now for row in drift.differences] == ["main (no commits yet)"]
    assert choice(drift, "stay").label == "Stay on main and tell the agent"


def test_the_branch_of_another_project_is_said_to_be_its() -> None:
    story, _ = SITUATIONS[DriftKind.BRANCH_DIFFERS]()
    drift = place_branch.branch_question(DriftKind.BRANCH_DIFFERS, *looked(story, REPO_B))
    assert drift.title == "~/repo-a is on a different branch."
    assert drift.reason == (
        "It was on fix/payment; ~/repo-a is on main. 1 file it edited differs there: rounding.py."
    )
    assert choice(drift, "switch").label == "Switch ~/repo-a back to fix/payment"
    assert choice(drift, "stay").label == "Stay on main there and tell the agent"
    story.payments.trees[REPO_A].branch = None
    drift = place_branch.branch_question(DriftKind.DETACHED, *looked(story, REPO_B))
    assert drift.title == "~/repo-a is on no branch."
    story, _ = SITUATIONS[DriftKind.COMMIT_GONE]()
    drift = place_wording.commit_question(DriftKind.COMMIT_GONE, *looked(story, REPO_B))
    assert drift.title.endswith("is not in ~/repo-a any more.")
    story, _ = SITUATIONS[DriftKind.IN_PROGRESS]()
    _, place, _, target = looked(story, REPO_B)
    assert place_wording.in_progress(place, target).title == "A rebase is half finished in ~/repo-a."


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


def test_a_commit_that_a_switch_may_leave_behind_is_named_and_the_switch_not_suggested() -> None:
    story, root = SITUATIONS[DriftKind.DETACHED]()
    held = place_branch.branch_question(DriftKind.DETACHED, *looked(story, root))
    assert (held.suggested, choice(held, "switch").detail, held.facts["loose"]) == ("switch", "", "")
    hidden = place_branch.branch_question(DriftKind.DETACHED, *looked(story, root, LooseProbe))
    assert (hidden.suggested, hidden.facts["loose"]) == ("newWorktree", "notKnown")
    assert choice(hidden, "switch").detail.startswith("Whether a branch holds the commit ")


def test_a_branch_of_a_deleted_folder_is_said_to_be_that() -> None:
    story, root = SITUATIONS[DriftKind.BRANCH_DIFFERS]()
    story.world.check_out(story.payments, "/home/dev/gone", BRANCH, "linked")
    story.world.remove_folder("/home/dev/gone")
    drift = place_branch.branch_question(DriftKind.BRANCH_DIFFERS, *looked(story, root))
    taken = "fix/payment is checked out in ~/gone, whose folder is gone"
    assert obstacles(drift) == {"newWorktree": taken, "switch": taken}
