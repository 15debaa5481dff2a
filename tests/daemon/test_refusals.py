"""Each failure of the shell becomes one error for clients, and surprises stay surprises."""

import pytest

from resumed.daemon.refusals import refusal_of
from resumed.daemon.storage import errors
from resumed.protocol.errors import ErrorCode, ResumedError
from resumed.protocol.ids import InvalidId


@pytest.mark.parametrize(
    ("failure", "code"),
    [
        (errors.EventConflict("x"), ErrorCode.EVENT_CONFLICT),
        (errors.EventRefused("x"), ErrorCode.EVENT_REFUSED),
        (errors.StateReadOnly("x"), ErrorCode.STATE_READ_ONLY),
        (errors.StateRefused("x"), ErrorCode.STATE_READ_ONLY),
        (errors.StreamMissing("x"), ErrorCode.SESSION_NOT_FOUND),
        (errors.StreamExists("x"), ErrorCode.SESSION_EXISTS),
        (errors.StreamBusy("x"), ErrorCode.THREAD_BUSY),
        (errors.StorageFailed("x"), ErrorCode.STORAGE_FAILED),
        (errors.IndexFailed("x"), ErrorCode.STORAGE_FAILED),
        (InvalidId("an id"), ErrorCode.INVALID_PARAMS),
    ],
)
def test_a_failure_has_its_code_and_a_hint(failure: Exception, code: ErrorCode) -> None:
    refusal = refusal_of(failure)
    assert refusal is not None
    assert refusal.code is code
    assert refusal.data.kind == code.kind
    assert refusal.data.hint


def test_a_refusal_stays_itself() -> None:
    refusal = ResumedError(ErrorCode.TURN_BUSY, "A turn is open.", "Wait.")
    assert refusal_of(refusal) is refusal


def test_a_surprise_is_none_of_ours() -> None:
    assert refusal_of(ValueError("surprise")) is None
