from typing import Any

import msgspec
import pytest

from resumed.protocol.restore import Answer, Choice, Drift, DriftKind, Severity
from resumed.restore.asking import ASKED_AT_MOST, Interview, Settled, Stopped, interview, problem, token_of
from resumed.restore.drift import RULES, Wording, asked, informed
from resumed.restore.effects import Answered, Ask, Cancelled, Journal, Reply, Unanswered
from resumed.restore.events.journal import RestoreAnswered
from tests.support.playbook import context
from tests.support.story import REPO_A


def question(kind: DriftKind, **facts: str) -> Drift:
    labels = {choice: choice for choice in RULES[kind].choices}
    return asked(kind, Wording(title="", reason="", labels=labels), facts=facts)


BRANCH = question(DriftKind.BRANCH_DIFFERS, sha="1")
NEVER = question(DriftKind.NEVER_ASK)
GONE = asked(DriftKind.GONE, Wording(title="", reason=""))


def impossible(drift: Drift, choice_id: str) -> Drift:
    choices = tuple(
        msgspec.structs.replace(choice, not_possible="busy") if choice.id == choice_id else choice
        for choice in drift.choices
    )
    return msgspec.structs.replace(drift, choices=choices)


def answers(**choices: str | Answer) -> dict[str, Answer]:
    return {
        f"{RULES[DriftKind(kind)].subsystem}.{kind}": Answer(choice=choice)
        if isinstance(choice, str)
        else choice
        for kind, choice in choices.items()
    }


def said(**choices: str | Answer) -> Answered:
    return Answered(answers(**choices), "test")


class Round:
    """One interview, its questions answered from a list."""

    def __init__(self, *drifts: Drift, replies: list[Reply] | None = None, **changes: Any) -> None:
        self.state = Interview(context=context(REPO_A, **changes))
        self.asks: list[Ask] = []
        self.journal: list[RestoreAnswered] = []
        self.ended = self.again(*drifts, replies=replies)

    def again(self, *drifts: Drift, replies: list[Reply] | None = None, n: int = 1) -> Settled | Stopped:
        """Hold another round with the same person."""
        waiting = list(replies or [])
        conversation, reply = interview(self.state, n, drifts), None
        try:
            while True:
                effect = conversation.send(reply)
                reply = None
                if isinstance(effect, Ask):
                    self.asks.append(effect)
                    reply = waiting.pop(0)
                else:
                    assert isinstance(effect, Journal)
                    assert isinstance(effect.payload, RestoreAnswered)
                    self.journal.append(effect.payload)
        except StopIteration as done:
            assert not waiting
            ended: Settled | Stopped = done.value
            return ended

    @property
    def why(self) -> str:
        """Why it stopped."""
        assert isinstance(self.ended, Stopped)
        return self.ended.why

    def in_force(self, *drifts: Drift) -> dict[str, str]:
        """The choices in force."""
        return {key: answer.choice for key, answer in self.state.choices(drifts).items()}


def test_nothing_to_ask() -> None:
    listed = informed(DriftKind.ADVANCED, Wording(title="", reason=""))
    held = Round(listed)
    assert (held.ended, held.asks, held.journal) == (Settled(), [], [])


def test_an_answer_is_journalled_and_in_force() -> None:
    held = Round(BRANCH, replies=[said(branchDiffers="stay")])
    assert held.ended == Settled()
    (kept,) = held.journal
    assert (kept.answers, kept.by, kept.round) == ({BRANCH.id: "stay"}, "test", 1)
    assert kept.token == held.asks[0].token == token_of((BRANCH,))
    assert held.in_force(BRANCH) == {BRANCH.id: "stay"}
    assert held.again(BRANCH) == Settled()
    assert len(held.asks) == 1


def test_an_answer_counts_only_for_the_facts_it_was_given_for() -> None:
    held = Round(BRANCH, replies=[said(branchDiffers="stay")])
    changed = question(DriftKind.BRANCH_DIFFERS, sha="2")
    held.ended = held.again(changed, NEVER, replies=[said(branchDiffers="newWorktree", neverAsk="onRequest")])
    assert held.in_force(changed, NEVER) == {BRANCH.id: "newWorktree", NEVER.id: "onRequest"}


def test_only_what_changed_is_asked_again() -> None:
    held = Round(BRANCH, replies=[said(branchDiffers="stay")])
    held.ended = held.again(BRANCH, NEVER, replies=[said(neverAsk="onRequest")])
    assert [[drift.id for drift in ask.drifts] for ask in held.asks] == [[BRANCH.id], [NEVER.id]]


