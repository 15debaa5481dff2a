import msgspec
import pytest

from resumed.protocol.restore import Answer, Drift, DriftKind, Severity, Status
from resumed.restore.drift import RULES, drift_id
from resumed.restore.events.envelope import Payload
from resumed.restore.events.journal import RestoreClosed
from resumed.restore.events.session import GitRef, SessionMeta, WorktreeBound
from resumed.restore.events.worktree import WorktreeMeta
from resumed.restore.place import Left, WorktreeState
from resumed.restore.place_looks import place_probes
from resumed.restore.place_settle import settle
from resumed.restore.probes import AnyProbe, HistoryProbe, SwitchProbe, Unseen
from resumed.restore.steps import RecordState
from resumed.restore.subsystem import Here, Restoration, Target
from resumed.restore.subsystems.worktree import WORKTREE
from tests.support.events import assert_stores_anywhere, event, folded, resume_meta, session_meta
from tests.support.situations import BY_USER, SITUATIONS
from tests.support.story import BESIDE, BRANCH, COMMITTED, README, REPO_A, REPO_B, Story, payments

META = msgspec.structs.replace(
    session_meta(), cwd="/a", git=GitRef(sha="s1", branch="b1", origin="o"), worktree_id="w1", repo_id="r1"
)


def state(*payloads: Payload) -> WorktreeState:
    result = folded(WORKTREE, [event(payload) for payload in payloads])
    assert isinstance(result, WorktreeState)
    return result


def bound(cwd: str, cause: str = "start", **changes: str) -> WorktreeBound:
    return msgspec.structs.replace(WorktreeBound(cwd=cwd, cause=cause), **changes)


def target_at(root: str, files: tuple[str, ...] | None = None) -> Target:
    return Target(here=Here(root=root, home="/home/dev", agent="codex"), recorded_root="", files_differ=files)


def drifts(
    story: Story, root: str = REPO_A, files: tuple[str, ...] | None = (), hidden: type[AnyProbe] | None = None
) -> tuple[Drift, ...]:
    recorded = story.record.states["worktree"]
    target = target_at(root, files)
    seen = story.world.observe(place_probes(recorded, target))
    if hidden is not None:
        seen = {probe: Unseen("timeout") if isinstance(probe, hidden) else seen[probe] for probe in seen}
    return WORKTREE.drift(recorded, seen, target)


def graded(found: tuple[Drift, ...]) -> list[tuple[str, str]]:
    return [(drift.kind.value, drift.severity.value) for drift in found]


def test_the_place_is_where_it_began() -> None:
    assert isinstance(META, SessionMeta)
    view = WORKTREE.view(state(META))
    assert (view.root, view.branch, view.sha, view.origin, view.sha_as_of) == ("/a", "b1", "s1", "o", "start")
    later = msgspec.structs.replace(META, cwd="/b")
    assert WORKTREE.view(state(META, later)).root == "/a"


def test_who_chooses_another_place_moves_it() -> None:
    view = WORKTREE.view(state(META, bound("/b/sub", "userChoice", root="/b", branch="b2", sha="s2")))
    assert (view.root, view.last_folder, view.branch, view.sha_as_of) == ("/b", "/b/sub", "b2", "last")


def test_an_agent_that_drifts_off_does_not() -> None:
    silent = state(META, bound("/b", "agentSilent"), bound("/b", "agentSilent"), bound("/c", "agentSilent"))
    view = WORKTREE.view(silent)
    assert (view.root, view.last_folder, view.silent_switches) == ("/a", "/c", ("/b", "/c"))
    assert WORKTREE.view(state(META, bound("/a", "agentSilent"))).silent_switches == ()
    chosen = WORKTREE.view(state(META, bound("/b", "agentSilent"), bound("/b", "userChoice")))
    assert (chosen.root, chosen.silent_switches) == ("/b", ())


def test_a_head_that_moved_by_itself_leaves_the_place_what_it_was() -> None:
    chosen = bound("/b/sub", "userChoice", root="/b", worktree_id="w2", branch="b2", sha="s2")
    before = state(META, chosen, bound("/c", "agentSilent"))
    after = state(
        META, chosen, bound("/c", "agentSilent"), bound("/b", "observed", root="/b", branch="b3", sha="s3")
    )
    assert after == msgspec.structs.replace(before, branch="b3", sha="s3", sha_as_of="last")


