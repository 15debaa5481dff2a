"""`resumed purge`: asks before a conversation is removed for good, and says what went and what stays."""

import sys
from collections.abc import Iterable
from pathlib import Path

from resumed.daemon.cli.failures import Exit, Failure
from resumed.daemon.cli.paper import CARE, DONE, QUIET, Line, Paper
from resumed.daemon.cli.session import call
from resumed.daemon.cli.words import Reader
from resumed.protocol.errors import ErrorCode, ResumedError
from resumed.protocol.keeping import ThreadPurgeResult
from resumed.protocol.threads import ThreadReadParams, ThreadReadResult
from resumed.restore.wording import agent_name

YES = "yes"


def is_wanted(root: Path, thread: str, paper: Paper, reader: Reader) -> bool:
    """Whether a person at a terminal says yes. Raises `Failure` when there is nobody to ask."""
    if not (paper.terminal and sys.stdin is not None and sys.stdin.isatty()):
        raise Failure(
            "Nobody can be asked whether the conversation is to be removed for good.",
            "Say so with --yes. Nothing was removed.",
            Exit.NEEDS_ANSWER,
        )
    paper.show(question_lines(_read(root, thread), thread, reader))
    paper.prompt(f"Type {YES} to remove it:")
    if sys.stdin.readline().strip().lower() == YES:
        return True
    paper.show([Line(f"{QUIET} ", "Nothing was removed.")])
    return False


def question_lines(read: ThreadReadResult | None, thread: str, reader: Reader) -> Iterable[Line]:
    """What is about to be removed, and what stays; `read` is `None` for one that can't be read any more."""
    yield Line(f"{CARE} ", f"“{read.name if read else thread}” is about to be removed for good.")
    if read is None:
        return
    runs = len(read.runs)
    counted = f"{runs} run{'s' if runs != 1 else ''}, {read.conversation.entries:,} entries"
    yield Line("  ", f"{counted}, last active {reader.when(read.last_active_at)}.")
    if read.depends_on is not None:
        yield Line("  ", _stays(read.depends_on, agent_name(read.agent), reader))


def purged_lines(result: ThreadPurgeResult, reader: Reader) -> Iterable[Line]:
    """What was removed, and what stays."""
    if not result.files and result.depends_on is not None:
        yield Line(
            f"{QUIET} ", f"Nothing is kept here of “{result.name}” but what its agent's own file says."
        )
    else:
        size = f"{result.files} file{'s' if result.files != 1 else ''}, {result.bytes:,} bytes"
        yield Line(f"{DONE} ", f"“{result.name}” is removed for good: {size}.")
    if result.contents:
        yield Line("  ", f"With it {result.contents} kept contents.")
    if result.contents_shared:
        yield Line("  ", f"{result.contents_shared} kept contents stay: other records name them.")
    if result.contents_later:
        later = f"{result.contents_later} kept contents are removed after a day, when nobody can need them."
        yield Line(f"{CARE} ", later)
    if result.depends_on is not None:
        yield Line("  ", _stays(result.depends_on, "the agent", reader))
    for note in result.notes:
        yield Line(f"{CARE} ", note)


def _stays(path: str, agent: str, reader: Reader) -> str:
    owner = f"{agent[0].upper()}{agent[1:]}"
    return f"{owner}'s own file {reader.path(path)} stays, and the conversation is listed from it again."


def _read(root: Path, thread: str) -> ThreadReadResult | None:
    try:
        result: ThreadReadResult = call(root, "thread/read", ThreadReadParams(thread=thread)).value
    except ResumedError as error:
        if error.code is not ErrorCode.THREAD_NOT_FOUND:
            raise
        return None
    return result
