"""Asks the questions of a restore on a terminal, one after the other.

Leaving (`q`, Esc, the end of input, Ctrl-C) changes nothing, whatever was answered before it.
"""

import contextlib
import signal
from collections.abc import Iterator
from typing import TextIO

from resumed.daemon.cli.answers import Given, answers_for
from resumed.daemon.cli.failures import Failure
from resumed.daemon.cli.keyboard import typed_line
from resumed.daemon.cli.paper import CARE, QUIET, Line, Paper
from resumed.daemon.cli.questions import command_lines, difference_lines, question_lines, why_lines
from resumed.protocol.restore import Answer, Answers, Choice, Drift, Question
from resumed.restore.asking import problem
from resumed.restore.drift import CANCEL, READ_ONLY

_ENDS_THE_ROUND = (READ_ONLY, CANCEL)


class Left(Exception):
    """The person left."""


class Asker:
    """Asks on `paper` what was not given in advance. `failure` is why a given answer can't be taken."""

    def __init__(self, paper: Paper, typing: TextIO, given: Given) -> None:
        self.failure: Failure | None = None
        self._paper = paper
        self._typing = typing
        self._given = given
        self._answered = 0

    async def ask(self, question: Question) -> Answers:
        """Answer one round. Blocks the event loop on purpose: while a person thinks, nothing else runs."""
        try:
            answers = answers_for(question, self._given)
        except Failure as failure:
            self.failure = failure
            return Answers(cancelled=True)
        for drift in question.drifts:
            if drift.id in answers:
                self._paper.show([_as_given(drift, answers[drift.id])])
        try:
            with _interruptible():
                answers |= self._ask_open(question, [d for d in question.drifts if d.id not in answers])
        except (Left, KeyboardInterrupt):
            self._paper.show([Line("")])
            return Answers(cancelled=True)
        self._answered += len(question.drifts)
        return Answers(answers=answers)

    def confirm(self, text: str) -> bool:
        """Show a line that ends in `[Enter] / q`; true for Enter alone."""
        try:
            with _interruptible():
                return self._read(f"{text}   [Enter] / q") == ""
        except (Left, KeyboardInterrupt):
            self._paper.show([Line("")])
            return False

    def _ask_open(self, question: Question, drifts: list[Drift]) -> dict[str, Answer]:
        """Ask in order. Reading only, and finishing something first, end the round."""
        answers: dict[str, Answer] = {}
        given = len(question.drifts) - len(drifts)
        total = self._answered + len(question.drifts) + (1 if question.round < question.rounds else 0)
        for number, drift in enumerate(drifts, self._answered + given + 1):
            if drift.id in answers:
                continue
            alike = [d for d in drifts[drifts.index(drift) + 1 :] if d.kind is drift.kind]
            answer, for_all = self._ask_one(drift, f"{number} of {total}", alike)
            answers[drift.id] = answer
            if for_all:
                answers.update({other.id: answer for other in alike})
            if answer.choice in _ENDS_THE_ROUND:
                break
        return answers

    def _ask_one(self, drift: Drift, number: str, alike: list[Drift]) -> tuple[Answer, bool]:
        """Ask until there is an answer; also whether it is for those that are alike, too."""
        default = _default(drift)
        for_all = default if default and _fits_all(default, alike) else None
        self._paper.show([Line(""), *question_lines(drift, number)])
        while True:
            match self._read(_prompt(drift, default, for_all, alike)).casefold():
                case "q":
                    raise Left
                case "d":
                    self._paper.show(difference_lines(drift.differences) or [_note("Nothing to compare.")])
                case "w":
                    self._paper.show(why_lines(drift))
                case "a" if for_all is not None:
                    return Answer(choice=for_all.id), True
                case said:
                    answer = self._taken(drift, default if said == "" else _numbered(drift, said))
                    if answer is not None:
                        return answer, False

    def _taken(self, drift: Drift, choice: Choice | None) -> Answer | None:
        """The answer, once its word is typed where it has one; else say what is wrong with it."""
        if choice is None:
            self._paper.show([_note(f"Type a number from 1 to {len(drift.choices)}, or d, w or q.")])
            return None
        if choice.not_possible is not None:
            why = Line(f"  {CARE} ", f"Not possible yet: {choice.not_possible}.")
            self._paper.show([why, *command_lines(choice, "    ")])
            return None
        word = None
        if choice.typed is not None:
            word = self._read(f"Type “{choice.typed}” to choose that, or Enter to go back")
        answer = Answer(choice=choice.id, typed=word)
        if problem(drift, answer) is not None:
            self._paper.show([_note("Not chosen.")])
            return None
        return answer

    def _read(self, prompt: str) -> str:
        """Return the line typed behind a prompt. Raises `Left` at the end of input and at Esc."""
        self._paper.prompt(prompt)
        line = typed_line(self._typing)
        if line is None:
            raise Left
        return line


def _prompt(drift: Drift, default: Choice | None, for_all: Choice | None, alike: list[Drift]) -> str:
    number = f" [{drift.choices.index(default) + 1}]" if default is not None else ""
    same = f"   a {for_all.label} for all {len(alike) + 1}" if for_all is not None else ""
    return f"Choose{number}{same}   d diff   w why   q leave everything as it is"


def _default(drift: Drift) -> Choice | None:
    """The suggested choice if it can be taken without more."""
    choice = next((choice for choice in drift.choices if choice.id == drift.suggested), None)
    if choice is None or choice.not_possible is not None or choice.typed is not None:
        return None
    return choice


def _fits_all(default: Choice, alike: list[Drift]) -> bool:
    return bool(alike) and all(problem(other, Answer(choice=default.id)) is None for other in alike)


def _numbered(drift: Drift, said: str) -> Choice | None:
    if said.isascii() and said.isdigit() and 1 <= int(said) <= len(drift.choices):
        return drift.choices[int(said) - 1]
    return None


def _note(text: str) -> Line:
    return Line(f"  {QUIET} ", text)


def _as_given(drift: Drift, answer: Answer) -> Line:
    label = next((choice.label for choice in drift.choices if choice.id == answer.choice), answer.choice)
    return _note(f"{drift.title} {label} (as given).")


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """Let Ctrl-C interrupt a blocking read, where the event loop would only take note of it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
