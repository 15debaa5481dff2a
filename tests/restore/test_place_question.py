import re

import msgspec
import pytest

from resumed.protocol.restore import Choice, Difference, Drift, DriftKind
from resumed.restore.place import judge
from resumed.restore.place_question import place_question
from resumed.restore.probes import BranchProbe, CommitProbe, FolderProbe, FolderSeen, RegistrationSeen
from tests.support.looks import look, observed, state_of, target_at, without
from tests.support.situations import SITUATIONS
from tests.support.story import BRANCH, REPO_A, Story, linked_path, payments


def question(story: Story, root: str, *hidden: type) -> Drift:
    target, state = target_at(root), state_of(story)
    seen = without(observed(story, state, target), *hidden)
    return place_question(state, judge(state, seen, target), seen, target)


def of(kind: DriftKind) -> Drift:
    return question(*SITUATIONS[kind]())


def choice(drift: Drift, choice_id: str) -> Choice:
    return next(each for each in drift.choices if each.id == choice_id)


@pytest.mark.parametrize(
    ("kind", "title", "reason", "choices"),
    [
        (
            DriftKind.OTHER_PROJECT,
            "This conversation belongs to another project.",
            "It ran in ~/repo-a; this is ~/repo-b, a different repository.",
            ["open", "readOnly"],
        ),
        (DriftKind.GONE, "The folder it ran in is gone.", "~/repo-a is not there.", ["readOnly"]),
        (
            DriftKind.MOVED,
            "The project folder has moved.",
            "Was ~/repo-a; ~/src/repo-a looks like the same repository.",
            ["relink", "readOnly"],
        ),
        (
            DriftKind.WORKTREE_REMOVED,
            "The worktree it ran in was deleted.",
            "It was ~/repo-a.wt. Branch fix/payment still exists. Your checkout ~/repo-a is not touched.",
            ["recreate", "newWorktree", "readOnly"],
        ),
        (
            DriftKind.STUB,
            "The folder is not the worktree it was.",
            "~/repo-a.wt is there, but it is only a plain folder now. "
            "~/repo-a is a checkout of the same repository.",
            ["relink", "readOnly"],
        ),
        (
            DriftKind.OTHER_REPOSITORY,
            "Another repository is at that place now.",
            "~/repo-a holds a different repository than the one it ran in.",
            ["readOnly"],
        ),
    ],
)
def test_what_is_asked(kind: DriftKind, title: str, reason: str, choices: list[str]) -> None:
    drift = of(kind)
    assert (drift.kind, drift.title, drift.reason) == (kind, title, reason)
    assert [each.id for each in drift.choices] == choices


def test_another_checkout_of_the_same_repository_is_not_called_another_project() -> None:
    story = payments()
    other = "/home/dev/repo-a.main"
    story.world.check_out(story.payments, other, "main", "linked")
    drift = question(story, other)
    assert drift.title == "This conversation belongs to another checkout."
    assert drift.reason.endswith("another checkout of the same repository.")


def test_a_move_that_is_certain_is_said_to_be_and_asked_all_the_same() -> None:
    story, root = SITUATIONS[DriftKind.MOVED]()
    story.payments.trees[root].worktree_id = "w1"
    record = msgspec.structs.replace(state_of(story), worktree_id="w1")
    seen = observed(story, record, target_at(root))
    drift = place_question(record, judge(record, seen, target_at(root)), seen, target_at(root))
    assert drift.reason == "Was ~/repo-a; ~/src/repo-a is the same repository; this is certain."
    assert (drift.severity.value, drift.unattended) == ("block", "stop")


def test_a_commit_that_is_not_there_yet_is_not_called_unknown() -> None:
    story, root = SITUATIONS[DriftKind.STUB]()
    story.payments.trees[root].sha = None
    state, seen, place = look(story, root)
    drift = place_question(state, place, seen, target_at(root))
    assert choice(drift, "relink").detail == "It is on main (no commits yet)."
    assert next(row.now for row in drift.differences if row.what == "branch") == "main (no commits yet)"
    without_sha = msgspec.structs.replace(state, sha=None)
    drift = place_question(without_sha, place, seen, target_at(root))
    assert next(row.recorded for row in drift.differences if row.what == "branch") == "fix/payment"


