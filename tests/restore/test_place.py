import msgspec
import pytest

from resumed.protocol.restore import DriftKind
from resumed.restore.place import (
    WorktreeState,
    as_recorded,
    candidates,
    canonical,
    free_candidate,
    judge,
    recorded_tops,
    same_repository,
    strayed,
    within,
)
from resumed.restore.place_looks import place_probes
from resumed.restore.probes import (
    AnyObservation,
    CommitProbe,
    FolderProbe,
    FolderSeen,
    NoRepository,
    RepositoryProbe,
    RepositorySeen,
    Seen,
    Unseen,
)
from tests.support.looks import look, state_of, target_at, without
from tests.support.situations import MOVED_TO, SITUATIONS, worktree_removed
from tests.support.story import REPO_A, REPO_B, Story, linked_path, payments

PLACES = {
    DriftKind.OTHER_PROJECT: (DriftKind.OTHER_PROJECT, REPO_A),
    DriftKind.GONE: (DriftKind.GONE, None),
    DriftKind.MOVED: (DriftKind.MOVED, MOVED_TO),
    DriftKind.WORKTREE_REMOVED: (DriftKind.WORKTREE_REMOVED, None),
    DriftKind.STUB: (DriftKind.STUB, None),
    DriftKind.OTHER_REPOSITORY: (DriftKind.OTHER_REPOSITORY, None),
}


@pytest.mark.parametrize("kind", SITUATIONS)
def test_what_became_of_the_place(kind: DriftKind) -> None:
    story, root = SITUATIONS[kind]()
    _, _, place = look(story, root)
    assert (place.kind, place.base) == PLACES.get(kind, (None, REPO_A))


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
    story.payments.trees[MOVED_TO].worktree_id = None
    again = story.world.observe(place_probes(main, target_at(MOVED_TO)))
    unsure = judge(main, again, target_at(MOVED_TO))
    assert (unsure.kind, unsure.certain) == (DriftKind.MOVED, False)
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


def test_names_for_a_new_folder() -> None:
    state = WorktreeState(root=REPO_A, branch="fix/a/b", sha="0123456789")
    assert candidates(f"{REPO_A}/", state) == tuple(f"{REPO_A}.fix-a-b{n}" for n in ("", "-2", "-3"))
    assert candidates(REPO_A, WorktreeState(root=REPO_A, sha="0123456789"))[0] == f"{REPO_A}.0123456"
    _, _, place = look(payments(), REPO_A)
    first, second, third = candidates(REPO_A, state)
    taken: Seen = {FolderProbe(first): FolderSeen("folder"), FolderProbe(second): Unseen("timeout")}
    assert free_candidate(state, place, taken) is None
    assert free_candidate(state, place, taken | {FolderProbe(third): FolderSeen("absent")}) == third
    dangling = FolderSeen("absent", canonical="/mnt/elsewhere")
    assert free_candidate(state, place, taken | {FolderProbe(third): dangling}) is None


def test_what_recorded_paths_are_relative_to() -> None:
    story = payments()
    state, _, place = look(story, REPO_A)
    assert recorded_tops(state, place) == (REPO_A, REPO_A)
    inner = msgspec.structs.replace(state, root=f"{LINK}/repo-a/sub")
    inside = msgspec.structs.replace(place, inside="/sub")
    assert recorded_tops(inner, inside) == (f"{LINK}/repo-a", REPO_A)
    renamed = msgspec.structs.replace(state, root=f"{LINK}/alias")
    assert recorded_tops(renamed, inside) == (REPO_A, REPO_A)
    assert as_recorded("/a/b/c", "/c") == "/a/b"
    assert as_recorded("/a/b/c", "/d") == ""
    assert within("/a/b", "/a/b")
    assert within("/a/b", "/a/")
    assert not within("/a/bc", "/a/b")


LINK = "/srv/people"


def through_a_link(story: Story, **changes: object) -> WorktreeState:
    """The same record, but written through a link to the home folder."""
    story.world.links[LINK] = "/home/dev"
    state = state_of(story)
    fields = {"root": LINK + state.root.removeprefix("/home/dev")} | changes
    return msgspec.structs.replace(state, **{"cwd": fields["root"], **fields})


def judged(story: Story, state: WorktreeState, root: str) -> tuple[DriftKind | None, str | None, str]:
    seen = story.world.observe(place_probes(state, target_at(root)))
    place = judge(state, seen, target_at(root))
    return place.kind, place.base, place.top


def test_a_place_recorded_through_a_link_is_itself() -> None:
    story = payments()
    recorded_top = through_a_link(story, root_recorded=True)
    assert judged(story, recorded_top, REPO_A) == (None, REPO_A, REPO_A)
    assert judged(story, through_a_link(story), REPO_A) == (None, REPO_A, REPO_A)
    assert judged(story, through_a_link(story), REPO_B) == (DriftKind.OTHER_PROJECT, REPO_A, REPO_A)


def test_a_folder_without_git_that_was_recorded_through_a_link_is_itself() -> None:
    story = payments()
    story.world.folders.add("/home/dev/notes")
    notes = WorktreeState(root=f"{LINK}/notes", cwd=f"{LINK}/notes")
    through_a_link(story)
    assert judged(story, notes, "/home/dev/notes")[:2] == (None, "/home/dev/notes")


def test_a_deleted_worktree_recorded_through_a_link_is_found_among_the_registered() -> None:
    story, root = worktree_removed()
    state = through_a_link(story)
    assert judged(story, state, root) == (DriftKind.WORKTREE_REMOVED, None, linked_path())
    inner = f"{LINK}{linked_path().removeprefix('/home/dev')}/sub"
    state = through_a_link(story, root=inner)
    seen = story.world.observe(place_probes(state, target_at(root)))
    place = judge(state, seen, target_at(root))
    assert (place.kind, place.certain, place.top, place.inside) == (
        DriftKind.WORKTREE_REMOVED,
        True,
        linked_path(),
        "/sub",
    )
    assert recorded_tops(state, place) == (inner.removesuffix("/sub"), linked_path())


def test_the_same_folder_by_another_name_is_no_change_of_folder() -> None:
    story = payments()
    state = through_a_link(story, silent=[REPO_A], last_folder=REPO_A)
    seen = story.world.observe(place_probes(state, target_at(REPO_A)))
    assert not strayed(state, seen)
    assert canonical(state.root, seen) == REPO_A
    assert canonical("/never/looked/at", seen) == "/never/looked/at"
    away = msgspec.structs.replace(state, silent=[REPO_A, REPO_B], last_folder=REPO_B)
    assert strayed(away, story.world.observe(place_probes(away, target_at(REPO_A))))
