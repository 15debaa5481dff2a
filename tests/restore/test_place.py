import msgspec
import pytest

from resumed.protocol.restore import DriftKind
from resumed.restore.place import (
    Place,
    WorktreeState,
    branch_at,
    branch_drift,
    branch_is_gone,
    candidates,
    commit_drift,
    commit_is_gone,
    folder_in,
    free_candidate,
    judge,
    place_probes,
    recorded_top,
    relation,
    same_repository,
    switchable,
    tree_equal,
)
from resumed.restore.probes import (
    AnyObservation,
    BranchProbe,
    CommitProbe,
    FolderProbe,
    FolderSeen,
    HistoryProbe,
    NoRepository,
    RepositoryProbe,
    RepositorySeen,
    Seen,
    SwitchProbe,
    SwitchSeen,
    Unseen,
)
from resumed.restore.subsystem import Here, Target
from tests.support.situations import MOVED_TO, SITUATIONS, branch_differs, worktree_removed
from tests.support.story import BRANCH, COMMITTED, REPO_A, REPO_B, Story, linked_path, payments

PLACES = {
    DriftKind.OTHER_PROJECT: (DriftKind.OTHER_PROJECT, REPO_A),
    DriftKind.GONE: (DriftKind.GONE, None),
    DriftKind.MOVED: (DriftKind.MOVED, MOVED_TO),
    DriftKind.WORKTREE_REMOVED: (DriftKind.WORKTREE_REMOVED, None),
    DriftKind.STUB: (DriftKind.STUB, None),
    DriftKind.OTHER_REPOSITORY: (DriftKind.OTHER_REPOSITORY, None),
}


def target_at(root: str) -> Target:
    return Target(here=Here(root=root, home="/home/dev", agent="codex"), recorded_root="")


def state_of(story: Story) -> WorktreeState:
    state = story.record.states["worktree"]
    assert isinstance(state, WorktreeState)
    return state


def look(story: Story, root: str) -> tuple[WorktreeState, Seen, Place]:
    """The recorded place, everything seen, and the judgement."""
    state, target = state_of(story), target_at(root)
    seen = story.world.observe(place_probes(state, target))
    return state, seen, judge(state, seen, target)


def without(seen: Seen, *probes: type) -> Seen:
    return {probe: Unseen("timeout") if isinstance(probe, probes) else seen[probe] for probe in seen}


@pytest.mark.parametrize("kind", SITUATIONS)
def test_what_became_of_the_place(kind: DriftKind) -> None:
    story, root = SITUATIONS[kind]()
    _, _, place = look(story, root)
    assert (place.kind, place.base) == PLACES.get(kind, (None, REPO_A))


def test_everything_the_judgement_needs_is_looked_at_once() -> None:
    state, target = state_of(payments()), target_at(REPO_B)
    probes = place_probes(state, target)
    assert len(set(probes)) == len(probes)
    for root in (REPO_A, REPO_B):
        for probe in (
            RepositoryProbe(root),
            BranchProbe(root, BRANCH),
            SwitchProbe(root, BRANCH),
            CommitProbe(root, state.sha or ""),
            HistoryProbe(root, state.sha or ""),
        ):
            assert probe in probes
    bare = WorktreeState(root=REPO_A, cwd=REPO_A)
    assert {type(probe) for probe in place_probes(bare, target)} == {FolderProbe, RepositoryProbe}
    silent = msgspec.structs.replace(bare, silent=["/x"], last_folder="/x")
    assert RepositoryProbe("/x") in place_probes(silent, target)


def test_what_could_not_be_seen_is_never_the_recorded_place() -> None:
    story = payments()
    state, seen, place = look(story, REPO_A)
    assert place.kind is None
    for hidden in (FolderProbe, RepositoryProbe):
        lost = judge(state, without(seen, hidden), target_at(REPO_A))
        assert (lost.kind, lost.base, lost.certain) == (DriftKind.GONE, None, False)
    assert judge(state, {}, target_at(REPO_A)).base is None


