"""Laws of every restore, for random records in random worlds with random answers and failures."""

from collections.abc import Callable
from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from resumed.protocol.restore import Answer, Outcome, Status
from resumed.restore.effects import Ask, Cancelled, Effect, Journal, Observe, Perform, PlanLaunch
from resumed.restore.events.journal import RestoreClosed, RestorePlanned, RestoreStep
from resumed.restore.events.session import PermissionsSet, WorktreeBound
from resumed.restore.permission_grant import APPROVALS, SANDBOXES, PermissionsState, ceiling, recorded
from resumed.restore.probes import CeilingProbe, CeilingSeen, FileProbe, RepositoryProbe, Unseen
from resumed.restore.steps import AnyVerb, RecordState
from tests.support.events import TARGET
from tests.support.playbook import Given, Play, Player, answer, context, recovered
from tests.support.situations import BY_USER
from tests.support.story import (
    ADD,
    BRANCH,
    COMMITTED,
    README,
    REPO_A,
    REPO_B,
    UPDATE,
    Story,
    cut_off,
    linked,
    linked_path,
    payments,
    permitted,
)

UNCHANGED = (Outcome.NEEDS_ANSWER, Outcome.CANCELLED, Outcome.REFUSED, Outcome.READ_ONLY, Outcome.ROLLED_BACK)


def clean_main(story: Story) -> None:
    story.world.files[f"{REPO_A}/rounding.py"] = COMMITTED
    if story.payments.trees[REPO_A].branch == BRANCH:
        story.world.move_head(REPO_A, "main")


def drop_branch(story: Story) -> None:
    if not any(tree.branch == BRANCH and tree.present for tree in story.payments.trees.values()):
        story.payments.branches.pop(BRANCH, None)


def half_finished(story: Story) -> None:
    story.payments.trees[REPO_A].in_progress = "merge"


def detached(story: Story) -> None:
    story.payments.trees[REPO_A].branch = None


def new_commit(story: Story) -> None:
    if story.payments.trees[REPO_A].branch is not None:
        story.commit({"other.py": b"x"})


def rewritten(story: Story) -> None:
    if story.payments.trees[REPO_A].branch is not None:
        story.rewrite({"README.md": README, "rounding.py": BY_USER})


def edited(story: Story) -> None:
    story.world.files[f"{REPO_A}/rounding.py"] = BY_USER


def deleted(story: Story) -> None:
    story.world.files.pop(f"{REPO_A}/note.txt", None)


def name_taken(story: Story) -> None:
    story.world.folders.add(f"{REPO_A}.fix-payment")


def unseen_branch(story: Story) -> None:
    story.world.hidden.add(RepositoryProbe(REPO_A))


def unseen_file(story: Story) -> None:
    story.world.hidden.add(FileProbe(f"{REPO_A}/rounding.py"))


def worktree_deleted(story: Story) -> None:
    story.world.remove_folder(linked_path())


def drifted(story: Story) -> None:
    story.add(WorktreeBound(cwd=REPO_B, cause="agentSilent"))


def command_cut(story: Story) -> None:
    story.add(cut_off("cmd", command="npm run migrate"))


def edit_cut(story: Story) -> None:
    story.add(cut_off("edit", patch=UPDATE))


def add_cut(story: Story) -> None:
    story.add(cut_off("add", patch=ADD))


CHANGES: list[Callable[[Story], None]] = [
    clean_main,
    drop_branch,
    half_finished,
    detached,
    new_commit,
    rewritten,
    edited,
    deleted,
    name_taken,
    unseen_branch,
    unseen_file,
    worktree_deleted,
    drifted,
    command_cut,
    edit_cut,
    add_cut,
]


@dataclass
class Case:
    """One random restore. `picks` choose among the choices, in turn; `refused` is the number of the
    verb that is not done, `late` changes the world at the observation of that number."""

    story: Story
    root: str
    picks: list[int]
    refused: int | None
    late: tuple[int, Callable[[Story], None]] | None