def test_the_kind_of_the_recorded_worktree_is_known_from_its_own_stream() -> None:
    described = WorktreeMeta(
        schema_version=1, worktree_id="w1", repo_id="r1", path="/a", evidence={"kind": "linked"}
    )
    assert state(META, described).kind == "linked"
    other = msgspec.structs.replace(described, worktree_id="w2")
    assert state(META, other).kind == ""
    in_other = state(META, described, other, bound("/b", root="/b", worktree_id="w2"))
    assert (in_other.worktree_id, in_other.kind) == ("w2", "linked")


def test_another_work_tree_never_inherits_an_id() -> None:
    described = WorktreeMeta(
        schema_version=1, worktree_id="w1", repo_id="r1", path="/a", evidence={"kind": "main"}
    )
    beside = msgspec.structs.replace(bound("/b", root="/b"), moved_from=("/a",))
    other = state(META, described, beside)
    assert (other.worktree_id, other.kind) == (None, "")
    made = state(META, described, msgspec.structs.replace(beside, made=True))
    assert (made.worktree_id, made.kind) == (None, "linked")
    same = state(META, described, bound("/a", root="/a"))
    assert (same.worktree_id, same.kind) == ("w1", "main")


def test_a_folder_made_by_a_restore_that_is_gone_has_not_moved_to_where_it_came_from() -> None:
    story = payments()
    story.payments.trees[REPO_A].worktree_id = "w1"
    story.payments.trees[REPO_A].branch = "main"
    made = bound(BESIDE, "userChoice", root=BESIDE, branch=BRANCH, sha=story.recorded_sha())
    story.add(
        WorktreeBound(cwd=REPO_A, cause="start", root=REPO_A, worktree_id="w1"),
        msgspec.structs.replace(made, moved_from=(REPO_A,), made=True),
    )
    (first,) = drifts(story, files=None)
    assert first.kind is DriftKind.WORKTREE_REMOVED


def test_a_change_of_folder_is_asked_about_only_where_it_is_one() -> None:
    story = payments()
    story.world.links["/srv/people"] = "/home/dev"
    story.add(bound("/srv/people/repo-a", "agentSilent"))
    assert drifts(story) == ()
    story.add(bound(REPO_B, "agentSilent"))
    assert [drift.kind for drift in drifts(story)] == [DriftKind.SILENT_SWITCH]


def test_during_a_rebase_the_commit_is_not_asked_about() -> None:
    story, root = SITUATIONS[DriftKind.REWRITTEN]()
    story.payments.trees[root].in_progress = "rebase"
    assert graded(drifts(story, root, ("rounding.py",))) == [("inProgress", "block")]


def test_what_the_agent_was_told_of_is_known_once_it_took_the_run_up() -> None:
    moved = msgspec.structs.replace(bound("/b", root="/b", branch="b2"), moved_from=("/a",), made=True)
    waiting = state(META, resume_meta(), moved)
    assert waiting.left == Left(root="/a", branch="b1", sha="s1", made="/b")
    assert state(META, resume_meta(), moved, RestoreClosed(restore_id="r", outcome="restored")).left is None
    again = state(META, resume_meta(), moved, resume_meta(), bound("/c", root="/c"))
    assert again.left == waiting.left
    direct = state(META, resume_meta(), moved, META, bound("/b", root="/b"))
    assert direct.left is None
    assert_stores_anywhere(WORKTREE, [event(payload) for payload in (META, resume_meta(), moved)])


def test_the_state_can_be_stored_anywhere() -> None:
    payloads = [META, bound("/a", root="/a"), bound("/b", "agentSilent"), bound("/c", "userChoice")]
    assert_stores_anywhere(WORKTREE, [event(payload) for payload in payloads])


def test_nothing_is_asked_where_nothing_differs() -> None:
    assert drifts(payments()) == ()


@pytest.mark.parametrize("kind", [kind for kind in DriftKind if RULES[kind].subsystem == "worktree"])
def test_each_situation_of_the_place_has_its_question(kind: DriftKind) -> None:
    story, root = SITUATIONS[kind]()
    assert [drift.kind for drift in drifts(story, root, ("rounding.py",))] == [kind]


SAME_TREE = {"README.md": README, "rounding.py": COMMITTED}
OTHER_TREE = {"README.md": README, "rounding.py": BY_USER}


@pytest.mark.parametrize(
    ("tree", "files", "severity"),
    [
        (SAME_TREE, (), "inform"),
        (SAME_TREE, ("rounding.py",), "inform"),
        (OTHER_TREE, (), "inform"),
        (OTHER_TREE, ("rounding.py",), "ask"),
        (OTHER_TREE, None, "ask"),
    ],
)
def test_another_commit_is_asked_about_only_where_the_edited_files_differ_by_it(
    tree: dict[str, bytes], files: tuple[str, ...] | None, severity: str
) -> None:
    story = payments()
    story.rewrite(tree)
    assert graded(drifts(story, files=files)) == [("rewritten", severity)]


