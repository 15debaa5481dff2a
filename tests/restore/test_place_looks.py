import msgspec

from resumed.restore.place import WorktreeState, candidates, free_candidate, judge
from resumed.restore.place_looks import later_probes, place_probes
from resumed.restore.probes import (
    BranchProbe,
    CommitProbe,
    FolderProbe,
    HistoryProbe,
    RepositoryProbe,
    SwitchProbe,
    TreeFolderProbe,
)
from tests.support.looks import state_of, target_at
from tests.support.story import BRANCH, REPO_A, REPO_B, Story, linked, linked_path, payments

LINK = "/srv/people"


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


def test_names_beside_a_place_that_only_the_first_look_found() -> None:
    story = payments()
    state, target = _through_a_link(story), target_at(REPO_B)
    seen = story.world.observe(place_probes(state, target))
    more = later_probes(state, seen, target)
    assert more == tuple(FolderProbe(name) for name in candidates(REPO_A, state))
    assert free_candidate(state, judge(state, seen, target), seen) is None
    both = seen | story.world.observe(more)
    assert free_candidate(state, judge(state, both, target), both) == candidates(REPO_A, state)[0]
    assert later_probes(state, both, target) == ()
    plain = state_of(story)
    assert later_probes(plain, story.world.observe(place_probes(plain, target)), target) == ()


def test_how_a_branch_moved_is_looked_at_only_where_it_did() -> None:
    story = payments()
    story.commit({"README.md": b"# More\n"})
    story.world.move_head(REPO_A, "main")
    state, target = state_of(story), target_at(REPO_A)
    seen = story.world.observe(place_probes(state, target))
    moved = HistoryProbe(REPO_A, story.recorded_sha(), BRANCH)
    assert moved in later_probes(state, seen, target)
    still = payments()
    seen = still.world.observe(place_probes(state, target))
    assert not [probe for probe in later_probes(state, seen, target) if isinstance(probe, HistoryProbe)]
    checked_out = payments()
    checked_out.commit({"README.md": b"# More\n"})
    seen = checked_out.world.observe(place_probes(state, target))
    assert not [probe for probe in later_probes(state, seen, target) if isinstance(probe, HistoryProbe)]


def test_the_folder_inside_is_looked_for_in_every_commit_that_it_may_go_on_from() -> None:
    story = linked()
    state = msgspec.structs.replace(state_of(story), root_recorded=True, cwd=f"{linked_path()}/packages/api")
    story.world.remove_folder(linked_path())
    target = target_at(REPO_A)
    later = later_probes(state, story.world.observe(place_probes(state, target)), target)
    assert TreeFolderProbe(REPO_A, story.recorded_sha(), "packages/api") in later
    assert FolderProbe(f"{REPO_A}/packages/api") in later


def test_a_gone_folder_is_looked_for_in_the_work_tree_that_it_was_in() -> None:
    story = payments()
    inner = f"{REPO_A}/packages/api"
    state = msgspec.structs.replace(state_of(story), root=inner, cwd=inner)
    target = target_at(REPO_A)
    later = later_probes(state, story.world.observe(place_probes(state, target)), target)
    assert TreeFolderProbe(REPO_A, story.recorded_sha(), "packages/api") in later


def _through_a_link(story: Story) -> WorktreeState:
    """The same record, but written through a link to the home folder."""
    story.world.links[LINK] = "/home/dev"
    state = state_of(story)
    root = LINK + state.root.removeprefix("/home/dev")
    return msgspec.structs.replace(state, root=root, cwd=root)
