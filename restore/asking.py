"""Rounds of questions: tokens, answers that count, and what happens with nobody to ask.

An answer counts only for the facts it was given for.
"""

import hashlib
from collections.abc import Generator
from typing import Any

import msgspec

from resumed.protocol.restore import Answer, Choice, Drift
from resumed.restore.context import RestoreContext
from resumed.restore.drift import CANCEL, READ_ONLY, STOP, questions
from resumed.restore.effects import Answered, Ask, Cancelled, Effect, Journal, Unanswered
from resumed.restore.events.journal import RestoreAnswered

ASKED_AT_MOST = 3


class Settled(msgspec.Struct, frozen=True):
    """Every question has an answer that counts."""


class Stopped(msgspec.Struct, frozen=True, kw_only=True):
    """The round ended without answers. `why`: needsAnswer, cancelled, refused or readOnly."""

    why: str
    round: int = 1
    token: str = ""
    drifts: tuple[Drift, ...] = ()
    sentence: str = ""


class Interview(msgspec.Struct, kw_only=True):
    """What has been asked and answered so far in one restore."""

    context: RestoreContext
    answers: dict[str, Answer] = {}
    accepted: dict[str, dict[str, str]] = {}
    tokens: list[str] = []

    def choices(self, drifts: tuple[Drift, ...]) -> dict[str, Answer]:
        """The answers in force, by drift id: those to a question that is still there. An answer to
        what is no longer so must not act."""
        return {d.id: self.answers[d.id] for d in questions(drifts, self.answers) if d.id in self.answers}

    def unsettled(self, drifts: tuple[Drift, ...]) -> tuple[Drift, ...]:
        """The questions whose facts nobody has answered for, or whose answer is not possible now."""
        return tuple(
            d
            for d in questions(drifts, self.answers)
            if self.accepted.get(d.id) != d.facts or problem(d, self.answers[d.id]) is not None
        )


def token_of(drifts: tuple[Drift, ...]) -> str:
    """A short name for exactly these facts."""
    facts = [(d.id, sorted(d.facts.items()), [(c.id, c.not_possible) for c in d.choices]) for d in drifts]
    return hashlib.sha256(msgspec.json.encode(facts)).hexdigest()[:16]


def problem(drift: Drift, answer: Answer) -> str | None:
    """Why the answer can't be taken, in one sentence, or `None`."""
    if answer.choice == CANCEL:
        return None
    choice = _choice(drift, answer.choice)
    if choice is None:
        offered = ", ".join(choice.id for choice in drift.choices)
        return f"“{answer.choice}” is not a choice of {drift.id}; it has {offered}."
    if choice.not_possible is not None:
        return f"“{choice.label}” is not possible yet: {choice.not_possible}."
    if choice.typed is not None and answer.typed != choice.typed:
        return f"“{choice.label}” needs the word “{choice.typed}” typed."
    return None


def interview(
    state: Interview, round_number: int, drifts: tuple[Drift, ...]
) -> Generator[Effect, Any, Settled | Stopped]:
    """Get an answer for every unsettled question of these drifts."""
    sentence = ""
    for _ in range(ASKED_AT_MOST):
        open_questions = state.unsettled(drifts)
        if not open_questions:
            return Settled()
        token = token_of(open_questions)
        full = ".".join((*state.tokens, token))
        reply: Answered | Unanswered | Cancelled | None = _without_asking(state, full, open_questions)
        asked = reply is None
        if asked:
            reply = yield Ask(round=round_number, token=full, drifts=open_questions)
        stop = Stopped(
            why="needsAnswer", round=round_number, token=full, drifts=open_questions, sentence=sentence
        )
        match reply:
            case Unanswered():
                return stop
            case Cancelled():
                return _left(stop)
            case Answered(answers, by):
                taken = {d.id: answers[d.id] for d in open_questions if d.id in answers}
                if any(answer.choice == CANCEL for answer in taken.values()):
                    return _left(stop)
                if any(answer.choice == READ_ONLY for answer in taken.values()):
                    return msgspec.structs.replace(stop, why="readOnly")
                needed = questions(open_questions, state.answers | taken)
                refused = [p for d in needed if d.id in taken and (p := problem(d, taken[d.id]))]
                if not refused and all(d.id in taken for d in needed):
                    taken = {d.id: taken[d.id] for d in needed}
                    yield from _accept(state, round_number, full, token, needed, taken, by)
                    if not state.unsettled(drifts):
                        return Settled()
                    continue
                sentence = " ".join(refused) or "Some questions were left without an answer."
                if not asked:
                    return msgspec.structs.replace(stop, sentence=sentence)
    return msgspec.structs.replace(stop, sentence=sentence)


def _accept(
    state: Interview,
    round_number: int,
    full: str,
    token: str,
    drifts: tuple[Drift, ...],
    taken: dict[str, Answer],
    by: str,
) -> Generator[Effect, Any, None]:
    yield Journal(
        RestoreAnswered(
            restore_id=state.context.restore_id,
            round=round_number,
            token=full,
            answers={key: answer.choice for key, answer in taken.items()},
            by=by,
        )
    )
    state.answers.update(taken)
    state.accepted.update({drift.id: drift.facts for drift in drifts})
    state.tokens.append(token)


def _without_asking(state: Interview, full: str, drifts: tuple[Drift, ...]) -> Answered | Unanswered | None:
    """Answers that were brought along, or the unattended ones; `None` when a person is to be asked.

    Answers with a token count when the token begins with the one of this round, so that a later
    round's token vouches for the earlier ones. Without a token they are a script's standing answers,
    which only an unattended restore takes."""
    context = state.context
    given = {d.id: context.given[d.id] for d in drifts if d.id in context.given}
    if context.given_token is not None and f"{context.given_token}.".startswith(f"{full}.") and given:
        return Answered(given, "token")
    if not context.unattended:
        return None
    answers: dict[str, Answer] = {}
    for drift in questions(drifts, given if context.given_token is None else {}):
        choice = _choice(drift, drift.unattended)
        if context.given_token is None and drift.id in given:
            answers[drift.id] = given[drift.id]
        elif drift.unattended != STOP and choice is not None and choice.not_possible is None:
            answers[drift.id] = Answer(choice=drift.unattended)
        else:
            return Unanswered()
    return Answered(answers, "unattended")


def _left(stop: Stopped) -> Stopped:
    """Leaving is a refusal where no choice but reading could have helped."""
    helpless = any(
        all(choice.id == READ_ONLY or choice.not_possible for choice in drift.choices)
        for drift in stop.drifts
    )
    return msgspec.structs.replace(stop, why="refused" if helpless else "cancelled")


def _choice(drift: Drift, choice_id: str) -> Choice | None:
    return next((choice for choice in drift.choices if choice.id == choice_id), None)
