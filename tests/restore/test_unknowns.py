import re

import msgspec
import pytest

from resumed.protocol.restore import DriftKind
from resumed.restore.place import judge
from resumed.restore.probes import (
    AnyProbe,
    BranchProbe,
    CeilingProbe,
    CommitProbe,
    FileProbe,
    FolderProbe,
    HistoryProbe,
    RepositoryProbe,
    SwitchProbe,
    TreeFileProbe,
    TreeFolderProbe,
    Unseen,
)
from resumed.restore.unknowns import place_unknowns, unknowns
from tests.support.looks import observed, state_of, target_at, without
from tests.support.situations import SITUATIONS
from tests.support.story import BRANCH, REPO_A, payments

SHA = payments().recorded_sha()[:7]
LATE = "(it took too long)"


def hiding(kind: DriftKind | None, *hidden: type[AnyProbe]) -> tuple[str, ...]:
    """What is not known of the place when looks of these types took too long."""
    story, root = SITUATIONS[kind]() if kind else (payments(), REPO_A)
    state, target = state_of(story), target_at(root)
    return place_unknowns(state, without(observed(story, state, target), *hidden), target)


@pytest.mark.parametrize("kind", SITUATIONS)
def test_a_look_that_could_tell_nothing_is_none(kind: DriftKind) -> None:
    assert hiding(kind) == ()


@pytest.mark.parametrize(
    "hidden", [BranchProbe, CommitProbe, HistoryProbe, SwitchProbe], ids=lambda probe: probe.__name__
)
def test_where_all_is_as_recorded_the_rest_decides_nothing(hidden: type[AnyProbe]) -> None:
    assert hiding(None, hidden) == ()


@pytest.mark.parametrize(
    ("kind", "hidden", "lines"),
    [
        (None, FolderProbe, ("what is at ~/repo-a",)),
        (None, RepositoryProbe, ("which repository ~/repo-a is",)),
        (DriftKind.WORKTREE_REMOVED, RepositoryProbe, ("which repository ~/repo-a is",)),
        (DriftKind.WORKTREE_REMOVED, BranchProbe, (f"what became of the branch {BRANCH}",)),
        (DriftKind.BRANCH_DIFFERS, BranchProbe, (f"what became of the branch {BRANCH}",)),
        (DriftKind.BRANCH_DIFFERS, SwitchProbe, (f"what a switch to {BRANCH} would overwrite",)),
        (DriftKind.BRANCH_DIFFERS, HistoryProbe, ()),
        (DriftKind.BRANCH_DELETED, SwitchProbe, ()),
        (DriftKind.REWRITTEN, HistoryProbe, (f"how the commit {SHA} relates to the one here",)),
        (DriftKind.REWRITTEN, CommitProbe, (f"whether the commit {SHA} is still there",)),
        (DriftKind.COMMIT_GONE, HistoryProbe, ()),
        (DriftKind.OTHER_PROJECT, BranchProbe, ()),
    ],
)
def test_what_a_judgement_or_a_choice_rests_on_is_named(
    kind: DriftKind | None, hidden: type[AnyProbe], lines: tuple[str, ...]
) -> None:
    assert hiding(kind, hidden) == tuple(f"{line} {LATE}" for line in lines)


def test_a_silent_change_of_folder_rests_on_both_folders() -> None:
    assert hiding(DriftKind.SILENT_SWITCH, RepositoryProbe) == (
        f"which repository ~/repo-a is {LATE}",
        f"which repository ~/repo-b is {LATE}",
    )


def test_a_repository_that_cannot_be_compared_for_want_of_a_commit() -> None:
    story = payments()
    story.payments.origin = None
    state, target = state_of(story), target_at(REPO_A)
    seen = without(observed(story, state, target), CommitProbe)
    assert judge(state, seen, target).kind is DriftKind.OTHER_REPOSITORY
    assert place_unknowns(state, seen, target) == (f"whether the commit {SHA} is still there {LATE}",)


def test_how_a_branch_moved_and_whether_the_folder_inside_is_there() -> None:
    story = payments()
    sha = story.commit({"packages/api/app.py": b"print()\n"})
    inner = msgspec.structs.replace(
        state_of(story), root_recorded=True, cwd=f"{REPO_A}/packages/api", sha=sha
    )
    story.payments.commit(BRANCH, {"README.md": b"# Without\n"}, sha)
    story.world.move_head(REPO_A, "main")
    seen, target = observed(story, inner, target_at(REPO_A)), target_at(REPO_A)
    assert place_unknowns(inner, seen, target) == ()
    hidden = without(seen, HistoryProbe, TreeFolderProbe)
    assert place_unknowns(inner, hidden, target) == (
        f"how {BRANCH} moved since the commit {sha[:7]} {LATE}",
        f"whether packages/api is there {LATE}",
    )
    assert unknowns(inner, hidden, target) == place_unknowns(inner, hidden, target)


def test_on_a_branch_without_commits_there_is_nothing_to_relate_to() -> None:
    story, root = SITUATIONS[DriftKind.BRANCH_DIFFERS]()
    story.payments.trees[root].sha = None
    state, target = state_of(story), target_at(root)
    seen = without(observed(story, state, target), HistoryProbe, SwitchProbe)
    assert place_unknowns(state, seen, target) == ()


def test_files_and_the_policy_are_named_as_people_name_them() -> None:
    state = state_of(payments())
    target = msgspec.structs.replace(target_at(REPO_A), root=REPO_A)
    seen = observed(payments(), state, target) | {
        FileProbe(f"{REPO_A}/a.py"): Unseen("failed: the file could not be read: Permission denied"),
        FileProbe("/home/dev/other/b.py"): Unseen("timeout"),
        TreeFileProbe(REPO_A, "0" * 40, "c.py"): Unseen("no source"),
        CeilingProbe("codex"): Unseen("failed: /home/dev/.s/settings.toml cannot be read: line 3"),
    }
    assert unknowns(state, seen, target) == (
        "whether a.py changed (the file could not be read: Permission denied)",
        f"whether ~/other/b.py changed {LATE}",
        "whether c.py changed",
        "what the policy here allows (~/.s/settings.toml cannot be read: line 3)",
    )


def test_a_reason_holds_no_raw_id_and_no_long_path() -> None:
    story, root = SITUATIONS[DriftKind.REWRITTEN]()
    state, target = state_of(story), target_at(root)
    sha = state.sha or ""
    seen = observed(story, state, target)
    seen[HistoryProbe(REPO_A, sha)] = Unseen(f"failed: /home/dev/repo-a: bad object {sha}.")
    (line,) = place_unknowns(state, seen, target)
    assert line == f"how the commit {SHA} relates to the one here (~/repo-a: bad object {SHA})"
    assert not re.search("[0-9a-f]{12}", line)
