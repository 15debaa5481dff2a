from collections.abc import Callable

import pytest

from resumed.protocol.restore import DriftKind, Severity
from resumed.restore.check import Checked, check
from resumed.restore.drift import RULES
from resumed.restore.effects import Observe, Unanswered
from resumed.restore.probes import FileProbe, HistoryProbe
from resumed.restore.subsystems import SUBSYSTEMS
from tests.support.playbook import context, play, suggested
from tests.support.situations import SITUATIONS, Situation
from tests.support.story import REPO_A, Story, cut_off, payments, permitted

LEFT = (DriftKind.GONE, DriftKind.STUB, DriftKind.OTHER_REPOSITORY, DriftKind.IN_PROGRESS)
"""What is suggested is to leave it."""

PLACES = [kind for kind, rule in RULES.items() if rule.subsystem == "worktree"]


def checked(story: Story, root: str) -> Checked:
    """Look, answering from the world; whatever else it asks for fails."""
    looking = check(story.record, SUBSYSTEMS, context(root))
    reply = None
    try:
        while True:
            effect = looking.send(reply)
            assert isinstance(effect, Observe)
            reply = story.world.observe(effect.probes)
    except StopIteration as ended:
        result = ended.value
    assert isinstance(result, Checked)
    return result


def test_where_everything_is_as_left_nothing_is_found() -> None:
    calm = checked(payments(), REPO_A)
    assert calm == Checked(drifts=(), round=2, token="", asked=(), not_known=())


@pytest.mark.parametrize("situation", SITUATIONS.values(), ids=lambda build: build.__name__)
def test_a_look_changes_nothing_and_knows_everything(situation: Callable[[], Situation]) -> None:
    story, root = situation()
    before = story.world.outside()
    found = checked(story, root)
    assert (story.world.outside(), story.world.recorded) == (before, [])
    assert found.drifts
    assert found.not_known == ()


@pytest.mark.parametrize("kind", [kind for kind in SITUATIONS if kind is not DriftKind.POLICY_STRICTER])
def test_what_would_be_asked_first_is_what_a_resume_asks_first(kind: DriftKind) -> None:
    story, root = SITUATIONS[kind]()
    found = checked(story, root)
    (asked,) = play(story.record, story.world, root, Unanswered()).asks
    assert (found.round, found.asked, found.token) == (asked.round, asked.drifts, asked.token)
    assert found.round == (1 if kind in PLACES else 2)
    assert {drift.severity for drift in found.asked} <= {Severity.ASK, Severity.BLOCK}


@pytest.mark.parametrize("kind", [kind for kind in SITUATIONS if kind in PLACES and kind not in LEFT])
def test_what_would_be_asked_then_is_what_a_resume_asks_when_told_what_is_suggested(kind: DriftKind) -> None:
    story, root = SITUATIONS[kind]()
    story.add(permitted("never"), cut_off("op-9", command="npm run migrate"))
    found = checked(story, root)
    first, then = play(story.record, story.world, root, suggested, Unanswered()).asks
    asked = [drift for drift in found.drifts if drift.severity is not Severity.INFORM]
    assert asked == [*first.drifts, *then.drifts]


def test_the_rest_is_looked_at_where_the_suggestion_leads() -> None:
    story, root = SITUATIONS[DriftKind.BRANCH_DIFFERS]()
    story.add(permitted("never"), cut_off("op-9", command="npm run migrate"))
    found = checked(story, root)
    assert [drift.id for drift in found.asked] == ["worktree.branchDiffers"]
    # The new folder has what the branch holds, not what was left uncommitted nor what is here now.
    assert [drift.id for drift in found.drifts[1:]] == [
        "permissions.neverAsk",
        "operations.fileReverted:rounding.py",
        "operations.fileGone:note.txt",
        "operations.danglingOperation:op-9",
    ]


def test_what_is_only_listed_is_not_asked() -> None:
    story, root = SITUATIONS[DriftKind.POLICY_STRICTER]()
    found = checked(story, root)
    assert [drift.kind for drift in found.drifts] == [DriftKind.POLICY_STRICTER]
    assert (found.asked, found.token) == ((), "")


def test_what_could_not_be_looked_at_is_said_for_people() -> None:
    story, root = SITUATIONS[DriftKind.REWRITTEN]()
    sha = story.recorded_sha()
    story.world.hidden |= {HistoryProbe(REPO_A, sha), FileProbe(f"{REPO_A}/note.txt")}
    assert checked(story, root).not_known == (
        f"how the commit {sha[:7]} relates to the one here (it took too long)",
        "whether note.txt changed (it took too long)",
    )
    assert play(story.record, story.world, root, suggested).ended.record.not_known