def test_an_unreadable_folder_is_not_called_empty() -> None:
    state, seen, _ = look(payments(), REPO_A)
    seen[FolderProbe(REPO_A)] = FolderSeen("unreadable")
    place = judge(state, seen, target_at(REPO_A))
    assert (place.kind, place.certain) == (DriftKind.GONE, False)


def test_a_repository_that_could_not_be_compared_is_another_one() -> None:
    story = payments()
    story.payments.origin = None
    state, seen, place = look(story, REPO_A)
    assert place.kind is None
    place = judge(state, without(seen, CommitProbe), target_at(REPO_A))
    assert (place.kind, place.certain) == (DriftKind.OTHER_REPOSITORY, False)


def test_a_folder_without_git_is_fine_where_none_was_recorded() -> None:
    bare = WorktreeState(root=f"{REPO_A}/notes", cwd=f"{REPO_A}/notes")
    seen: Seen = {FolderProbe(bare.root): FolderSeen("folder"), RepositoryProbe(bare.root): NoRepository()}
    assert judge(bare, seen, target_at(REPO_A)).kind is None
    assert judge(bare, seen, target_at(REPO_B)).kind is DriftKind.OTHER_PROJECT


def repository(story: Story, **changes: object) -> RepositorySeen:
    seen = story.world.observe((RepositoryProbe(REPO_A),))[RepositoryProbe(REPO_A)]
    assert isinstance(seen, RepositorySeen)
    return msgspec.structs.replace(seen, **changes)


@pytest.mark.parametrize(
    ("recorded", "there", "commit", "expected"),
    [
        ({"repo_id": "r"}, {"repo_id": "r", "origin": "else"}, False, "same"),
        ({"repo_id": "r"}, {"repo_id": "s"}, True, "different"),
        ({"repo_id": "r"}, {}, True, "same"),
        ({"origin": "o"}, {"origin": "o"}, False, "same"),
        ({"origin": "o"}, {"origin": "p"}, True, "same"),
        ({"origin": "o"}, {"origin": "p"}, False, "different"),
        ({"origin": "o"}, {"origin": "p"}, None, "different"),
        ({"origin": "o"}, {"origin": None}, True, "same"),
        ({"origin": "o"}, {"origin": None}, False, "different"),
        ({"origin": "o"}, {"origin": None}, None, "unknown"),
        ({"origin": None}, {"origin": "p"}, True, "same"),
    ],
)
def test_whether_it_is_the_same_repository(
    recorded: dict[str, str | None], there: dict[str, str | None], commit: bool | None, expected: str
) -> None:
    story = payments()
    state = msgspec.structs.replace(state_of(story), **recorded)
    probe = CommitProbe(REPO_A, state.sha or "")
    if commit is False:
        story.payments.commits.clear()
    observed: AnyObservation = Unseen("timeout") if commit is None else story.world.observe((probe,))[probe]
    seen: Seen = {RepositoryProbe(REPO_A): repository(story, **there), probe: observed}
    assert same_repository(state, REPO_A, seen) == expected


def test_no_repository_is_another_one_only_where_one_was_recorded() -> None:
    seen: Seen = {RepositoryProbe(REPO_A): NoRepository()}
    assert same_repository(state_of(payments()), REPO_A, seen) == "different"
    assert same_repository(WorktreeState(root=REPO_A), REPO_A, seen) == "unknown"
    assert same_repository(state_of(payments()), REPO_A, {}) == "unknown"


def test_a_worktree_that_is_known_by_its_id_has_moved_with_certainty() -> None:
    story = payments()
    story.payments.trees[REPO_A].worktree_id = "w1"
    story.world.rename(REPO_A, MOVED_TO)
    state, seen, place = look(story, MOVED_TO)
    assert (place.kind, place.certain) == (DriftKind.MOVED, False)
    known = msgspec.structs.replace(state, worktree_id="w1")
    assert judge(known, seen, target_at(MOVED_TO)).certain
    main = msgspec.structs.replace(known, worktree_id="w2", kind="main")
    assert judge(main, seen, target_at(MOVED_TO)).kind is DriftKind.GONE
    linked = msgspec.structs.replace(known, worktree_id="w2", kind="linked")
    assert judge(linked, seen, target_at(MOVED_TO)).kind is DriftKind.WORKTREE_REMOVED