def test_an_answer_that_is_not_possible_any_more_is_asked_for_again() -> None:
    held = Round(BRANCH, replies=[said(branchDiffers="switch")])
    blocked = impossible(BRANCH, "switch")
    held.ended = held.again(blocked, replies=[said(branchDiffers="stay")])
    assert held.in_force(blocked) == {BRANCH.id: "stay"}
    assert held.again(impossible(BRANCH, "newWorktree")) == Settled()


def test_an_answer_to_what_is_no_longer_asked_does_not_act() -> None:
    held = Round(BRANCH, replies=[said(branchDiffers="switch")])
    assert held.in_force(question(DriftKind.DETACHED)) == {}


def test_who_goes_on_elsewhere_need_not_answer_for_this_place() -> None:
    switched, removed = question(DriftKind.SILENT_SWITCH), question(DriftKind.WORKTREE_REMOVED)
    held = Round(switched, removed, replies=[said(silentSwitch="last", worktreeRemoved="recreate")])
    assert held.in_force(switched, removed) == {switched.id: "last"}
    held = Round(switched, removed, replies=[said(silentSwitch="last")])
    assert held.ended == Settled()
    changed = question(DriftKind.SILENT_SWITCH, last="x")
    held.ended = held.again(
        changed, removed, replies=[said(silentSwitch="open"), said(worktreeRemoved="recreate")]
    )
    assert held.in_force(changed, removed) == {switched.id: "open", removed.id: "recreate"}


def test_an_earlier_answer_for_this_place_does_not_act_elsewhere() -> None:
    switched, removed = question(DriftKind.SILENT_SWITCH), question(DriftKind.WORKTREE_REMOVED)
    held = Round(switched, removed, replies=[said(silentSwitch="open", worktreeRemoved="recreate")])
    changed = question(DriftKind.SILENT_SWITCH, last="x")
    held.ended = held.again(changed, removed, replies=[said(silentSwitch="last")])
    assert held.in_force(changed, removed) == {switched.id: "last"}


@pytest.mark.parametrize(("choice", "why"), [("readOnly", "readOnly"), ("cancel", "cancelled")])
def test_reading_and_leaving_end_it_and_nothing_is_journalled(choice: str, why: str) -> None:
    held = Round(BRANCH, NEVER, replies=[said(branchDiffers=choice)])
    assert (held.why, held.journal, held.in_force(BRANCH)) == (why, [], {})


def test_leaving_is_a_refusal_only_where_no_choice_could_have_helped() -> None:
    assert Round(BRANCH, replies=[Cancelled()]).why == "cancelled"
    assert Round(GONE, replies=[Cancelled()]).why == "refused"
    hopeless = BRANCH
    for choice in ("newWorktree", "switch", "relink", "stay"):
        hopeless = impossible(hopeless, choice)
    assert Round(hopeless, replies=[Cancelled()]).why == "refused"


def test_nobody_to_ask_needs_an_answer() -> None:
    held = Round(BRANCH, NEVER, replies=[Unanswered()])
    assert isinstance(held.ended, Stopped)
    assert (held.why, held.ended.token, held.ended.drifts) == (
        "needsAnswer",
        token_of((BRANCH, NEVER)),
        (BRANCH, NEVER),
    )


@pytest.mark.parametrize(
    ("reply", "sentence"),
    [
        (said(branchDiffers="fly"), "“fly” is not a choice of worktree.branchDiffers; it has"),
        (said(), "Some questions were left without an answer."),
        (said(branchDiffers="switch"), "“switch” is not possible yet: busy."),
    ],
)
def test_an_answer_that_cannot_be_taken_is_asked_for_again(reply: Answered, sentence: str) -> None:
    blocked = impossible(BRANCH, "switch")
    held = Round(blocked, replies=[reply, said(branchDiffers="stay")])
    assert held.ended == Settled()
    held = Round(blocked, replies=[reply] * ASKED_AT_MOST)
    assert isinstance(held.ended, Stopped)
    assert (held.why, held.journal) == ("needsAnswer", [])
    assert held.ended.sentence.startswith(sentence)


