"""The world changes while a restore asks and applies: what nobody answered for is asked again."""

from collections.abc import Callable

from resumed.protocol.restore import DriftKind, Outcome, RestoreReport, Status
from resumed.restore.effects import Ask, Cancelled, Effect, Observe
from resumed.restore.events.journal import RestoreStep
from resumed.restore.probes import CeilingSeen, FileProbe
from resumed.restore.steps import AddWorktree, RemoveWorktree
from tests.support.playbook import Play, Player, Scripted, context, suggested, taking
from tests.support.simulation import World
from tests.support.situations import BY_USER, SITUATIONS
from tests.support.story import BESIDE, REPO_A, Story, payments, permitted


def status(report: RestoreReport, name: str) -> Status:
    return next(each.status for each in report.subsystems if each.name == name)


def disturbed(
    situation: tuple[Story, str], change: Callable[[Story], None], *script: Scripted, times: int = 1
) -> Play:
    """Resume, and change the world right before each of the first questions is answered."""
    story, root = situation
    player = Player(story.world, list(script))

    def before(effect: Effect, n: int) -> None:
        if isinstance(effect, Ask) and n <= times:
            change(story)

    player.before = before
    return player.play(story.record, context(root))


def detach(story: Story) -> None:
    story.payments.trees[REPO_A].branch = None


def test_a_place_that_changes_while_it_is_asked_about_is_asked_about_again() -> None:
    story, root = SITUATIONS[DriftKind.BRANCH_DIFFERS]()
    moved = disturbed(
        (story, root), detach, taking(branchDiffers="switch"), suggested, taking(detached="stay")
    )
    assert moved.asked[-1] == ["worktree.detached"]
    assert (moved.outward, moved.ended.outcome) == ([], Outcome.PARTIAL)
    assert story.payments.trees[REPO_A].branch is None
    assert "switch" not in {answer.choice for answer in moved.ended.answers.values()}


def test_a_place_that_keeps_changing_is_asked_about_twice_more_and_then_left() -> None:
    story, root = SITUATIONS[DriftKind.BRANCH_DIFFERS]()
    before = story.world.files.copy()

    def go_on(changed: Story) -> None:
        changed.payments.trees[REPO_A].sha = changed.payments.commit(
            "main", {}, changed.payments.branches["main"]
        )

    stay = taking(branchDiffers="stay")
    restless = disturbed((story, root), go_on, stay, stay, stay, times=9)
    places = [asked for asked in restless.asked if asked == ["worktree.branchDiffers"]]
    assert len(places) == 3
    assert (restless.ended.outcome, restless.verbs, restless.ended.launch) == (Outcome.NEEDS_ANSWER, [], None)
    assert (story.world.files, story.world.recorded) == (before, [])
    assert "It keeps changing while you answer." in restless.ended.headline


def test_a_switch_that_became_impossible_is_asked_about_again() -> None:
    story, root = SITUATIONS[DriftKind.BRANCH_DIFFERS]()

    def dirty(changed: Story) -> None:
        changed.world.files[f"{REPO_A}/rounding.py"] = b"mine"

    switch, stay = taking(branchDiffers="switch"), taking(branchDiffers="stay")
    blocked = disturbed((story, root), dirty, switch, suggested, stay)
    assert blocked.asked[-1] == ["worktree.branchDiffers"]
    assert (blocked.outward, story.world.files[f"{REPO_A}/rounding.py"]) == ([], b"mine")


def test_a_new_folder_whose_name_was_taken_meanwhile_is_asked_about_again() -> None:
    story, root = SITUATIONS[DriftKind.BRANCH_DIFFERS]()
    taken = disturbed((story, root), lambda changed: changed.world.folders.add(BESIDE), suggested, suggested)
    assert taken.asked == [["worktree.branchDiffers"]] * 2
    assert isinstance(taken.verbs[0], AddWorktree)
    assert taken.verbs[0].path == f"{BESIDE}-2"


def test_head_that_moves_on_without_a_question_is_where_the_run_is_recorded() -> None:
    story = payments().add(permitted("never"))
    fresh: list[str] = []

    def commit(changed: Story) -> None:
        fresh.append(changed.commit({"other.py": b"x"}))

    moved = disturbed((story, REPO_A), commit, suggested)
    assert moved.ended.outcome is Outcome.RESTORED
    bound = next(fields for name, fields in story.world.recorded if name == "worktree_bound")
    assert bound["sha"] == fresh[0]
    assert [drift.kind for drift in moved.ended.drifts] == [DriftKind.ADVANCED, DriftKind.NEVER_ASK]


