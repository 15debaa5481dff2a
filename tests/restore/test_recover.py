from collections.abc import Sequence

import msgspec
import pytest

from resumed.protocol.restore import DriftKind, Outcome
from resumed.restore.events.envelope import Payload
from resumed.restore.events.journal import RestoreClosed, RestorePlanned, RestoreStep
from resumed.restore.events.session import SessionEnded
from resumed.restore.probes import (
    FolderProbe,
    FolderSeen,
    HeadLogProbe,
    HeadLogSeen,
    NoRepository,
    RepositoryProbe,
    RepositorySeen,
    Seen,
    Unseen,
    WorktreeEntry,
)
from resumed.restore.recover import Unfinished, Verdict, is_cut_off, recover, recovery_probes, unfinished
from resumed.restore.steps import (
    AddWorktree,
    HeadAt,
    PathAbsent,
    RecordState,
    RegisteredAt,
    RemoveWorktree,
    Step,
    SwitchBranch,
)
from tests.support.events import event
from tests.support.playbook import Play, Player, context, recovered, taking
from tests.support.simulation import World
from tests.support.situations import SITUATIONS
from tests.support.story import permitted

MOVE = Step(
    subsystem="worktree",
    title="Make it",
    do=AddWorktree(restore_id="r", repository="/r", path="/w", sha="s"),
    undo=RemoveWorktree(restore_id="r", repository="/r", path="/w", sha="s"),
    expects=(PathAbsent("/w"),),
    ensures=(HeadAt(path="/w", branch=None, sha="s"),),
)
RECORD = Step(subsystem="model", title="Record", do=RecordState(events=()))
BACK = Step(
    subsystem="worktree",
    title="Switch it",
    do=SwitchBranch(
        restore_id="r", root="/r", from_branch="main", from_sha="m", to_branch="side", to_sha="s"
    ),
    undo=SwitchBranch(
        restore_id="r", root="/r", from_branch="side", from_sha="s", to_branch="main", to_sha="m"
    ),
    expects=(HeadAt(path="/r", branch="main", sha="m"),),
    ensures=(HeadAt(path="/r", branch="side", sha="s"),),
)
MOVING = [
    (DriftKind.WORKTREE_REMOVED, "recreate"),
    (DriftKind.BRANCH_DIFFERS, "switch"),
    (DriftKind.BRANCH_DIFFERS, "newWorktree"),
    (DriftKind.BRANCH_DELETED, "newWorktree"),
    (DriftKind.DETACHED, "switch"),
    (DriftKind.REWRITTEN, "newWorktree"),
]


def planned(*steps: Step, restore_id: str = "r") -> RestorePlanned:
    plan = tuple(msgspec.to_builtins(step) for step in steps)
    return RestorePlanned(restore_id=restore_id, through={}, seen={}, drift=(), steps=plan)


def step(n: int, state: str, restore_id: str = "r") -> RestoreStep:
    return RestoreStep(restore_id=restore_id, n=n, state=state)


def read(*journal: Payload) -> Unfinished | None:
    return unfinished(tuple(event(payload) for payload in journal))


def begun(*journal: Payload) -> Unfinished:
    restore = read(*journal)
    assert restore is not None
    return restore


def killed(kind: DriftKind, choice: str, n: int | None) -> tuple[Play, World, tuple[object, ...]]:
    """A restore that was killed after its n-th journal record, and the world before it."""
    story, root = SITUATIONS[kind]()
    story.add(permitted("never"))
    before = story.world.outside()
    answers = taking(**{kind.value: choice})
    player = Player(story.world, [answers, answers], kill_at=n)
    return player.play(story.record, context(root)), story.world, before


