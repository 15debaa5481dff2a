import pytest

from resumed.protocol.restore import DriftKind
from resumed.restore.place import Place, WorktreeState
from resumed.restore.place_head import (
    branch_at,
    branch_drift,
    branch_is_gone,
    commit_drift,
    commit_is_gone,
    relation,
    switchable,
    tree_equal,
)
from resumed.restore.probes import BranchProbe, CommitProbe, HistoryProbe, Seen, SwitchProbe, SwitchSeen
from tests.support.looks import look, without
from tests.support.situations import SITUATIONS, branch_differs
from tests.support.story import BRANCH, COMMITTED, REPO_A, Story, payments


@pytest.mark.parametrize(
    ("kind", "commit", "branch"),
    [
        (DriftKind.FILE_CHANGED, None, None),
        (DriftKind.BRANCH_DIFFERS, DriftKind.REWRITTEN, DriftKind.BRANCH_DIFFERS),
        (DriftKind.BRANCH_DELETED, DriftKind.REWRITTEN, DriftKind.BRANCH_DELETED),
        (DriftKind.DETACHED, None, DriftKind.DETACHED),
        (DriftKind.ADVANCED, DriftKind.ADVANCED, None),
        (DriftKind.REWRITTEN, DriftKind.REWRITTEN, None),
        (DriftKind.COMMIT_GONE, DriftKind.COMMIT_GONE, None),
        (DriftKind.WORKTREE_REMOVED, None, None),
    ],
)
def test_what_became_of_branch_and_commit(
    kind: DriftKind, commit: DriftKind | None, branch: DriftKind | None
) -> None:
    story, root = SITUATIONS[kind]()
    state, seen, place = look(story, root)
    assert (commit_drift(state, place, seen), branch_drift(state, place, seen)) == (commit, branch)


def test_a_branch_that_could_not_be_seen_is_not_called_deleted() -> None:
    story, root = branch_differs()
    state, seen, place = look(story, root)
    hidden = without(seen, BranchProbe)
    assert branch_at(state, place, hidden) is None
    assert not branch_is_gone(state, place, hidden)
    assert branch_drift(state, place, hidden) is DriftKind.BRANCH_DIFFERS
    assert switchable(state, place, hidden) == "the branch could not be seen"


def test_a_history_that_could_not_be_seen_is_not_an_advance() -> None:
    story, root = SITUATIONS[DriftKind.ADVANCED]()
    state, seen, place = look(story, root)
    assert relation(state, place, seen) == "ancestor"
    hidden = without(seen, HistoryProbe)
    assert (relation(state, place, hidden), commit_drift(state, place, hidden)) == ("", DriftKind.REWRITTEN)
    assert not commit_is_gone(state, REPO_A, without(seen, CommitProbe))
    assert commit_is_gone(WorktreeState(root=REPO_A), REPO_A, seen)


def test_equal_trees_are_equal_only_if_seen() -> None:
    story = payments()
    story.rewrite({"README.md": b"# Payments\n", "rounding.py": COMMITTED})
    state, seen, place = look(story, REPO_A)
    assert commit_drift(state, place, seen) is DriftKind.REWRITTEN
    assert tree_equal(state, place, seen)
    assert not tree_equal(state, place, without(seen, CommitProbe))
    story.rewrite({"README.md": b"other"})
    state, seen, place = look(story, REPO_A)
    assert not tree_equal(state, place, seen)


def test_when_a_switch_back_is_possible() -> None:
    story, root = branch_differs()
    state, seen, place = look(story, root)
    assert switchable(state, place, seen) == SwitchSeen(carried=("note.txt",))
    assert (
        switchable(state, place, without(seen, SwitchProbe)) == "the uncommitted files could not be looked at"
    )
    story.payments.trees[REPO_A].in_progress = "merge"
    assert switchable(*_again(story, root)) == "a merge is half finished"
    story.payments.trees[REPO_A].in_progress = None
    story.world.check_out(story.payments, "/home/dev/other", BRANCH, "linked")
    assert switchable(*_again(story, root)) == f"{BRANCH} is checked out elsewhere"
    del story.payments.branches[BRANCH]
    del story.payments.trees["/home/dev/other"]
    assert switchable(*_again(story, root)) == "the branch is gone"


def _again(story: Story, root: str) -> tuple[WorktreeState, Place, Seen]:
    state, seen, place = look(story, root)
    return state, place, seen


def test_an_unborn_head_cannot_be_come_back_to() -> None:
    story, root = branch_differs()
    story.payments.trees[REPO_A].sha = None
    assert switchable(*_again(story, root)) == "there is no commit to come back to"


@pytest.mark.parametrize(
    ("operation", "expected"),
    [("rebase", None), ("bisect", None), ("merge", DriftKind.ADVANCED), ("cherryPick", DriftKind.ADVANCED)],
)
def test_where_head_stands_on_its_way_is_not_compared(operation: str, expected: DriftKind | None) -> None:
    story, root = SITUATIONS[DriftKind.ADVANCED]()
    story.payments.trees[root].in_progress = operation
    state, seen, place = look(story, root)
    assert commit_drift(state, place, seen) is expected
