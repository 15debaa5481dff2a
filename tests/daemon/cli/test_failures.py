import pytest

from resumed.daemon.cli.failures import OUTCOMES, Exit, Failure, failure_lines, failure_of
from resumed.protocol.errors import ErrorCode, Holder, ResumedError
from resumed.protocol.restore import Outcome
from tests.support.reports import READER, printed


def text_of(error: Exception) -> str:
    return printed(failure_lines(failure_of(error, READER.now)))


def test_a_busy_thread_names_who_holds_it_and_since_when() -> None:
    error = ResumedError(
        ErrorCode.THREAD_BUSY,
        "This conversation is open elsewhere: VS Code.",
        "Go there.",
        holder=Holder(name="VS Code", pid=4711, since="2026-12-01T09:58:00Z"),
        ways=("attach", "fork"),
    )
    assert text_of(error) == (
        "✗ This conversation is open elsewhere: VS Code.\n"
        "  Held by VS Code (process 4711) since 2 min ago.\n"
        "  Go there.\n"
    )
    assert failure_of(error, READER.now).exit_code is Exit.ERROR


def test_an_ambiguous_name_lists_names_and_ids_only_where_names_are_the_same() -> None:
    error = ResumedError(
        ErrorCode.THREAD_AMBIGUOUS,
        "“fix” fits 3 conversations.",
        "Give more of the name.",
        candidates=("id-1 fix it", "id-2 fix it", "id-3 fix the readme"),
    )
    assert text_of(error).splitlines()[2:] == ["  id-1 fix it", "  id-2 fix it", "  fix the readme"]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (ErrorCode.INVALID_PARAMS, Exit.USAGE),
        (ErrorCode.THREAD_NOT_FOUND, Exit.ERROR),
        (ErrorCode.WORKSPACE_REFUSED, Exit.ERROR),
        (ErrorCode.STORAGE_FAILED, Exit.ERROR),
    ],
)
def test_the_exit_code_of_a_refusal(code: ErrorCode, expected: Exit) -> None:
    assert failure_of(ResumedError(code, "No.", ""), READER.now).exit_code is expected


def test_a_surprise_is_one_sentence() -> None:
    assert text_of(RuntimeError("the roof\nfell in")) == "✗ That did not work: the roof fell in.\n"


def test_a_failure_of_ours_is_taken_as_it_is() -> None:
    failure = Failure("No.", "Try again.", Exit.USAGE)
    assert failure_of(failure, READER.now) is failure


def test_every_outcome_has_its_exit_code() -> None:
    assert {outcome: int(code) for outcome, code in OUTCOMES.items()} == {
        Outcome.RESTORED: 0,
        Outcome.READ_ONLY: 0,
        Outcome.NEEDS_ANSWER: 3,
        Outcome.PARTIAL: 4,
        Outcome.REFUSED: 4,
        Outcome.ROLLED_BACK: 4,
        Outcome.CANCELLED: 4,
    }
    assert set(OUTCOMES) == set(Outcome)


def test_a_daemon_that_is_silent_is_said_so() -> None:
    assert (
        failure_of(TimeoutError("timed out"), READER.now).sentence
        == "The background process does not answer."
    )


def test_an_unfinished_restore_needs_somebody() -> None:
    error = ResumedError(ErrorCode.RESTORE_UNFINISHED, "A restore was cut off.", "Resume it.")
    assert failure_of(error, READER.now).exit_code is Exit.NEEDS_ANSWER