@pytest.mark.parametrize(("kind", "choice"), MOVING)
@pytest.mark.parametrize("written", [True, False], ids=["after", "before"])
def test_killed_around_any_journal_record_it_is_as_before_or_as_after(
    kind: DriftKind, choice: str, written: bool
) -> None:
    whole, finished, _ = killed(kind, choice, None)
    verdicts = []
    for n in range(1, len(whole.journal) + 1):
        play, world, before = killed(kind, choice, n)
        assert play.report is None
        journal = play.journal if written else play.journal[:-1]
        recovery, stuck = recovered(world, journal)
        verdicts.append(recovery.verdict if recovery else None)
        is_closed = written and n == len(whole.journal)
        stays = is_closed or verdicts[-1] is Verdict.FINISH
        assert (stuck, world.outside()) == ([], finished.outside() if stays else before), play.notation
        now = world.outside()
        recovered(world, journal)
        assert world.outside() == now, "a second recovery changes nothing"
    assert verdicts[-2:] == ([Verdict.FINISH, None] if written else [Verdict.ROLL_BACK, Verdict.FINISH])
    assert Verdict.ROLL_BACK in verdicts


@pytest.mark.parametrize(("kind", "choice"), MOVING)
def test_without_the_record_before_a_step_its_effect_would_stay(kind: DriftKind, choice: str) -> None:
    whole, _, _ = killed(kind, choice, None)
    first = whole.journal.index(step_of(1, "done")) + 1
    play, world, before = killed(kind, choice, first)
    assert play.journal[-2:] == [step_of(1, "begun"), step_of(1, "done")]
    recovery, _ = recovered(world, play.journal[:-2])
    assert recovery is not None
    assert recovery.undo == ()
    assert world.outside() != before


@pytest.mark.parametrize(("kind", "choice"), MOVING)
def test_without_the_record_after_a_step_a_finished_restore_would_be_taken_back(
    kind: DriftKind, choice: str
) -> None:
    whole, _, _ = killed(kind, choice, None)
    play, world, _ = killed(kind, choice, len(whole.journal))
    complete = play.journal[:-1]
    finish = recover(begun(*complete), {})
    assert finish.verdict is Verdict.FINISH
    for lost in [each for each in complete if isinstance(each, RestoreStep) and each.state == "done"]:
        recovery, _ = recovered(world, [each for each in complete if each != lost])
        assert recovery is not None
        assert recovery.verdict is Verdict.ROLL_BACK


def step_of(n: int, state: str) -> RestoreStep:
    return RestoreStep(restore_id=context("/").restore_id, n=n, state=state)


def test_a_restore_that_was_rolled_back_and_killed_is_rolled_back() -> None:
    story, root = SITUATIONS[DriftKind.WORKTREE_REMOVED]()
    before = story.world.outside()
    refuses = Player(
        story.world,
        [taking()],
        refuses=lambda verb: "no" if isinstance(verb, RecordState) else None,
    )
    play = refuses.play(story.record, context(root))
    assert play.ended.outcome is Outcome.ROLLED_BACK
    for cut in range(1, len(play.journal)):
        recovery, stuck = recovered(story.world, play.journal[:cut])
        assert (stuck, story.world.outside()) == ([], before)
        assert recovery is None or recovery.verdict is Verdict.ROLL_BACK


def test_only_a_restore_without_an_end_is_unfinished() -> None:
    closed = RestoreClosed(restore_id="r", outcome="restored")
    assert read() is None
    assert read(planned(RECORD), step(1, "begun"), closed) is None
    assert read(step(1, "begun")) is None
    other = begun(planned(RECORD), step(1, "done"), closed, planned(MOVE, restore_id="s"))
    assert (other.restore_id, other.states) == ("s", {})
    assert begun(planned(MOVE), step(1, "begun", "other")).states == {}


def test_a_plan_without_an_end_is_cut_off() -> None:
    plan, closed = planned(RECORD), RestoreClosed(restore_id="r", outcome="restored")
    ended = SessionEnded(reason="rolledBack", clean=False)
    for journal, expected in (
        ((plan, step(1, "begun")), True),
        ((plan, step(1, "done"), closed), False),
        ((plan, ended), False),
        ((step(1, "begun"),), False),
        ((), False),
    ):
        assert is_cut_off([event(payload) for payload in journal]) is expected