@st.composite
def permissions(draw: st.DrawFn) -> PermissionsSet:
    approval = draw(st.sampled_from([*APPROVALS, None, "granular"]))
    sandbox = draw(st.sampled_from([*SANDBOXES, None]))
    return permitted(
        approval,
        sandbox,
        mode=draw(st.sampled_from([None, "plan", "bypass", "auto", "odd"])),
        goal=draw(st.sampled_from([None, "active", "paused"])),
        ceiling=draw(st.sampled_from([(None, None), (approval, sandbox), ("on-request", "read-only")])),
    )


@st.composite
def cases(draw: st.DrawFn) -> Case:
    story = draw(st.sampled_from([payments, linked]))()
    story.add(draw(permissions()))
    for change in draw(st.lists(st.sampled_from(CHANGES), max_size=4, unique=True)):
        change(story)
    approval = draw(st.sampled_from([*APPROVALS, None]))
    sandbox = draw(st.sampled_from([*SANDBOXES, None]))
    limit = CeilingSeen(approval=approval, sandbox=sandbox)
    limits: list[CeilingSeen | Unseen] = [limit, CeilingSeen(), Unseen("failed")]
    story.world.ceiling = draw(st.sampled_from(limits))
    late = st.tuples(st.integers(1, 12), st.sampled_from(CHANGES[:9]))
    return Case(
        story=story,
        root=draw(st.sampled_from([REPO_A, REPO_A, REPO_B])),
        picks=draw(st.lists(st.integers(0, 3), min_size=1, max_size=8)),
        refused=draw(st.one_of(st.none(), st.integers(1, 6))),
        late=draw(st.one_of(st.none(), st.none(), late)),
    )


def hold(case: Case, *, unattended: bool = False, kill_at: int | None = None) -> Play:
    """Resume, answering by the picks."""
    picks, verbs = list(case.picks), 0

    def pick(ask: Ask) -> Given | Cancelled:
        taken: dict[str, Answer] = {}
        for drift in ask.drifts:
            possible = [choice for choice in drift.choices if choice.not_possible is None]
            picks.append(picks.pop(0))
            taken[drift.id] = answer(drift, possible[picks[-1] % len(possible)].id)
        return taken

    def before(effect: Effect, n: int) -> None:
        if case.late and isinstance(effect, Observe) and n == case.late[0]:
            case.late[1](case.story)

    def refuses(verb: AnyVerb) -> str | None:
        nonlocal verbs
        verbs += 1
        return "no space" if verbs == case.refused else None

    player = Player(case.story.world, [pick] * 40, before=before, refuses=refuses, kill_at=kill_at or 10**6)
    return player.play(case.story.record, context(case.root, unattended=unattended))


def heads(story: Story) -> dict[str, tuple[str | None, str | None]]:
    """Where HEAD of every work tree is that is there."""
    return {
        path: (tree.branch, tree.sha)
        for repository in story.world.repositories
        for path, tree in repository.trees.items()
        if tree.present
    }


def chosen(play: Play) -> set[str]:
    """Every choice that was ever taken."""
    return {choice for each in play.journal for choice in getattr(each, "answers", {}).values()}


@settings(max_examples=300, deadline=None)
@given(cases())
def test_it_may_do_no_more_than_the_record_or_what_was_chosen_and_never_more_than_the_ceiling(
    case: Case,
) -> None:
    state = case.story.record.states["permissions"]
    assert isinstance(state, PermissionsState)
    held = hold(case)
    known, choices = recorded(state) or ("on-request", "read-only"), chosen(held)
    limit = ceiling({CeilingProbe("codex"): case.story.world.ceiling}, TARGET)
    for name, fields in case.story.world.recorded:
        if name != "permissions_set":
            continue
        approval, sandbox = APPROVALS.index(str(fields["approval"])), SANDBOXES.index(str(fields["sandbox"]))
        assert approval <= APPROVALS.index(limit.approval)
        assert sandbox <= SANDBOXES.index(limit.sandbox)
        assert approval <= APPROVALS.index(known[0]) or {"never", "adopt"} & choices
        assert sandbox <= SANDBOXES.index(known[1]) or "adopt" in choices
        assert approval < len(APPROVALS) - 1 or {"never", "adopt"} & choices
        assert sandbox < len(SANDBOXES) - 1 or {"fullAccess", "adopt"} & choices
        assert fields["mode"] == "plan" or state.mode != "plan" or "normal" in choices
    for effect in held.trace:
        if isinstance(effect, PlanLaunch) and state.goal_status == "active":
            assert effect.facts.pause_goal or "continue" in choices


