import msgspec
import pytest

from resumed.protocol.restore import Answer, DriftKind
from resumed.restore.drift import RULES, drift_id
from resumed.restore.events.session import WorktreeBound
from resumed.restore.place import Place, WorktreeState, judge
from resumed.restore.place_outcome import told
from resumed.restore.place_question import place_question
from resumed.restore.place_settle import PLACE_KINDS, chosen, move, settle, switches, tentative
from resumed.restore.probes import BranchProbe, Seen, Unseen
from resumed.restore.steps import (
    AddWorktree,
    HeadAt,
    PathAbsent,
    RegisteredAt,
    RemoveWorktree,
    Step,
    SwitchBranch,
    holds,
    probe_of,
)
from resumed.restore.subsystem import Target
from tests.support.looks import observed, state_of, target_at
from tests.support.situations import MOVED_TO, SITUATIONS
from tests.support.story import BESIDE, BRANCH, REPO_A, REPO_B, Story, linked_path, payments


def chose(kind: DriftKind, choice: str) -> dict[str, Answer]:
    return {drift_id(kind): Answer(choice=choice)}


def blank(root: str) -> Target:
    return target_at(root, files=("rounding.py",))


def look(story: Story, root: str) -> tuple[WorktreeState, Seen, Place]:
    state = state_of(story)
    seen = observed(story, state, blank(root))
    return state, seen, judge(state, seen, blank(root))


def settled(story: Story, root: str, choices: dict[str, Answer]) -> tuple[Target | None, Step | None]:
    state, seen, place = look(story, root)
    target = settle(state, seen, choices, blank(root))
    return target, move(state, place, seen, choices, target) if target else None


def taking(kind: DriftKind, choice: str) -> tuple[Target, Step | None]:
    target, step = settled(*SITUATIONS[kind](), chose(kind, choice))
    assert target is not None
    return target, step


def test_the_folder_inside_that_it_worked_in_is_asked_about_when_it_is_gone() -> None:
    story = payments()
    inside = WorktreeBound(
        cwd=f"{REPO_A}/sub", cause="start", root=REPO_A, branch=BRANCH, sha=story.payments.branches[BRANCH]
    )
    story.add(inside)
    story.world.folders.add(f"{REPO_A}/sub")
    target, _ = settled(story, REPO_A, {})
    assert target is not None
    assert (target.root, target.cwd) == (REPO_A, f"{REPO_A}/sub")
    story.world.folders.remove(f"{REPO_A}/sub")
    state, seen, place = look(story, REPO_A)
    assert (place.kind, place.base) == (DriftKind.GONE, None)
    drift = place_question(state, place, seen, blank(REPO_A))
    here = "~/repo-a/sub is not there. ~/repo-a is a checkout of the same repository."
    assert drift.reason == here
    assert drift.differences[0].recorded == "~/repo-a/sub"
    assert settle(state, seen, {}, blank(REPO_A)) is None
    target, step = settled(story, REPO_A, chose(DriftKind.GONE, "relink"))
    assert target is not None
    assert (target.root, target.cwd, step) == (REPO_A, REPO_A, None)
    notes = told(state, place, seen, chose(DriftKind.GONE, "relink"), target)
    assert notes == ("This folder has no sub, where you worked.",)


def test_where_everything_is_as_recorded_nothing_is_moved() -> None:
    story = payments()
    target, step = settled(story, REPO_A, {})
    assert target is not None
    assert (target.root, target.cwd, target.branch, target.sha) == (
        REPO_A,
        REPO_A,
        BRANCH,
        story.payments.branches[BRANCH],
    )
    assert (step, target.commit, target.recreated, target.accepted_files) == (None, None, False, ())


def test_opening_the_recorded_place() -> None:
    target, step = taking(DriftKind.OTHER_PROJECT, "open")
    assert (target.root, target.here.root, step) == (REPO_A, REPO_B, None)