def test_a_plan_made_again_keeps_what_was_done_under_its_number() -> None:
    restore = begun(planned(MOVE, RECORD), step(1, "done"), planned(MOVE, RECORD, RECORD), step(2, "begun"))
    assert (restore.steps, restore.states) == ((MOVE, RECORD, RECORD), {1: "done", 2: "begun"})
    shorter = begun(planned(MOVE, RECORD, RECORD), step(1, "done"), planned(MOVE, RECORD), step(2, "done"))
    assert recover(shorter, {}).verdict is Verdict.FINISH


def test_what_was_begun_is_looked_at_and_nothing_else() -> None:
    assert recovery_probes(begun(planned(MOVE, RECORD))) == ()
    probes = recovery_probes(begun(planned(RECORD, MOVE), step(1, "done"), step(2, "begun")))
    assert probes == (FolderProbe("/w"), RepositoryProbe("/w"), HeadLogProbe("/w"))


@pytest.mark.parametrize("state", ["begun", "done", "failed"])
def test_an_effect_that_is_neither_there_nor_not_is_left_and_said(state: str) -> None:
    restore = begun(planned(MOVE, RECORD), step(1, state))
    blind: Seen = {FolderProbe("/w"): Unseen("timeout"), RepositoryProbe("/w"): Unseen("timeout")}
    half: Seen = {FolderProbe("/w"): FolderSeen("folder")}
    for seen in (half, blind, Seen()):
        recovery = recover(restore, seen)
        assert (recovery.verdict, recovery.undo) == (Verdict.ROLL_BACK, ())
        assert recovery.stuck == ("“Make it” is neither as before nor as after; it was left as it is.",)


@pytest.mark.parametrize(
    ("kind", "branch", "path", "by", "stays"),
    [
        ("linked", "mine", "/w", None, True),
        ("linked", None, "/w", None, True),
        ("linked", "mine", "/w", "r", True),
        # A person made it, and went on in it.
        ("linked", "mine", "/w", "", False),
        ("main", "mine", "/w", None, False),
        ("linked", "mine", "/", None, False),
    ],
)
def test_a_folder_in_which_somebody_went_on_stays(
    kind: str, branch: str | None, path: str, by: str | None, stays: bool
) -> None:
    there = RepositorySeen(
        top_level=path, git_dir="/g/w", common_dir="/g", common_id="c", kind=kind, branch=branch, sha="later",
    )  # fmt: skip
    seen: Seen = {
        FolderProbe("/w"): FolderSeen("folder"),
        RepositoryProbe("/w"): there,
        HeadLogProbe("/w"): HeadLogSeen(begun_by=by, moved_by=by),
    }
    recovery = recover(begun(planned(MOVE, RECORD), step(1, "done")), seen)
    assert (len(recovery.stuck), bool(recovery.standing)) == (1, stays)


@pytest.mark.parametrize("by", ["r", "", None])
def test_what_was_being_taken_away_is_gone_on_with_whoever_is_there_now(by: str | None) -> None:
    there = RepositorySeen(
        top_level="/w", git_dir="/g/w", common_dir="/g", common_id="c", kind="linked", branch=None, sha="s",
    )  # fmt: skip
    seen: Seen = {
        FolderProbe("/w"): FolderSeen("folder"),
        RepositoryProbe("/w"): there,
        HeadLogProbe("/w"): HeadLogSeen(begun_by=by, moved_by=by),
    }
    recovery = recover(begun(planned(MOVE, RECORD), step(1, "done"), step(1, "undoing")), seen)
    assert (len(recovery.undo), recovery.notes, bool(recovery.standing)) == (1, (), by == "r")