def looking(
    story: Story, record: Callable[[World], None], when: Callable[[Observe], bool]
) -> Callable[[Effect, int], None]:
    """Change the world before each observation of that kind, once a step was begun."""
    begun: list[bool] = []

    def before(effect: Effect, n: int) -> None:
        if isinstance(getattr(effect, "payload", None), RestoreStep):
            begun.append(True)
        if begun and isinstance(effect, Observe) and when(effect):
            record(story.world)

    return before


def touches(name: str) -> Callable[[Observe], bool]:
    return lambda effect: FileProbe(f"{REPO_A}/{name}") in effect.probes


def test_a_file_that_changes_before_its_turn_is_asked_about_then() -> None:
    story = payments()

    def edit(world: World) -> None:
        world.files[f"{REPO_A}/rounding.py"] = BY_USER

    player = Player(story.world, [suggested], before=looking(story, edit, touches("rounding.py")))
    late = player.play(story.record, context(REPO_A))
    assert late.asked == [["operations.fileChanged:rounding.py"]]
    assert (late.ended.outcome, status(late.ended, "verifier")) == (Outcome.PARTIAL, Status.INVALIDATED)
    alone = payments()
    player = Player(alone.world, before=looking(alone, edit, touches("rounding.py")))
    assert player.play(alone.record, context(REPO_A, unattended=True)).ended.outcome is Outcome.PARTIAL


def test_a_file_that_keeps_changing_stops_it_and_all_is_rolled_back() -> None:
    story, root = SITUATIONS[DriftKind.BRANCH_DIFFERS]()
    story.world.files.pop(f"{REPO_A}/note.txt")
    before, count = story.world.outside(), 0

    def edit(world: World) -> None:
        nonlocal count
        count += 1
        world.files[f"{REPO_A}/note.txt"] = str(count).encode()

    when = touches("note.txt")
    player = Player(
        story.world, [taking(branchDiffers="switch"), *[suggested] * 4], before=looking(story, edit, when)
    )
    restless = player.play(story.record, context(root))
    assert restless.ended.outcome is Outcome.NEEDS_ANSWER
    assert restless.outward == ["SwitchBranch", "SwitchBranch"]
    assert restless.ended.launch is None
    assert len(restless.asks) == 5
    del story.world.files[f"{REPO_A}/note.txt"]
    assert story.world.outside() == before


def test_a_person_who_leaves_in_the_middle_finds_everything_as_before() -> None:
    story, root = SITUATIONS[DriftKind.WORKTREE_REMOVED]()
    before = story.world.outside()

    def widen(world: World) -> None:
        world.ceiling = CeilingSeen(approval="on-failure")

    story.add(permitted(ceiling=("on-request", None)))
    story.world.ceiling = CeilingSeen(approval="on-request")
    player = Player(story.world, [suggested, Cancelled()], before=looking(story, widen, lambda effect: True))
    left = player.play(story.record, context(root))
    assert left.asked[-1] == ["permissions.policyLooser"]
    assert (left.ended.outcome, left.outward) == (Outcome.CANCELLED, ["AddWorktree", "RemoveWorktree"])
    assert story.world.outside() == before


def test_who_leaves_in_the_middle_is_told_what_could_not_be_taken_back() -> None:
    story, root = SITUATIONS[DriftKind.WORKTREE_REMOVED]()

    def widen(world: World) -> None:
        world.ceiling = CeilingSeen(approval="on-failure")

    story.add(permitted(ceiling=("on-request", None)))
    story.world.ceiling = CeilingSeen(approval="on-request")
    player = Player(
        story.world,
        [suggested, Cancelled()],
        before=looking(story, widen, lambda effect: True),
        refuses=lambda verb: "no space" if isinstance(verb, RemoveWorktree) else None,
    )
    report = player.play(story.record, context(root)).ended
    assert report.outcome is Outcome.ROLLED_BACK
    assert report.headline == (
        "Not resumed: It changed while this was being restored. "
        "“Make ~/repo-a.wt on fix/payment” could not be undone: no space."
    )
