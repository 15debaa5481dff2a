import re

import msgspec
import pytest

from resumed.protocol.restore import Answer, Choice, Drift, DriftKind
from resumed.restore import place_wording
from resumed.restore.drift import drift_id
from resumed.restore.place import Place, WorktreeState, judge, place_probes
from resumed.restore.place_settle import settle
from resumed.restore.probes import BranchProbe, FolderProbe, HistoryProbe, Seen, Unseen
from resumed.restore.subsystem import Here, Target
from tests.support.situations import SITUATIONS
from tests.support.story import BRANCH, REPO_A, REPO_B, Story, payments

FILES = ("rounding.py",)


def looked(
    story: Story, root: str, *hidden: type, files: tuple[str, ...] | None = FILES
) -> tuple[WorktreeState, Place, Seen, Target]:
    target = Target(
        here=Here(root=root, home="/home/dev", agent="codex"), recorded_root="", files_differ=files
    )
    state = story.record.states["worktree"]
    assert isinstance(state, WorktreeState)
    seen = story.world.observe(place_probes(state, target))
    seen = {probe: Unseen("timeout") if isinstance(probe, hidden) else seen[probe] for probe in seen}
    return state, judge(state, seen, target), seen, target


def branch(kind: DriftKind, *hidden: type, files: tuple[str, ...] | None = FILES) -> Drift:
    story, root = SITUATIONS[kind]()
    return place_wording.branch_question(kind, *looked(story, root, *hidden, files=files))


def choice(drift: Drift, choice_id: str) -> Choice:
    return next(each for each in drift.choices if each.id == choice_id)


def obstacles(drift: Drift) -> dict[str, str]:
    return {each.id: each.not_possible for each in drift.choices if each.not_possible}


@pytest.mark.parametrize(
    ("kind", "title", "labels"),
    [
        (
            DriftKind.BRANCH_DIFFERS,
            "You are on a different branch.",
            [
                "Continue on fix/payment in a new folder ~/repo-a.fix-payment",
                "Switch this folder back to fix/payment",
                "Stay on main and tell the agent",
                "Just read",
            ],
        ),
        (
            DriftKind.BRANCH_DELETED,
            "The branch fix/payment was deleted.",
            [
                "Make fix/payment again at {sha}, in a new folder ~/repo-a.fix-payment",
                "Stay on main and tell the agent",
                "Just read",
            ],
        ),
        (
            DriftKind.DETACHED,
            "This folder is on no branch.",
            [
                "Switch this folder back to fix/payment",
                "Continue on fix/payment in a new folder ~/repo-a.fix-payment",
                "Stay on no branch ({sha}) and tell the agent",
                "Just read",
            ],
        ),
    ],
)
def test_another_branch(kind: DriftKind, title: str, labels: list[str]) -> None:
    drift = branch(kind)
    sha = payments().recorded_sha()[:7]
    assert drift.title == title
    assert [each.label for each in drift.choices] == [label.format(sha=sha) for label in labels]
    assert obstacles(drift) == {}


@pytest.mark.parametrize(
    ("files", "words"),
    [
        (None, "this folder is on main."),
        ((), "The files it edited are the same here."),
        (("a",), "1 file it edited differs here: a."),
        (("a", "b"), "2 files it edited differ here: a and b."),
    ],
)
def test_its_files_are_counted(files: tuple[str, ...] | None, words: str) -> None:
    assert branch(DriftKind.BRANCH_DIFFERS, files=files).reason.endswith(words)


def test_why_a_switch_or_a_new_folder_is_not_possible_yet() -> None:
    story, root = SITUATIONS[DriftKind.BRANCH_DIFFERS]()
    story.world.files[f"{REPO_A}/rounding.py"] = b"mine"
    drift = place_wording.branch_question(DriftKind.BRANCH_DIFFERS, *looked(story, root))
    assert obstacles(drift) == {
        "switch": "would overwrite 1 uncommitted file: rounding.py. Commit or stash it first"
    }
    for name in ("", "-2", "-3"):
        story.world.folders.add(f"{REPO_A}.fix-payment{name}")
    drift = place_wording.branch_question(DriftKind.BRANCH_DIFFERS, *looked(story, root))
    assert obstacles(drift)["newWorktree"] == "no free name for a new folder was found"
    assert drift.suggested == "stay"


def test_a_branch_in_use_elsewhere() -> None:
    story, root = SITUATIONS[DriftKind.BRANCH_DIFFERS]()
    story.world.check_out(story.payments, "/home/dev/third", BRANCH, "linked")
    drift = place_wording.branch_question(DriftKind.BRANCH_DIFFERS, *looked(story, root))
    assert set(obstacles(drift)) == {"switch", "newWorktree"}


def test_a_branch_that_could_not_be_seen() -> None:
    assert obstacles(branch(DriftKind.BRANCH_DIFFERS, BranchProbe)) == {
        "newWorktree": "fix/payment could not be looked at",
        "switch": "the branch could not be seen",
    }


def test_a_deleted_branch_whose_commit_is_gone_too() -> None:
    story, root = SITUATIONS[DriftKind.BRANCH_DELETED]()
    del story.payments.commits[story.recorded_sha()]
    drift = place_wording.branch_question(DriftKind.BRANCH_DELETED, *looked(story, root))
    assert list(obstacles(drift)) == ["newWorktree"]
    assert "is gone too" in obstacles(drift)["newWorktree"]