@pytest.mark.parametrize(("branch", "stays"), [("side", True), ("other", False)])
def test_a_branch_on_which_somebody_went_on_stays(branch: str, stays: bool) -> None:
    there = RepositorySeen(
        top_level="/r", git_dir="/r/.git", common_dir="/r/.git", common_id="c", kind="main", branch=branch,
        sha="later",
    )  # fmt: skip
    recovery = recover(begun(planned(BACK, RECORD), step(1, "done")), {RepositoryProbe("/r"): there})
    assert (len(recovery.stuck), bool(recovery.standing)) == (1, stays)


@pytest.mark.parametrize(
    ("branch", "sha", "undone", "stuck", "stands"),
    [("side", "s", 1, 0, 1), ("main", "m", 0, 0, 0), ("another", "x", 0, 1, 0), ("side", "later", 0, 1, 1)],
)
def test_a_switch_back_that_was_cut_off_is_judged_by_where_head_is(
    branch: str, sha: str, undone: int, stuck: int, stands: int
) -> None:
    there = RepositorySeen(
        top_level="/r", git_dir="/r/.git", common_dir="/r/.git", common_id="c", kind="main", branch=branch,
        sha=sha,
    )  # fmt: skip
    restore = begun(planned(BACK, RECORD), step(1, "done"), step(1, "undoing"))
    log = HeadLogSeen(begun_by="", moved_by="r")
    recovery = recover(restore, {RepositoryProbe("/r"): there, HeadLogProbe("/r"): log})
    assert (len(recovery.undo), len(recovery.stuck), len(recovery.standing)) == (undone, stuck, stands)


@pytest.mark.parametrize(
    ("made", "moved_back", "said"),
    [
        (HeadLogSeen(begun_by="r", moved_by="r"), HeadLogSeen(begun_by="", moved_by="r"), ""),
        # A person wanted just the same, by hand, before or after the restore was killed.
        (HeadLogSeen(begun_by="", moved_by=""), HeadLogSeen(begun_by="r", moved_by=""), "somebody else"),
        (HeadLogSeen(begun_by="q", moved_by="q"), HeadLogSeen(begun_by="", moved_by="q"), "somebody else"),
        (HeadLogSeen(), HeadLogSeen(), "nothing tells who"),
        (Unseen("timeout"), Unseen("timeout"), "nothing tells who"),
    ],
)
@pytest.mark.parametrize("state", ["begun", "done"])
def test_what_somebody_else_did_is_not_taken_back(
    state: str, made: HeadLogSeen | Unseen, moved_back: HeadLogSeen | Unseen, said: str
) -> None:
    for move, log, path in ((MOVE, made, "/w"), (BACK, moved_back, "/r")):
        (after,) = move.ensures
        assert isinstance(after, HeadAt)
        there = RepositorySeen(
            top_level=path, git_dir="/g", common_dir="/g", common_id="c", kind="linked",
            branch=after.branch, sha="s",
        )  # fmt: skip
        seen: Seen = {
            FolderProbe(path): FolderSeen("folder"),
            RepositoryProbe(path): there,
            HeadLogProbe(path): log,
        }
        recovery = recover(begun(planned(move, RECORD), step(1, state)), seen)
        assert (len(recovery.undo), recovery.stuck) == (0 if said else 1, ())
        assert [said in note for note in recovery.notes] == ([True] if said else [])


def test_a_switch_that_was_taken_back_before_that_was_noted_is_told() -> None:
    there = RepositorySeen(
        top_level="/r", git_dir="/g", common_dir="/g", common_id="c", kind="main", branch="main", sha="m"
    )
    restore = begun(planned(BACK, RECORD), step(1, "done"), step(1, "undoing"))
    recovery = recover(restore, {RepositoryProbe("/r"): there})
    assert (recovery.undo, recovery.stuck, recovery.undone) == ((), (), frozenset({1}))