def test_a_folder_that_is_gone_is_a_worktree_if_git_knows_it_or_the_branch_is_elsewhere() -> None:
    story, root = worktree_removed()
    state, _, place = look(story, root)
    assert (place.kind, place.certain, place.source) == (DriftKind.WORKTREE_REMOVED, True, REPO_A)
    del story.payments.trees[linked_path()]
    _, _, pruned = look(story, root)
    assert (pruned.kind, pruned.certain) == (DriftKind.WORKTREE_REMOVED, False)
    assert state.root == linked_path()


def test_a_recorded_top_level_inside_another_work_tree_is_a_stub() -> None:
    story = payments()
    inner = f"{REPO_A}/.worktrees/fix"
    story.world.folders.add(inner)
    state = msgspec.structs.replace(state_of(story), root=inner, cwd=inner)
    seen = story.world.observe(place_probes(state, target_at(REPO_A)))
    assert judge(state, seen, target_at(REPO_A)).base == REPO_A
    top = msgspec.structs.replace(state, root_recorded=True)
    assert judge(top, seen, target_at(REPO_A)).kind is DriftKind.STUB


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
    assert switchable(*_again(story, root)) == "something is half finished here"
    story.payments.trees[REPO_A].in_progress = None
    story.world.check_out(story.payments, "/home/dev/other", BRANCH, "linked")
    assert switchable(*_again(story, root)) == f"{BRANCH} is checked out in /home/dev/other"
    del story.payments.branches[BRANCH]
    del story.payments.trees["/home/dev/other"]
    assert switchable(*_again(story, root)) == "the branch is gone"


def _again(story: Story, root: str) -> tuple[WorktreeState, Place, Seen]:
    state, seen, place = look(story, root)
    return state, place, seen


def test_an_unborn_head_cannot_be_come_back_to() -> None:
    story, root = branch_differs()
    story.payments.trees[REPO_A].sha = None
    assert switchable(*_again(story, root)) == "this folder has no commit to come back to"


def test_names_for_a_new_folder() -> None:
    state = WorktreeState(root=REPO_A, branch="fix/a/b", sha="0123456789")
    assert candidates(f"{REPO_A}/", state) == tuple(f"{REPO_A}.fix-a-b{n}" for n in ("", "-2", "-3"))
    assert candidates(REPO_A, WorktreeState(root=REPO_A, sha="0123456789"))[0] == f"{REPO_A}.0123456"
    first, second, third = candidates(REPO_A, state)
    taken: Seen = {FolderProbe(first): FolderSeen("folder"), FolderProbe(second): Unseen("timeout")}
    assert free_candidate(REPO_A, state, taken) is None
    assert free_candidate(REPO_A, state, taken | {FolderProbe(third): FolderSeen("absent")}) == third


@pytest.mark.parametrize(
    ("cwd", "inside"),
    [(REPO_A, "/new"), (f"{REPO_A}/a/b", "/new/a/b"), (f"{REPO_A}-2", "/new"), ("/elsewhere", "/new")],
)
def test_the_folder_inside_the_work_tree_stays_the_same(cwd: str, inside: str) -> None:
    assert folder_in("/new", WorktreeState(root=cwd, cwd=cwd), REPO_A) == inside


def test_what_recorded_paths_are_relative_to() -> None:
    story = payments()
    state, _, place = look(story, REPO_A)
    inner = msgspec.structs.replace(state, root=f"{REPO_A}/sub")
    inside = msgspec.structs.replace(place, anchor=f"{REPO_A}/sub")
    assert recorded_top(inner, inside) == REPO_A
    elsewhere = msgspec.structs.replace(inside, base="/real/repo-a")
    assert recorded_top(inner, elsewhere) == f"{REPO_A}/sub"
    lost = msgspec.structs.replace(inside, base=None)
    assert recorded_top(inner, lost) == f"{REPO_A}/sub"