def test_an_unborn_branch() -> None:
    story, root = SITUATIONS[DriftKind.BRANCH_DIFFERS]()
    story.payments.trees[REPO_A].sha = None
    drift = place_wording.branch_question(DriftKind.DETACHED, *looked(story, root))
    assert "main without commits" in drift.reason


@pytest.mark.parametrize(
    ("kind", "hidden", "title"),
    [
        (DriftKind.ADVANCED, (), "fix/payment has new commits since."),
        (DriftKind.REWRITTEN, (), "The branch was rewritten since."),
        (DriftKind.REWRITTEN, (HistoryProbe,), "fix/payment is at another commit."),
        (DriftKind.COMMIT_GONE, (), "The commit {sha} is not in this repository any more."),
    ],
)
def test_another_commit(kind: DriftKind, hidden: tuple[type, ...], title: str) -> None:
    story, root = SITUATIONS[kind]()
    drift = place_wording.commit_question(kind, *looked(story, root, *hidden))
    sha = story.recorded_sha()[:7]
    assert drift.title == title.format(sha=sha)
    assert drift.reason.startswith(f"It was at {sha} when it started; now ")
    assert drift.facts["files"] == "rounding.py"


def test_a_branch_that_was_set_back_is_not_called_rewritten() -> None:
    story = payments()
    story.payments.branches[BRANCH] = story.payments.branches["main"]
    story.payments.trees[REPO_A].sha = story.payments.branches["main"]
    drift = place_wording.commit_question(DriftKind.REWRITTEN, *looked(story, REPO_A))
    assert drift.title == "fix/payment was set back to an older commit."


def test_something_half_finished_needs_its_name_typed() -> None:
    story, root = SITUATIONS[DriftKind.IN_PROGRESS]()
    _, place, _, target = looked(story, root)
    assert place.repository is not None
    counted = msgspec.structs.replace(place.repository, done=3, total=5)
    drift = place_wording.in_progress(msgspec.structs.replace(place, repository=counted), target)
    assert drift.title == "A rebase is half finished here."
    assert drift.reason == "3 of 5 commits. An agent editing now could damage it."
    assert (choice(drift, "continueAnyway").typed, drift.suggested) == ("rebase", "cancel")
    assert place_wording.in_progress(place, target).reason == "An agent editing now could damage it."


def test_a_silent_switch() -> None:
    story, root = SITUATIONS[DriftKind.SILENT_SWITCH]()
    drift = place_wording.silent_switch(*looked(story, root))
    assert drift.reason == "It began in ~/repo-a; later Codex ran in ~/repo-b without anyone choosing that."
    assert [each.label for each in drift.choices[:2]] == ["Go back to ~/repo-a", "Continue in ~/repo-b"]
    assert obstacles(drift) == {}
    story.world.repositories[1].trees[REPO_B].in_progress = "merge"
    drift = place_wording.silent_switch(*looked(story, root))
    assert obstacles(drift) == {"last": "a merge is half finished there"}
    story.world.remove_folder(REPO_B)
    assert obstacles(place_wording.silent_switch(*looked(story, root))) == {"last": "that folder is gone"}
    assert obstacles(place_wording.silent_switch(*looked(story, root, FolderProbe))) == {
        "last": "that folder is gone"
    }


def settled(kind: DriftKind, answer: str) -> tuple[str, tuple[str, ...]]:
    story, root = SITUATIONS[kind]()
    state, place, seen, target = looked(story, root)
    choices = {drift_id(kind): Answer(choice=answer)}
    at = settle(state, seen, choices, target)
    assert at is not None
    return place_wording.summary(state, place, at), place_wording.told(state, place, choices, at)


def test_where_it_runs_and_what_the_agent_is_told() -> None:
    sha = payments().recorded_sha()[:7]
    main = payments().payments.branches["main"][:7]
    assert settled(DriftKind.BRANCH_DIFFERS, "switch") == (
        f"~/repo-a, fix/payment, {sha} (was on main)",
        ("Back on fix/payment.",),
    )
    assert settled(DriftKind.BRANCH_DIFFERS, "stay") == (
        f"~/repo-a, main, {main}",
        ("This folder is on main, not on fix/payment.", f"HEAD is {main}; it was {sha}."),
    )
    assert settled(DriftKind.WORKTREE_REMOVED, "recreate") == (
        f"~/repo-a.wt, fix/payment, {sha} (made new)",
        ("This folder was made new; edits that were never committed are missing from it.",),
    )
    assert settled(DriftKind.MOVED, "relink")[1] == ("Your folder is now ~/src/repo-a; it was ~/repo-a.",)
    assert settled(DriftKind.IN_PROGRESS, "continueAnyway")[1] == (
        "A rebase is half finished here; do not disturb it.",
    )


def test_people_read_no_ids_and_no_words_of_the_wire() -> None:
    kinds = (DriftKind.BRANCH_DIFFERS, DriftKind.BRANCH_DELETED, DriftKind.DETACHED)
    drifts = [branch(kind) for kind in kinds]
    for kind in (DriftKind.ADVANCED, DriftKind.REWRITTEN, DriftKind.COMMIT_GONE):
        drifts.append(place_wording.commit_question(kind, *looked(*SITUATIONS[kind]())))
    for drift in drifts:
        texts = [drift.title, drift.reason]
        texts += [f"{row.what} {row.recorded} {row.now}" for row in drift.differences]
        texts += [f"{each.label} {each.detail}" for each in drift.choices]
        for text in texts:
            assert not re.search(r"[0-9a-f]{12,}|[a-z][A-Z]|None", text)
        assert all(len(each.label) <= 78 for each in drift.choices)