HEAD = "refs/heads/old"
REPLACE = msgspec.structs.replace(
    MOVE,
    do=AddWorktree(restore_id="r", repository="/r", path="/w", sha="s", registered_at=HEAD),
    expects=(PathAbsent("/w"), RegisteredAt(repository="/r", path="/w", head=HEAD)),
)


@pytest.mark.parametrize(
    ("entries", "kind", "state", "undone", "stuck"),
    [
        # Git drops what it kept before it makes the new one.
        ((), "absent", "begun", 1, 0),
        ((), "folder", "begun", 0, 1),
        (("old",), "absent", "begun", 0, 0),
        (("other",), "absent", "begun", 0, 1),
        # Taking it away goes on wherever it was.
        ((), "absent", "undoing", 1, 0),
        (("old",), "absent", "undoing", 1, 0),
        (("other",), "folder", "undoing", 1, 0),
    ],
)
def test_what_replaced_a_work_tree_is_taken_back_when_that_one_is_dropped(
    entries: tuple[str, ...], kind: str, state: str, undone: int, stuck: int
) -> None:
    source = RepositorySeen(
        top_level="/r", git_dir="/r/.git", common_dir="/r/.git", common_id="c", kind="main", branch="main",
        sha="m", worktrees=tuple(WorktreeEntry("/w", branch, "s", True) for branch in entries),
    )  # fmt: skip
    seen: Seen = {
        FolderProbe("/w"): FolderSeen(kind),
        RepositoryProbe("/w"): NoRepository(),
        RepositoryProbe("/r"): source,
        HeadLogProbe("/w"): Unseen("failed: nothing is there"),
    }
    restore = begun(planned(REPLACE, RECORD), step(1, state))
    assert set(recovery_probes(restore)) == set(seen)
    recovery = recover(restore, seen)
    assert (len(recovery.undo), len(recovery.stuck), recovery.standing) == (undone, stuck, frozenset())


def test_what_was_undone_is_not_undone_again() -> None:
    recovery = recover(begun(planned(MOVE, RECORD), step(1, "done"), step(1, "undone")), {})
    assert (recovery.undo, recovery.stuck) == ((), ())


def test_records_need_no_undoing() -> None:
    recovery = recover(begun(planned(RECORD, RECORD), step(1, "done"), step(2, "begun")), {})
    assert (recovery.verdict, recovery.undo, recovery.stuck) == (Verdict.ROLL_BACK, (), ())


@pytest.mark.parametrize("n", [-1, 0, 3])
def test_a_step_that_no_plan_holds_is_said_and_stops_nothing(n: int) -> None:
    restore = begun(planned(MOVE, RECORD), step(n, "begun"))
    assert recovery_probes(restore) == ()
    recovery = recover(restore, {})
    assert len(recovery.stuck) == 1
    assert recovery.undo == ()


def test_a_plan_without_steps_has_nothing_to_finish() -> None:
    assert recover(begun(planned()), {}).verdict is Verdict.ROLL_BACK


def names(journal: Sequence[Payload]) -> list[str]:
    return [type(each).__name__ for each in journal]


def test_nothing_is_planned_before_the_questions_are_answered() -> None:
    play, world, before = killed(DriftKind.BRANCH_DIFFERS, "switch", 1)
    assert names(play.journal) == ["RestoreAnswered"]
    assert recovered(world, play.journal) == (None, [])
    assert world.outside() == before


def test_an_undo_that_was_cut_off_is_done_again_whatever_it_left() -> None:
    journal = (planned(MOVE), step(1, "begun"), step(1, "done"), step(1, "undoing"))
    for kind in ("absent", "folder"):
        seen: Seen = {FolderProbe("/w"): FolderSeen(kind)}
        recovery = recover(begun(*journal), seen)
        assert (recovery.verdict, recovery.undo, recovery.stuck) == (Verdict.ROLL_BACK, ((1, MOVE.undo),), ())
    assert recover(begun(*journal, step(1, "undone")), {}).undo == ()
