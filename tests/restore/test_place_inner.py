import msgspec
import pytest

from resumed.protocol.restore import Answer, DriftKind
from resumed.restore.drift import drift_id
from resumed.restore.place import Left, WorktreeState, judge
from resumed.restore.place_inner import folder_in, lacks, missing
from resumed.restore.place_settle import settle
from resumed.restore.probes import TreeFolderProbe
from resumed.restore.subsystem import Target
from resumed.restore.subsystems.worktree import WORKTREE
from tests.support.looks import observed, state_of, target_at, without
from tests.support.story import BRANCH, REPO_A, Story, payments

INNER = "packages/api"
CODE = {f"{INNER}/app.py": b"print()\n"}


@pytest.mark.parametrize(
    ("cwd", "inside"),
    [
        (REPO_A, "/new"),
        (f"{REPO_A}/a/b", "/new/a/b"),
        ("/real/repo-a/a", "/new/a"),
        (f"{REPO_A}-2", "/new"),
        ("/elsewhere", "/new"),
    ],
)
def test_the_folder_inside_the_work_tree_stays_the_same(cwd: str, inside: str) -> None:
    target = msgspec.structs.replace(target_at(REPO_A), recorded_root=REPO_A, canonical_root="/real/repo-a")
    assert folder_in("/new", WorktreeState(root=cwd, cwd=cwd), target) == inside


def worked_inside(*, root_recorded: bool) -> tuple[Story, WorktreeState]:
    """The agent worked in a folder that only its branch has; the work tree is on main."""
    story = payments()
    sha = story.commit(CODE)
    cwd = f"{REPO_A}/{INNER}"
    root = REPO_A if root_recorded else cwd
    state = msgspec.structs.replace(
        state_of(story), root=root, cwd=cwd, root_recorded=root_recorded, sha=sha, last_folder=cwd
    )
    story.world.move_head(REPO_A, "main")
    return story, state


def chosen(story: Story, state: WorktreeState, kind: DriftKind | None, choice: str) -> Target:
    target = target_at(REPO_A)
    seen = observed(story, state, target)
    assert judge(state, seen, target).kind is kind
    asked = kind or DriftKind.BRANCH_DIFFERS
    settled = settle(state, seen, {drift_id(asked): Answer(choice=choice)}, target)
    assert settled is not None
    return settled


@pytest.mark.parametrize("root_recorded", [True, False])
@pytest.mark.parametrize(("choice", "cwd"), [("switch", f"{REPO_A}/{INNER}"), ("stay", REPO_A)])
def test_a_folder_that_only_the_branch_has_is_there_again_with_it(
    choice: str, cwd: str, root_recorded: bool
) -> None:
    story, state = worked_inside(root_recorded=root_recorded)
    settled = chosen(story, state, None, choice)
    assert (settled.root, settled.cwd) == (REPO_A, cwd)
    assert missing(state, settled) == ("" if choice == "switch" else INNER)


@pytest.mark.parametrize("root_recorded", [True, False])
@pytest.mark.parametrize("choice", ["switch", "newWorktree"])
def test_a_folder_that_the_branch_has_lost_is_not_launched_in(choice: str, root_recorded: bool) -> None:
    story, state = worked_inside(root_recorded=root_recorded)
    story.payments.commit(BRANCH, {"README.md": b"# Without\n"}, state.sha)
    settled = chosen(story, state, None, choice)
    assert settled.cwd == settled.root
    assert missing(state, settled) == INNER


@pytest.mark.parametrize("tracked", [True, False])
def test_a_switch_leaves_a_folder_with_files_that_git_does_not_track(tracked: bool) -> None:
    story = payments()
    cwd = f"{REPO_A}/scratch"
    state = msgspec.structs.replace(state_of(story), root_recorded=True, cwd=cwd, last_folder=cwd)
    if tracked:
        main = story.payments.branches["main"]
        files = {**story.payments.commits[main][0], "scratch/kept.txt": b"kept"}
        story.payments.commit("main", files, main)
    story.world.move_head(REPO_A, "main")
    assert chosen(story, state, None, "switch").cwd == REPO_A
    story.world.files[f"{cwd}/notes.txt"] = b"by the agent"
    settled = chosen(story, state, None, "switch")
    assert (settled.cwd, missing(state, settled)) == (cwd, "")
    beside = chosen(story, state, None, "newWorktree")
    assert (beside.cwd, missing(state, beside)) == (beside.root, "scratch")


def test_a_folder_that_came_back_before_an_agent_was_told_is_gone_on_in() -> None:
    story, state = worked_inside(root_recorded=True)
    stayed = msgspec.structs.replace(
        state, cwd=REPO_A, left=Left(root=REPO_A, branch=BRANCH, sha=state.sha, inside=INNER)
    )
    settled = chosen(story, stayed, None, "stay")
    assert (settled.cwd, missing(stayed, settled)) == (REPO_A, INNER)
    story.world.move_head(REPO_A, BRANCH)
    back = chosen(story, stayed, None, "stay")
    assert (back.cwd, missing(stayed, back)) == (f"{REPO_A}/{INNER}", "")


@pytest.mark.parametrize("root_recorded", [True, False])
def test_a_folder_that_is_gone_from_its_own_branch_is_asked_about(root_recorded: bool) -> None:
    story, state = worked_inside(root_recorded=root_recorded)
    story.world.move_head(REPO_A, BRANCH)
    story.world.remove_folder(f"{REPO_A}/{INNER}")
    settled = chosen(story, state, DriftKind.GONE, "relink")
    assert (settled.root, settled.cwd) == (REPO_A, REPO_A)


def test_a_deleted_work_tree_inside_another_one_was_no_folder_of_that() -> None:
    story, state = worked_inside(root_recorded=False)
    nested = f"{REPO_A}/.worktrees/fix"
    state = msgspec.structs.replace(state, root=nested, cwd=nested)
    chosen(story, state, DriftKind.WORKTREE_REMOVED, "recreate")


def test_what_could_not_be_looked_at_is_not_missing() -> None:
    story, state = worked_inside(root_recorded=True)
    story.payments.commit(BRANCH, {"README.md": b"# Without\n"}, state.sha)
    seen = observed(story, state, target_at(REPO_A))
    tip = story.payments.branches[BRANCH]
    for look, expected in ((seen, INNER), (without(seen, TreeFolderProbe), "")):
        place = judge(state, look, target_at(REPO_A))
        assert lacks(tip, state, place, look) == expected


def test_whether_the_folder_is_there_is_a_fact_of_the_question() -> None:
    story, state = worked_inside(root_recorded=True)
    target = target_at(REPO_A, ())
    (gone,) = WORKTREE.drift(state, observed(story, state, target), target)
    story.world.folders.add(f"{REPO_A}/{INNER}")
    (there,) = WORKTREE.drift(state, observed(story, state, target), target)
    assert (gone.facts["lacking"], there.facts["lacking"]) == ("stay", "")