@settings(max_examples=300, deadline=None)
@given(cases())
def test_head_moves_only_where_a_switch_was_chosen_and_files_of_a_person_stay(case: Case) -> None:
    case.late = None
    before, files = heads(case.story), dict(case.story.world.files)
    branches = dict(case.story.payments.branches)
    own = {f"{REPO_A}/{name}" for name in case.story.world.uncommitted(REPO_A)}
    held = hold(case)
    after = heads(case.story)
    moved = {path for path in before if after.get(path) != before[path]}
    assert moved <= ({REPO_A} if "switch" in chosen(held) else set())
    assert "SwitchBranch" not in held.outward or "switch" in chosen(held)
    assert "AddWorktree" not in held.outward or {"recreate", "newWorktree"} & chosen(held)
    assert branches.items() <= case.story.payments.branches.items()
    for path, content in files.items():
        if not moved or path in own:
            assert case.story.world.files[path] == content


@settings(max_examples=200, deadline=None)
@given(cases())
def test_with_nobody_to_ask_the_world_stays_as_it_is(case: Case) -> None:
    case.late = None
    before = case.story.world.outside()
    alone = hold(case, unattended=True)
    assert (case.story.world.outside(), alone.asked, alone.outward) == (before, [], [])
    if any(drift.subsystem == "worktree" and drift.choices for drift in alone.ended.drifts):
        assert alone.ended.outcome is Outcome.NEEDS_ANSWER
        assert case.story.world.recorded == []


@settings(max_examples=300, deadline=None)
@given(cases())
def test_what_did_not_go_through_left_nothing_behind(case: Case) -> None:
    case.late, before = None, case.story.world.outside()
    held = hold(case)
    report = held.ended
    stuck = any("could not be undone" in item for item in report.record.handed_to_person)
    if report.outcome in UNCHANGED and not stuck:
        assert case.story.world.outside() == before
    assert (report.launch is not None) == (report.outcome in (Outcome.RESTORED, Outcome.PARTIAL))
    statuses = {each.status for each in report.subsystems}
    if report.outcome is Outcome.RESTORED:
        assert not statuses & {Status.FAILED, Status.INVALIDATED, Status.DEGRADED, Status.SKIPPED}
        failed = [each for each in held.journal if isinstance(each, RestoreStep) and each.state == "failed"]
        assert failed == []


@settings(max_examples=300, deadline=None)
@given(cases())
def test_every_verb_stands_between_two_records_of_the_journal(case: Case) -> None:
    held = hold(case)
    open_step: int | None = None
    done: set[int] = set()
    planned = 0
    for effect in held.trace:
        match effect:
            case Journal(RestorePlanned() as plan):
                planned = len(plan.steps)
            case Journal(RestoreStep(n=n, state="begun")):
                assert open_step is None
                assert n not in done
                assert 1 <= n <= planned
                open_step = n
            case Journal(RestoreStep(n=n, state="done" | "failed")):
                assert open_step == n
                done.add(n)
                open_step = None
            case Journal(RestoreStep(n=n, state="undone")):
                assert n in done
            case Perform(verb) if open_step is None:
                assert not isinstance(verb, RecordState)
                assert done, "only what was done is undone"
            case _:
                pass
    assert isinstance(held.journal[-1], RestoreClosed)
    assert sum(isinstance(each, RestoreClosed) for each in held.journal) == 1
    assert len(held.asks) <= 12


@settings(max_examples=200, deadline=None)
@given(cases(), st.integers(1, 30))
def test_killed_anywhere_it_is_as_before_or_whole(case: Case, n: int) -> None:
    case.late = case.refused = None
    before = case.story.world.outside()
    held = hold(case, kill_at=n)
    if held.report is not None:
        return
    recovery, stuck = recovered(case.story.world, held.journal)
    assert stuck == []
    if recovery is None:
        closed = isinstance(held.journal[-1], RestoreClosed)
        assert closed or case.story.world.outside() == before
    elif recovery.verdict.value == "rollBack":
        assert case.story.world.outside() == before
