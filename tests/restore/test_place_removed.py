import msgspec
import pytest

from resumed.protocol.restore import Difference, DriftKind
from resumed.restore.place import judge
from resumed.restore.place_question import place_question
from resumed.restore.probes import BranchProbe, RegistrationSeen
from tests.support.looks import observed, state_of, target_at
from tests.support.place_questions import choice, of, question
from tests.support.situations import SITUATIONS
from tests.support.story import BRANCH, REPO_A, linked_path


def test_a_deleted_worktree_whose_branch_could_not_be_seen_is_not_recreated() -> None:
    drift = question(*SITUATIONS[DriftKind.WORKTREE_REMOVED](), BranchProbe)
    assert "gone too" not in drift.reason
    assert choice(drift, "recreate").not_possible == "fix/payment could not be looked at"
    assert drift.suggested == "readOnly"


def test_a_branch_of_a_registered_folder_cannot_go_elsewhere() -> None:
    drift = of(DriftKind.WORKTREE_REMOVED)
    assert choice(drift, "recreate").not_possible is None
    assert choice(drift, "newWorktree").not_possible == "fix/payment still belongs to the deleted folder"
    assert choice(drift, "newWorktree").command == ("git", "-C", REPO_A, "worktree", "remove", linked_path())


def test_git_counts_a_branch_of_a_registered_folder_also_where_that_is_gone() -> None:
    story, root = SITUATIONS[DriftKind.WORKTREE_REMOVED]()
    del story.payments.branches[BRANCH]
    drift = question(story, root)
    assert choice(drift, "recreate").not_possible is None
    assert choice(drift, "newWorktree").not_possible == "fix/payment still belongs to the deleted folder"
    assert drift.suggested == "recreate"


def test_a_branch_that_is_checked_out_elsewhere_is_not_checked_out_twice() -> None:
    story, root = SITUATIONS[DriftKind.WORKTREE_REMOVED]()
    del story.payments.trees[linked_path()]
    story.world.check_out(story.payments, "/home/dev/third", BRANCH, "linked")
    drift = question(story, root)
    assert choice(drift, "recreate").not_possible == "fix/payment is checked out in ~/third"
    assert choice(drift, "newWorktree").not_possible == "fix/payment is checked out in ~/third"


def test_a_file_at_the_deleted_folders_path_is_never_in_the_way_unsaid() -> None:
    story, root = SITUATIONS[DriftKind.WORKTREE_REMOVED]()
    story.world.files[linked_path()] = b"hey"
    drift = question(story, root)
    where = drift.reason.removeprefix("It was ").split(". ")[0]
    assert choice(drift, "recreate").not_possible == f"a file is in the way at {where}"
    assert drift.suggested != "recreate"


def test_without_branch_and_commit_nothing_can_be_recreated() -> None:
    story, root = SITUATIONS[DriftKind.WORKTREE_REMOVED]()
    del story.payments.branches[BRANCH]
    drift = question(story, root)
    assert "Branch fix/payment is gone too." in drift.reason
    assert choice(drift, "recreate").not_possible is None
    del story.payments.commits[story.recorded_sha()]
    drift = question(story, root)
    assert choice(drift, "recreate").not_possible == "neither its branch nor its commit is there any more"


def test_relinking_says_where_that_is_and_waits_for_what_is_half_finished() -> None:
    story, root = SITUATIONS[DriftKind.STUB]()
    sha = story.payments.branches["main"][:7]
    assert choice(question(story, root), "relink").detail == f"It is on main ({sha})."
    story.payments.trees[REPO_A].in_progress = "rebase"
    assert choice(question(story, root), "relink").not_possible == "a rebase is half finished there"


def test_a_branch_that_moved_since_is_said_before_it_is_checked_out() -> None:
    story, root = SITUATIONS[DriftKind.WORKTREE_REMOVED]()
    old = story.recorded_sha()
    assert "still exists. " in question(story, root).reason
    story.payments.commit(BRANCH, {}, old)
    new = story.payments.branches[BRANCH]
    moved = f"it is at {new[:7]} now (when the run began: {old[:7]}). "
    asked = question(story, root)
    assert f"Branch fix/payment still exists. fix/payment has new commits since: {moved}" in asked.reason
    assert Difference(what="commit", recorded=old[:7], now=f"{new[:7]} on fix/payment") in asked.differences


@pytest.mark.parametrize(
    ("locked", "why"),
    [("", "git keeps it locked. Free"), ("on a\ndisk", "git keeps it locked (on a disk). Free")],
)
def test_a_locked_work_tree_is_not_offered_before_it_is_unlocked(locked: str, why: str) -> None:
    story, root = SITUATIONS[DriftKind.WORKTREE_REMOVED]()
    story.payments.trees[linked_path()].locked = locked
    asked = question(story, root)
    recreate = choice(asked, "recreate")
    assert recreate.not_possible == f"{why} it first"
    assert recreate.command == ("git", "worktree", "unlock", linked_path())
    assert asked.suggested == "readOnly"
    story.payments.trees[linked_path()].locked = None
    assert question(story, root).facts != asked.facts


def test_a_branch_that_would_be_made_again_is_named_before() -> None:
    story, root = SITUATIONS[DriftKind.WORKTREE_REMOVED]()
    del story.payments.branches[BRANCH]
    again = f", with fix/payment made again at {story.recorded_sha()[:7]}"
    asked = question(story, root)
    assert choice(asked, "recreate").label == f"Recreate it at the same place{again}"
    assert choice(asked, "newWorktree").label.endswith(again)


def test_a_folder_inside_that_would_be_missing_is_named_before() -> None:
    story, root = SITUATIONS[DriftKind.WORKTREE_REMOVED]()
    target, state = target_at(root), state_of(story)
    inner = msgspec.structs.replace(state, cwd=f"{linked_path()}/build", root_recorded=True)
    seen = observed(story, inner, target)
    asked = place_question(inner, judge(inner, seen, target), seen, target)
    assert choice(asked, "recreate").detail.endswith("missing. build, where it worked, is not there.")
    assert choice(asked, "newWorktree").detail == "build, where it worked, is not there."


def test_what_was_half_finished_in_a_deleted_folder_holds_its_branch_too() -> None:
    story, root = SITUATIONS[DriftKind.WORKTREE_REMOVED]()
    tree = story.payments.trees[linked_path()]
    tree.branch, tree.registration = None, RegistrationSeen(git_dir="/g", in_progress="rebase")
    asked = question(story, root)
    lost = "a rebase was half finished there, and would be lost"
    assert {each.id: each.not_possible for each in asked.choices if each.not_possible} == {
        "recreate": lost,
        "newWorktree": lost,
    }
    for kept, what in (
        (RegistrationSeen(git_dir="/g", references=True), "references that only it has"),
        (RegistrationSeen(git_dir="/g", submodules=True), "the repositories of its submodules"),
        (RegistrationSeen(git_dir="/g", settings=True), "settings that only it has"),
    ):
        tree.registration = kept
        assert choice(question(story, root), "recreate").not_possible == f"{what} would be lost"
        assert choice(question(story, root), "newWorktree").not_possible is None
