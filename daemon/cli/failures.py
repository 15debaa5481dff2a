"""Exit codes, and how a refusal reads: one sentence, and what to do about it."""

import enum
from datetime import datetime

from resumed.daemon.cli.paper import FAILED, Line
from resumed.daemon.cli.words import when
from resumed.protocol.errors import ErrorCode, ResumedError
from resumed.protocol.restore import Outcome


class Exit(enum.IntEnum):
    """How a command ended, for scripts."""

    DONE = 0
    ERROR = 1
    USAGE = 2
    NEEDS_ANSWER = 3
    NOT_WHOLE = 4


OUTCOMES = {
    Outcome.RESTORED: Exit.DONE,
    Outcome.READ_ONLY: Exit.DONE,
    Outcome.NEEDS_ANSWER: Exit.NEEDS_ANSWER,
    Outcome.PARTIAL: Exit.NOT_WHOLE,
    Outcome.REFUSED: Exit.NOT_WHOLE,
    Outcome.ROLLED_BACK: Exit.NOT_WHOLE,
    Outcome.CANCELLED: Exit.NOT_WHOLE,
}


_EXITS = {
    ErrorCode.INVALID_PARAMS: Exit.USAGE,
    ErrorCode.RESTORE_UNFINISHED: Exit.NEEDS_ANSWER,
}


class Failure(Exception):
    """Something on this side went wrong: a sentence, a hint, and how the command ends."""

    def __init__(self, sentence: str, hint: str = "", exit_code: Exit = Exit.ERROR) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.hint = hint
        self.exit_code = exit_code


def failure_of(error: Exception, now: datetime) -> Failure:
    """Say any error in the same form."""
    if isinstance(error, Failure):
        return error
    if isinstance(error, ResumedError):
        return Failure(error.sentence, _hint(error, now), _EXITS.get(error.code, Exit.ERROR))
    if isinstance(error, TimeoutError):
        return Failure("The background process does not answer.", "It may have been stopped by a signal.")
    return Failure(f"That did not work: {error or type(error).__name__}.")


def failure_lines(failure: Failure) -> list[Line]:
    """The sentence, and the hint below it."""
    lines = [Line(f"{FAILED} ", failure.sentence)]
    lines += [Line("  ", part) for part in failure.hint.splitlines() if part]
    return lines


def _hint(error: ResumedError, now: datetime) -> str:
    parts = [error.data.hint]
    if error.data.holder is not None:
        holder = error.data.holder
        parts.insert(0, f"Held by {holder.name} (process {holder.pid}) since {when(holder.since, now)}.")
    return "\n".join((*parts, *_candidates(error.data.candidates)))


def _candidates(candidates: tuple[str, ...]) -> list[str]:
    """The names that fit; with the id in front where a name alone does not tell them apart."""
    names = [candidate.partition(" ")[2] for candidate in candidates]
    return [
        candidate if names.count(name) > 1 or not name else name
        for candidate, name in zip(candidates, names, strict=True)
    ]
