"""Answers given in advance: `--answer SUBSYSTEM.KIND[:PATH]=CHOICE[:TYPED]`.

A choice that needs a word takes it behind it. A key without a path answers every question of its kind; one
with a path is for that question alone.
"""

import re
from collections.abc import Iterable, Mapping

from resumed.daemon.cli.failures import Exit, Failure
from resumed.daemon.cli.questions import choice_name, key_of
from resumed.daemon.cli.words import typed
from resumed.protocol.restore import Answer, Drift, DriftKind, Question, RestoreReport, Severity
from resumed.restore.asking import problem
from resumed.restore.drift import PLACE, READ_ONLY, RULES, drift_id

_FORM = re.compile(
    r"(?P<kind>[A-Za-z_]+\.[A-Za-z]+)(?::(?P<path>.+))?=(?P<choice>[A-Za-z]+)(?::(?P<typed>.*))?"
)
_EXAMPLES = (
    "It looks like worktree.branchDiffers=stay, or permissions.neverAsk=never:skip with a word to type."
)
_KINDS: dict[str, DriftKind] = {drift_id(kind): kind for kind in RULES}

Given = Mapping[str, Answer]


def parse(texts: Iterable[str]) -> dict[str, Answer]:
    """Read the options' texts. Raises `Failure` for a key or choice that no question has, or a key twice."""
    given: dict[str, Answer] = {}
    for text in texts:
        found = _FORM.fullmatch(text)
        if found is None:
            raise _wrong(f"“{text}” is no answer.", _EXAMPLES)
        kind = _KINDS.get(found["kind"])
        if kind is None:
            raise _wrong(
                f"“{found['kind']}” is no question.", "resumed check lists the questions with their keys."
            )
        choices = (*RULES[kind].choices, READ_ONLY)
        if not RULES[kind].choices or found["choice"] not in choices:
            raise _wrong(
                f"“{found['choice']}” is no choice of {found['kind']}.", f"It has {', '.join(choices)}."
            )
        key = found["kind"] if found["path"] is None else f"{found['kind']}:{found['path']}"
        if key in given:
            raise _wrong(f"{key} is answered twice.", "Give one answer for each question.")
        given[key] = Answer(choice=found["choice"], typed=found["typed"])
    return given


def answer_for(drift: Drift, given: Given) -> Answer | None:
    """The answer given for this very question, else for its kind."""
    return given.get(drift.id) or given.get(drift_id(drift.kind))


def answers_for(question: Question, given: Given) -> dict[str, Answer]:
    """The given answers to a round's questions, by drift id.

    Raises `Failure` when one can't be taken; nothing must happen then.
    """
    answers = {drift.id: answer for drift in question.drifts if (answer := answer_for(drift, given))}
    problems = [
        found
        for drift in question.drifts
        if drift.id in answers and (found := problem(drift, answers[drift.id]))
    ]
    if problems:
        words = _words_missing(question, answers)
        raise _wrong(" ".join(problems), "\n".join(("Nothing was restored or started.", *words)))
    return answers


def unused(report: RestoreReport, given: Given) -> tuple[str, ...]:
    """The keys given that no question of this restore asked for. While a later round is still to come,
    only those of the round that was reached."""
    asked_drifts = (drift for drift in report.drifts if drift.severity is not Severity.INFORM)
    asked = {key for drift in asked_drifts for key in (drift.id, drift_id(drift.kind))}
    more_comes = report.question is not None and report.question.round < report.question.rounds
    rounds = [key for key in given if not more_comes or _subsystem(key) == PLACE]
    return tuple(key for key in rounds if key not in asked)


def _subsystem(key: str) -> str:
    return key.partition(".")[0]


def _words_missing(question: Question, answers: Mapping[str, Answer]) -> list[str]:
    """How each choice that was given without its word is given with it."""
    return [
        "With the word in advance it is: "
        + typed("--answer", f"{key_of(drift, question.drifts)}={choice_name(choice)}")
        for drift in question.drifts
        for choice in drift.choices
        if (answer := answers.get(drift.id)) is not None
        and (choice.id, choice.not_possible) == (answer.choice, None)
        and choice.typed not in (None, answer.typed)
    ]


def _wrong(sentence: str, hint: str) -> Failure:
    return Failure(sentence, hint, Exit.USAGE)