@pytest.mark.parametrize(("kind", "root"), [(DriftKind.MOVED, MOVED_TO), (DriftKind.STUB, REPO_A)])
def test_relinking_to_where_resume_was_pressed(kind: DriftKind, root: str) -> None:
    target, step = taking(kind, "relink")
    assert (target.root, target.cwd, step) == (root, root, None)


def test_recreating_the_worktree_at_its_branch() -> None:
    target, step = taking(DriftKind.WORKTREE_REMOVED, "recreate")
    assert (target.root, target.branch, target.recreated, target.commit) == (
        linked_path(),
        BRANCH,
        True,
        target.sha,
    )
    assert step is not None
    assert target.sha is not None
    assert step.do == AddWorktree(
        restore_id="",
        repository=REPO_A,
        path=linked_path(),
        sha=target.sha,
        branch=BRANCH,
        registered_at=f"refs/heads/{BRANCH}",
    )
    assert step.undo == RemoveWorktree(
        restore_id="",
        repository=REPO_A,
        path=linked_path(),
        sha=target.sha,
        branch=BRANCH,
        registered_at=f"refs/heads/{BRANCH}",
    )
    head = f"refs/heads/{BRANCH}"
    assert step.expects == (
        PathAbsent(linked_path()),
        RegisteredAt(repository=REPO_A, path=linked_path(), head=head),
    )
    assert step.ensures == (HeadAt(path=linked_path(), branch=BRANCH, sha=target.sha),)


def test_a_branch_that_is_gone_is_made_again_at_the_recorded_commit() -> None:
    story, root = SITUATIONS[DriftKind.WORKTREE_REMOVED]()
    del story.payments.branches[BRANCH]
    target, step = settled(story, root, chose(DriftKind.WORKTREE_REMOVED, "newWorktree"))
    assert target is not None
    assert step is not None
    assert isinstance(step.do, AddWorktree)
    assert isinstance(step.undo, RemoveWorktree)
    assert (step.do.sha, step.do.create_branch, step.undo.delete_branch) == (story.recorded_sha(), True, True)
    assert target.root == f"{linked_path()}.fix-payment"


def test_a_branch_that_could_not_be_seen_is_not_made_again() -> None:
    story, root = SITUATIONS[DriftKind.WORKTREE_REMOVED]()
    state, seen, _ = look(story, root)
    seen[BranchProbe(REPO_A, BRANCH)] = Unseen("timeout")
    assert settle(state, seen, chose(DriftKind.WORKTREE_REMOVED, "recreate"), blank(root)) is None


@pytest.mark.parametrize("kind", [DriftKind.BRANCH_DIFFERS, DriftKind.BRANCH_DELETED])
def test_going_on_with_the_branch_in_a_new_folder(kind: DriftKind) -> None:
    target, step = taking(kind, "newWorktree")
    assert (target.root, target.branch) == (BESIDE, BRANCH)
    assert step is not None
    assert isinstance(step.do, AddWorktree)
    assert step.do.create_branch is (kind is DriftKind.BRANCH_DELETED)
    assert step.title == "Make ~/repo-a.fix-payment on fix/payment"


@pytest.mark.parametrize("kind", [DriftKind.ADVANCED, DriftKind.REWRITTEN])
def test_the_old_commit_opens_without_a_branch(kind: DriftKind) -> None:
    story, root = SITUATIONS[kind]()
    target, step = settled(story, root, chose(kind, "newWorktree"))
    assert target is not None
    assert step is not None
    assert step.do == AddWorktree(restore_id="", repository=REPO_A, path=BESIDE, sha=story.recorded_sha())
    assert (target.branch, target.sha) == (None, story.recorded_sha())