def test_a_commit_that_is_gone_is_always_asked_about() -> None:
    story = payments()
    sha = story.recorded_sha()
    story.rewrite(SAME_TREE)
    del story.payments.commits[sha]
    assert graded(drifts(story, files=())) == [("commitGone", "ask")]


@pytest.mark.parametrize(("files", "severity"), [((), "inform"), (("rounding.py",), "ask"), (None, "ask")])
def test_new_commits(files: tuple[str, ...] | None, severity: str) -> None:
    story = payments()
    story.commit({"other.py": b"x"})
    assert graded(drifts(story, files=files)) == [("advanced", severity)]


def test_a_history_that_timed_out_is_not_called_an_advance() -> None:
    story = payments()
    story.commit({"other.py": b"x"})
    assert graded(drifts(story, files=("a",), hidden=HistoryProbe)) == [("rewritten", "ask")]


def test_uncommitted_files_that_could_not_be_looked_at_only_bar_the_switch() -> None:
    story, root = SITUATIONS[DriftKind.BRANCH_DIFFERS]()
    (drift,) = drifts(story, root, hidden=SwitchProbe)
    impossible = [choice.id for choice in drift.choices if choice.not_possible]
    assert impossible == ["switch"]


def test_several_things_at_once() -> None:
    story, root = SITUATIONS[DriftKind.BRANCH_DIFFERS]()
    story.payments.trees[REPO_A].in_progress = "merge"
    story.add(bound(REPO_B, "agentSilent"))
    assert [drift.kind.value for drift in drifts(story, REPO_B)] == [
        "silentSwitch",
        "otherProject",
        "inProgress",
        "branchDiffers",
    ]
    assert drifts(story, root)[0].severity is Severity.ASK


def restored(kind: DriftKind | None, choice: str = "", **others: str) -> Restoration:
    story, root = SITUATIONS[kind]() if kind else (payments(), REPO_A)
    choices = {name.replace("__", "."): Answer(choice=answer) for name, answer in others.items()}
    if kind:
        choices[drift_id(kind)] = Answer(choice=choice)
    recorded, target = story.record.states["worktree"], target_at(root)
    seen = story.world.observe(place_probes(recorded, target))
    at = settle(recorded, seen, choices, target)
    assert at is not None
    return WORKTREE.steps(recorded, seen, choices, at)


def written(restoration: Restoration) -> dict[str, object]:
    record = restoration.steps[-1].do
    assert isinstance(record, RecordState)
    ((name, fields),) = record.events
    assert name == "worktree_bound"
    return fields


def test_where_the_new_run_is_goes_on_record() -> None:
    calm = restored(None)
    assert (calm.status, calm.reason, len(calm.steps)) == (Status.RESTORED, "as recorded", 1)
    sha = payments().recorded_sha()
    assert written(calm) == {
        "cwd": REPO_A,
        "cause": "start",
        "root": REPO_A,
        "worktree_id": None,
        "branch": BRANCH,
        "sha": sha,
        "moved_from": [],
        "made": False,
        "branch_made": False,
    }


def test_a_choice_about_something_else_is_none_about_the_place() -> None:
    calm = restored(None, permissions__neverAsk="never")
    assert (calm.reason, written(calm)["cause"]) == ("as recorded", "start")


def test_the_move_comes_before_the_record_of_it() -> None:
    switched = restored(DriftKind.BRANCH_DIFFERS, "switch")
    assert [type(step.do).__name__ for step in switched.steps] == ["SwitchBranch", "RecordState"]
    assert (switched.reason, written(switched)["cause"]) == ("as you chose", "userChoice")
    stayed = restored(DriftKind.BRANCH_DIFFERS, "stay")
    assert [type(step.do).__name__ for step in stayed.steps] == ["RecordState"]
    assert written(stayed)["branch"] == "main"


def test_what_is_recorded_is_the_place_of_the_next_resume() -> None:
    fields = written(restored(DriftKind.BRANCH_DIFFERS, "newWorktree"))
    assert (fields["moved_from"], fields["made"]) == ([REPO_A], True)
    again = state(META, msgspec.convert(fields, WorktreeBound))
    assert (again.root, again.root_recorded, again.sha_as_of) == (f"{REPO_A}.fix-payment", True, "last")
