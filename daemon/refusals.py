"""One place that turns the shell's own failures into errors for clients."""

from collections.abc import Iterable

from resumed.daemon.storage import errors
from resumed.protocol.errors import ErrorCode, ResumedError
from resumed.protocol.ids import InvalidId

_CODES: tuple[tuple[type[errors.StorageError], ErrorCode, str], ...] = (
    (errors.EventConflict, ErrorCode.EVENT_CONFLICT, "Send another event under another event_id."),
    (errors.EventRefused, ErrorCode.EVENT_REFUSED, "See the table of events."),
    (errors.StateReadOnly, ErrorCode.STATE_READ_ONLY, "Nothing can be written; reading works."),
    (errors.StateGone, ErrorCode.STORAGE_FAILED, "Nothing was written. Close what is open, then try again."),
    (errors.StateRefused, ErrorCode.STATE_READ_ONLY, "Set RESUMED_HOME to a private folder of yours."),
    (errors.StreamMissing, ErrorCode.SESSION_NOT_FOUND, "Start a session first."),
    (errors.StreamExists, ErrorCode.SESSION_EXISTS, "Leave session_id out to get a new one."),
    (errors.IndexFailed, ErrorCode.STORAGE_FAILED, "The records are not affected; try again."),
    (errors.StreamBusy, ErrorCode.THREAD_BUSY, "Another daemon writes it now; try again there."),
)


def nothing_readable(reasons: Iterable[str]) -> ResumedError:
    """The refusal of a conversation whose own file is not there for its agent; a sentence for each reason."""
    return ResumedError(
        ErrorCode.THREAD_NOT_FOUND,
        " ".join(("Nothing of this conversation can be read.", *reasons)),
        "Nothing was restored or started. Once the file is back and may be read, it works as before.",
    )


def only_readable(reason: str) -> ResumedError:
    """The refusal of a conversation of whose records too much is lost to go on from."""
    return ResumedError(
        ErrorCode.STATE_READ_ONLY,
        f"This conversation can only be read: {reason[0].lower()}{reason[1:]}",
        "Nothing was restored or started. resumed doctor says which file it is.",
    )


def being_removed() -> ResumedError:
    """The refusal of a conversation whose removal was begun and not finished."""
    return ResumedError(
        ErrorCode.THREAD_NOT_FOUND,
        "This conversation is being removed for good.",
        "resumed purge finishes what was begun, and so does the next start.",
    )


def refusal_of(error: Exception) -> ResumedError | None:
    """The error a client gets for it; `None` when it is a surprise."""
    if isinstance(error, ResumedError):
        return error
    if isinstance(error, InvalidId):
        return ResumedError(
            ErrorCode.INVALID_PARAMS, f"That is not {error.args[0]}.", "Use an id as it was given."
        )
    for kind, code, hint in _CODES:
        if isinstance(error, kind):
            return ResumedError(code, error.sentence, hint)
    if isinstance(error, errors.StorageError):
        return ResumedError(
            ErrorCode.STORAGE_FAILED, error.sentence, "Nothing was acknowledged; sending it again is safe."
        )
    return None
