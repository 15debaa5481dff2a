import msgspec
import pytest

from resumed.protocol.restore import Answer, DriftKind
from resumed.restore import place_outcome
from resumed.restore.drift import drift_id
from resumed.restore.events.journal import RestoreClosed
from resumed.restore.events.session import WorktreeBound
from resumed.restore.place import judge
from resumed.restore.place_settle import settle
from tests.support.events import event, resume_meta
from tests.support.looks import observed, state_of, target_at
from tests.support.situations import SITUATIONS, Situation
from tests.support.story import BESIDE, BRANCH, REPO_A, payments

SHA = payments().recorded_sha()[:7]
MAIN = payments().payments.branches["main"][:7]


def settled(situation: Situation, **answers: str) -> tuple[str, tuple[str, ...]]:
    story, root = situation
    state, target = state_of(story), target_at(root)
    seen = observed(story, state, target)
    choices = {drift_id(DriftKind(kind)): Answer(choice=answer) for kind, answer in answers.items()}
    at = settle(state, seen, choices, target)
    assert at is not None
    place = judge(state, seen, target)
    summary = place_outcome.summary(state, place, choices, at)
    return summary, place_outcome.told(state, place, seen, choices, at)


@pytest.mark.parametrize(
    ("kind", "answer", "summary", "told"),
    [
        ("branchDiffers", "switch", f"~/repo-a, {BRANCH}, {SHA} (was on main)", ("Back on fix/payment.",)),
        (
            "branchDiffers",
            "stay",
            f"~/repo-a, main, {MAIN}",
            ("This folder is on main, not on fix/payment.", f"HEAD is {MAIN}; it was {SHA}."),
        ),
        (
            "branchDiffers",
            "newWorktree",
            f"~/repo-a.fix-payment, {BRANCH}, {SHA} (made new)",
            (
                "Your folder is now ~/repo-a.fix-payment; it was ~/repo-a.",
                "This folder was made new.",
            ),
        ),
        (
            "worktreeRemoved",
            "recreate",
            f"~/repo-a.wt, {BRANCH}, {SHA} (made new)",
            ("This folder was made new.",),
        ),
        (
            "moved",
            "relink",
            f"~/src/repo-a, {BRANCH}, {SHA}",
            ("Your folder is now ~/src/repo-a; it was ~/repo-a.",),
        ),
        (
            "inProgress",
            "continueAnyway",
            f"~/repo-a, {BRANCH}, {SHA}",
            ("A rebase is half finished here; do not disturb it.",),
        ),
    ],
)
def test_where_it_runs_and_what_the_agent_is_told(
    kind: str, answer: str, summary: str, told: tuple[str, ...]
) -> None:
    assert settled(SITUATIONS[DriftKind(kind)](), **{kind: answer}) == (summary, told)


def test_going_on_in_the_last_folder_says_nothing_of_the_branch_of_the_first() -> None:
    story, root = SITUATIONS[DriftKind.BRANCH_DIFFERS]()
    other = "/home/dev/other"
    story.world.check_out(story.payments, other, BRANCH, "linked")
    story.add(WorktreeBound(cwd=other, cause="agentSilent"))
    assert settled((story, root), silentSwitch="last") == (f"~/other, {BRANCH}, {SHA}", ())


def test_the_same_folder_by_another_name_is_no_news() -> None:
    story = payments()
    story.world.links["/srv/people"] = "/home/dev"
    story.add(WorktreeBound(cwd="/srv/people/repo-a", cause="start", branch=BRANCH, sha=story.recorded_sha()))
    assert settled((story, REPO_A)) == (f"~/repo-a, {BRANCH}, {SHA}", ())