def test_switching_back() -> None:
    story, root = SITUATIONS[DriftKind.BRANCH_DIFFERS]()
    target, step = settled(story, root, chose(DriftKind.BRANCH_DIFFERS, "switch"))
    main, sha = story.payments.branches["main"], story.payments.branches[BRANCH]
    assert target is not None
    assert step is not None
    assert (target.branch, target.commit, target.carried) == (BRANCH, sha, ("note.txt",))
    assert step.do == SwitchBranch(
        restore_id="", root=REPO_A, from_branch="main", from_sha=main, to_branch=BRANCH, to_sha=sha
    )
    assert step.undo == SwitchBranch(
        restore_id="",
        root=REPO_A,
        from_branch=BRANCH,
        from_sha=sha,
        to_branch="main",
        to_sha=main,
        moved_by="",
    )
    assert step.expects == (HeadAt(path=REPO_A, branch="main", sha=main),)


def test_switching_back_from_no_branch_can_be_undone() -> None:
    _, step = taking(DriftKind.DETACHED, "switch")
    assert step is not None
    assert isinstance(step.undo, SwitchBranch)
    assert step.undo.to_branch is None


@pytest.mark.parametrize(
    "kind",
    [
        DriftKind.BRANCH_DIFFERS,
        DriftKind.BRANCH_DELETED,
        DriftKind.ADVANCED,
        DriftKind.REWRITTEN,
        DriftKind.COMMIT_GONE,
    ],
)
def test_who_stays_has_accepted_the_files_that_were_named(kind: DriftKind) -> None:
    target, step = taking(kind, "stay")
    assert (target.root, step, target.accepted_files) == (REPO_A, None, ("rounding.py",))


def test_only_staying_accepts_files() -> None:
    assert taking(DriftKind.IN_PROGRESS, "continueAnyway")[0].accepted_files == ()
    assert taking(DriftKind.DETACHED, "switch")[0].accepted_files == ()


@pytest.mark.parametrize("kind", [DriftKind.GONE, DriftKind.STUB, DriftKind.OTHER_REPOSITORY])
def test_without_a_place_there_is_no_target(kind: DriftKind) -> None:
    assert settled(*SITUATIONS[kind](), {}) == (None, None)


def test_going_on_in_the_last_folder_moves_nothing() -> None:
    target, step = taking(DriftKind.SILENT_SWITCH, "last")
    assert (target.root, target.cwd, target.recorded_root, step) == (REPO_B, REPO_B, REPO_B, None)
    assert taking(DriftKind.SILENT_SWITCH, "open")[0].root == REPO_A
    story, root = SITUATIONS[DriftKind.WORKTREE_REMOVED]()
    state, seen, place = look(story, root)
    state = msgspec.structs.replace(state, silent=[REPO_A], last_folder=REPO_A)
    both = chose(DriftKind.SILENT_SWITCH, "last") | chose(DriftKind.WORKTREE_REMOVED, "recreate")
    last = settle(state, seen, both, blank(root))
    assert last is not None
    assert last.root == REPO_A
    assert move(state, place, seen, both, last) is None


def test_the_folder_inside_stays_inside() -> None:
    story = payments()
    inner = f"{REPO_A}/sub"
    story.world.folders.add(inner)
    state, seen, _ = look(story, REPO_A)
    state = msgspec.structs.replace(state, root=inner, cwd=inner)
    seen = observed(story, state, blank(REPO_A))
    target = settle(state, seen, {}, blank(REPO_A))
    assert target is not None
    assert (target.root, target.cwd, target.recorded_root) == (REPO_A, inner, REPO_A)
    at_hand = tentative(state, seen, blank(REPO_A))
    assert (at_hand.root, at_hand.recorded_root) == (REPO_A, REPO_A)


def test_a_stub_is_not_what_paths_are_relative_to() -> None:
    story, root = SITUATIONS[DriftKind.STUB]()
    state, seen, _ = look(story, root)
    target = settle(state, seen, chose(DriftKind.STUB, "relink"), blank(root))
    assert target is not None
    assert target.recorded_root == linked_path()
    assert tentative(state, seen, blank(root)).root is None