def test_what_could_not_be_seen_is_said_to_be_so() -> None:
    story = payments()
    assert question(story, REPO_A, FolderProbe).title == "The folder it ran in could not be looked at."
    story.payments.origin = None
    unknown = question(story, REPO_A, CommitProbe)
    assert unknown.title == "Which repository is at that place is not known."


def test_a_deleted_worktree_whose_branch_could_not_be_seen_is_not_recreated() -> None:
    drift = question(*SITUATIONS[DriftKind.WORKTREE_REMOVED](), BranchProbe)
    assert "gone too" not in drift.reason
    assert choice(drift, "recreate").not_possible == "fix/payment could not be looked at"
    assert drift.suggested == "readOnly"


def test_a_branch_of_a_registered_folder_cannot_go_elsewhere() -> None:
    drift = of(DriftKind.WORKTREE_REMOVED)
    assert choice(drift, "recreate").not_possible is None
    assert choice(drift, "newWorktree").not_possible == "fix/payment still belongs to the deleted folder"


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


def test_an_answer_counts_only_for_the_same_branch_and_folder() -> None:
    story, root = SITUATIONS[DriftKind.WORKTREE_REMOVED]()
    before = question(story, root).facts
    story.payments.commit(BRANCH, {}, story.recorded_sha())
    moved_on = question(story, root).facts
    assert moved_on["recorded"] != before["recorded"]
    story.world.folders.add(f"{linked_path()}.fix-payment")
    assert question(story, root).facts["newFolder"] != moved_on["newFolder"]
    story.world.move_head(REPO_A, "main")
    story.payments.trees[REPO_A].branch = None
    assert question(story, root).facts["hereBranch"] == ""


@pytest.mark.parametrize("kind", [DriftKind.OTHER_PROJECT, DriftKind.MOVED, DriftKind.WORKTREE_REMOVED])
def test_then_and_now_stand_side_by_side(kind: DriftKind) -> None:
    assert [row.what for row in of(kind).differences] == ["folder", "repository", "branch"]


@pytest.mark.parametrize(
    "kind",
    [
        DriftKind.OTHER_PROJECT,
        DriftKind.GONE,
        DriftKind.MOVED,
        DriftKind.WORKTREE_REMOVED,
        DriftKind.STUB,
        DriftKind.OTHER_REPOSITORY,
    ],
)
def test_people_read_no_ids_and_no_words_of_the_wire(kind: DriftKind) -> None:
    drift = of(kind)
    rows = [f"{row.what} {row.recorded} {row.now}" for row in drift.differences]
    texts = [drift.title, drift.reason, *rows]
    texts += [f"{each.label} {each.detail} {each.not_possible or ''}" for each in drift.choices]
    for text in texts:
        assert not re.search(r"[0-9a-f]{12,}|[a-z][A-Z]|None", text)
    assert all(len(each.label) <= 70 for each in drift.choices)
    assert len(drift.title) <= 70


def test_a_folder_that_is_gone_may_be_relinked_where_the_repository_is_the_same() -> None:
    story = payments()
    story.world.rename(REPO_A, "/home/dev/clone")
    story.payments.trees["/home/dev/clone"].worktree_id = "w2"
    record = msgspec.structs.replace(state_of(story), worktree_id="w1", kind="main")
    target = target_at("/home/dev/clone")
    seen = observed(story, record, target)
    assert seen[FolderProbe(REPO_A)] == FolderSeen("absent", canonical=REPO_A)
    drift = place_question(record, judge(record, seen, target), seen, target)
    assert (drift.kind, [each.id for each in drift.choices]) == (DriftKind.GONE, ["relink", "readOnly"])
    assert drift.suggested == "readOnly"


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