@pytest.mark.parametrize("typed", [None, "", "Skip", "full"])
def test_a_word_must_be_typed(typed: str | None) -> None:
    assert problem(NEVER, Answer(choice="never", typed=typed)) == "“never” needs the word “skip” typed."
    assert problem(NEVER, Answer(choice="never", typed="skip")) is None


def test_leaving_is_always_possible() -> None:
    assert problem(NEVER, Answer(choice="cancel")) is None
    assert problem(NEVER, Answer(choice="readOnly")) is None


def test_answers_brought_along_count_with_their_token() -> None:
    token = token_of((BRANCH,))
    held = Round(BRANCH, given=answers(branchDiffers="stay"), given_token=token)
    assert (held.ended, held.asks, held.journal[0].by) == (Settled(), [], "token")


def test_a_token_of_the_second_round_vouches_for_the_first() -> None:
    first, second = token_of((BRANCH,)), token_of((NEVER,))
    given = answers(branchDiffers="stay", neverAsk="onRequest")
    held = Round(BRANCH, given=given, given_token=f"{first}.{second}")
    assert held.again(NEVER, n=2) == Settled()
    assert (held.asks, len(held.journal)) == ([], 2)


@pytest.mark.parametrize("token", ["", "stale", token_of((BRANCH,))[:-1], token_of((BRANCH,)) + "0"])
def test_answers_with_a_stale_token_are_asked_for_again(token: str) -> None:
    held = Round(
        BRANCH, given=answers(branchDiffers="switch"), given_token=token, replies=[said(branchDiffers="stay")]
    )
    assert held.in_force(BRANCH) == {BRANCH.id: "stay"}


def test_the_token_stands_for_the_facts_and_for_what_is_possible() -> None:
    assert token_of((BRANCH,)) != token_of((question(DriftKind.BRANCH_DIFFERS, sha="2"),))
    assert token_of((BRANCH,)) != token_of((impossible(BRANCH, "switch"),))
    assert token_of((BRANCH,)) == token_of((msgspec.structs.replace(BRANCH, title="other words"),))


def test_answers_brought_along_must_be_possible() -> None:
    blocked = impossible(BRANCH, "switch")
    held = Round(blocked, given=answers(branchDiffers="switch"), given_token=token_of((blocked,)))
    assert isinstance(held.ended, Stopped)
    assert (held.why, held.ended.sentence) == ("needsAnswer", "“switch” is not possible yet: busy.")


def test_with_nobody_to_ask_only_harmless_answers_are_taken() -> None:
    held = Round(NEVER, unattended=True)
    assert (held.ended, held.asks, held.journal[0].by) == (Settled(), [], "unattended")
    assert held.in_force(NEVER) == {NEVER.id: "onRequest"}
    assert Round(NEVER, BRANCH, unattended=True).why == "needsAnswer"
    assert Round(impossible(NEVER, "onRequest"), unattended=True).why == "needsAnswer"


def test_standing_answers_count_only_where_nobody_is_asked() -> None:
    given = answers(branchDiffers="switch")
    assert Round(BRANCH, NEVER, given=given, unattended=True).in_force(BRANCH) == {BRANCH.id: "switch"}
    attended = Round(BRANCH, given=given, replies=[said(branchDiffers="stay")])
    assert attended.in_force(BRANCH) == {BRANCH.id: "stay"}


def test_a_standing_answer_needs_its_word_too() -> None:
    assert Round(NEVER, given=answers(neverAsk="never"), unattended=True).why == "needsAnswer"
    typed = answers(neverAsk=Answer(choice="never", typed="skip"))
    assert Round(NEVER, given=typed, unattended=True).in_force(NEVER) == {NEVER.id: "never"}


def test_a_stale_token_gives_way_to_the_unattended_answers() -> None:
    typed = answers(neverAsk=Answer(choice="never", typed="skip"), branchDiffers="stay")
    held = Round(NEVER, given=typed, given_token="stale", unattended=True)
    assert held.in_force(NEVER) == {NEVER.id: "onRequest"}
    assert Round(BRANCH, given=typed, given_token="stale", unattended=True).why == "needsAnswer"


def test_what_is_listed_is_never_asked() -> None:
    listed = informed(DriftKind.ADVANCED, Wording(title="", reason=""))
    held = Round(listed, BRANCH, replies=[said(branchDiffers="stay")])
    assert [drift.severity for drift in held.asks[0].drifts] == [Severity.ASK]
    assert all(isinstance(choice, Choice) for choice in held.asks[0].drifts[0].choices)