def through_a_link(story: Story, *, inside: str = "") -> WorktreeState:
    """The same record, but written through a link to the home folder."""
    story.world.links["/srv/people"] = "/home/dev"
    state = state_of(story)
    root = "/srv/people" + state.root.removeprefix("/home/dev") + inside
    return msgspec.structs.replace(state, root=root, cwd=root, last_folder=root)


def test_what_is_recorded_through_a_link_is_taken_up_at_its_real_path() -> None:
    story = payments()
    story.world.folders.add(f"{REPO_A}/sub")
    state = through_a_link(story, inside="/sub")
    target = settle(state, observed(story, state, blank(REPO_A)), {}, blank(REPO_A))
    assert target is not None
    assert (target.root, target.cwd) == (REPO_A, f"{REPO_A}/sub")
    assert (target.recorded_root, target.canonical_root) == ("/srv/people/repo-a", REPO_A)


@pytest.mark.parametrize(
    ("kind", "choice", "path"),
    [
        (DriftKind.WORKTREE_REMOVED, "recreate", linked_path()),
        (DriftKind.BRANCH_DIFFERS, "newWorktree", BESIDE),
        (DriftKind.BRANCH_DIFFERS, "switch", REPO_A),
    ],
)
def test_what_is_recorded_through_a_link_is_made_and_checked_at_its_real_path(
    kind: DriftKind, choice: str, path: str
) -> None:
    story, root = SITUATIONS[kind]()
    state, choices = through_a_link(story), chose(kind, choice)
    seen = observed(story, state, blank(root))
    target = settle(state, seen, choices, blank(root))
    assert target is not None
    step = move(state, judge(state, seen, blank(root)), seen, choices, target)
    assert step is not None
    assert (target.root, [condition.path for condition in step.ensures]) == (path, [path])
    story.world.perform(step.do)
    after = story.world.observe(tuple(probe_of(condition) for condition in step.ensures))
    assert all(holds(condition, after) for condition in step.ensures)


def test_the_last_folder_is_taken_up_at_its_real_path() -> None:
    story, root = SITUATIONS[DriftKind.SILENT_SWITCH]()
    state = through_a_link(story)
    state = msgspec.structs.replace(state, last_folder="/srv/people/repo-b", silent=["/srv/people/repo-b"])
    seen = observed(story, state, blank(root))
    target = settle(state, seen, chose(DriftKind.SILENT_SWITCH, "last"), blank(root))
    assert target is not None
    assert (target.root, target.cwd) == (REPO_B, REPO_B)
    assert (target.recorded_root, target.canonical_root) == ("/srv/people/repo-b", REPO_B)


def test_head_is_moved_only_by_a_choice_that_is_in_force() -> None:
    switch = chose(DriftKind.DETACHED, "switch")
    assert switches(switch)
    assert not switches(chose(DriftKind.BRANCH_DIFFERS, "stay"))
    assert not switches(switch | chose(DriftKind.SILENT_SWITCH, "last"))


def test_the_work_tree_that_is_gone_on_in_keeps_its_own_id_and_a_new_one_has_none() -> None:
    story, root = SITUATIONS[DriftKind.BRANCH_DIFFERS]()
    story.payments.trees[REPO_A].worktree_id = "w1"
    ids = {
        choice: target.worktree_id
        for choice in ("stay", "switch", "newWorktree")
        if (target := settled(story, root, chose(DriftKind.BRANCH_DIFFERS, choice))[0])
    }
    assert ids == {"stay": "w1", "switch": "w1", "newWorktree": None}


def test_every_choice_that_moves_is_of_a_kind_that_is_looked_for() -> None:
    for kind, rule in RULES.items():
        if {"newWorktree", "switch", "recreate", "stay"} & set(rule.choices):
            assert kind in PLACE_KINDS


def test_a_choice_is_found_by_its_kind() -> None:
    assert chosen(chose(DriftKind.MOVED, "relink"), DriftKind.MOVED) == "relink"
    assert chosen({}, DriftKind.MOVED) is None
