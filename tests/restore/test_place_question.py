import re

import msgspec
import pytest

from resumed.protocol.restore import DriftKind
from resumed.restore.place import judge
from resumed.restore.place_question import place_question
from resumed.restore.probes import CommitProbe, FolderProbe, FolderSeen
from tests.support.looks import look, observed, state_of, target_at
from tests.support.place_questions import choice, of, question
from tests.support.situations import SITUATIONS
from tests.support.story import BRANCH, REPO_A, linked_path, payments


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