def test_what_became_of_folder_repository_branch_and_commit() -> None:
    state = state_of(payments())
    at = msgspec.structs.replace(target_at(REPO_A), root=BESIDE, branch=BRANCH, sha="0123456789")
    assert place_outcome.settled(state, {}, {}, at) == {
        "folder": "~/repo-a.fix-payment",
        "repository": "github.com/acme/payments",
        "branch": "fix/payment (0123456)",
        "commit": "0123456",
    }
    unborn = msgspec.structs.replace(at, branch="fresh", sha=None)
    assert place_outcome.settled(state, {}, {}, unborn)["branch"] == "fresh (no commits yet)"
    detached = msgspec.structs.replace(at, branch=None)
    assert place_outcome.settled(state, {}, {}, detached)["branch"] == "no branch (0123456)"
    plain = msgspec.structs.replace(at, branch=None, sha=None)
    assert set(place_outcome.settled(state, {}, {}, plain)) == {"folder", "repository"}


def test_the_last_folder_may_be_in_another_repository() -> None:
    story, root = SITUATIONS[DriftKind.SILENT_SWITCH]()
    state, target = state_of(story), target_at(root)
    last = {drift_id(DriftKind.SILENT_SWITCH): Answer(choice="last")}
    seen = observed(story, state, target)
    assert place_outcome.settled(state, seen, last, target)["repository"] == "github.com/acme/storefront"
    assert place_outcome.settled(state, {}, last, target)["repository"] == "none"


def moved_beside(*more: object) -> Situation:
    """A restore went on in a new folder."""
    story = payments()
    sha = story.recorded_sha()
    story.world.check_out(story.payments, BESIDE, BRANCH, "linked")
    story.payments.trees[REPO_A].branch = "main"
    bound = WorktreeBound(
        cwd=BESIDE, cause="userChoice", root=BESIDE, branch=BRANCH, sha=sha, moved_from=(REPO_A,), made=True
    )
    story.add(resume_meta(), bound, *more)  # type: ignore[arg-type]  # payloads
    return story, BESIDE


def test_what_no_agent_took_up_is_told_again() -> None:
    summary, told = settled(moved_beside())
    assert summary == f"~/repo-a.fix-payment, {BRANCH}, {SHA}"
    assert told == (
        "Your folder is now ~/repo-a.fix-payment; it was ~/repo-a.",
        "This folder was made new.",
    )
    again = WorktreeBound(cwd=BESIDE, cause="start", root=BESIDE, branch=BRANCH, sha="0" * 40)
    _, twice = settled(moved_beside(resume_meta(), again))
    assert twice == told


def test_what_an_agent_took_up_is_not_told_again() -> None:
    taken_up = moved_beside(RestoreClosed(restore_id="r", outcome="restored"))
    assert settled(taken_up) == (f"~/repo-a.fix-payment, {BRANCH}, {SHA}", ())
    assert event(resume_meta()).payload == resume_meta()


def test_a_branch_that_was_made_again_is_said() -> None:
    story, root = SITUATIONS[DriftKind.WORKTREE_REMOVED]()
    del story.payments.branches[BRANCH]
    summary, told = settled((story, root), worktreeRemoved="recreate")
    assert summary == f"~/repo-a.wt, {BRANCH}, {SHA} (made new, as is the branch)"
    assert told == (
        "This folder was made new.",
        f"The branch {BRANCH} was gone and was made again at {SHA}.",
    )


def test_that_a_branch_was_made_again_is_told_until_an_agent_took_it_up() -> None:
    story, _ = moved_beside()
    again = WorktreeBound(
        cwd=BESIDE,
        cause="userChoice",
        root=BESIDE,
        branch=BRANCH,
        sha=story.recorded_sha(),
        moved_from=(REPO_A,),
        made=True,
        branch_made=True,
    )
    note = f"The branch {BRANCH} was gone and was made again at {SHA}."
    assert note in settled(moved_beside(resume_meta(), again))[1]
    closed = RestoreClosed(restore_id="r", outcome="restored")
    assert note not in settled(moved_beside(resume_meta(), again, closed))[1]
