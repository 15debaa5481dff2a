"""The words of permissions as agents say them, and which of two says more."""

from collections.abc import Sequence

from resumed.protocol.errors import ErrorCode, ResumedError
from resumed.protocol.sessions import PermissionsInfo
from resumed.restore.permission_grant import APPROVALS, SANDBOXES, PermissionsState

MODES = ("plan", "normal", "auto", "bypass")


def check_words(approval: str | None, sandbox: str | None, mode: str | None) -> None:
    """Refuse a word that is not known; `None` says nothing. Raises `ResumedError` `invalidParams`."""
    for field, value, known in (
        ("approval", approval, APPROVALS),
        ("sandbox", sandbox, SANDBOXES),
        ("mode", mode, MODES),
    ):
        if value is not None and value not in known:
            raise ResumedError(
                ErrorCode.INVALID_PARAMS, f"{field} can't be {value!r}.", f"It is one of {', '.join(known)}."
            )


def check_not_wider(said: PermissionsInfo, granted: PermissionsState) -> None:
    """Refuse an agent that goes on with more than its run was granted. What the record does not say
    grants nothing more than was said. Raises `ResumedError` `invalidParams`."""
    wider = [
        f"{field} {value} (granted: {limit})"
        for field, value, limit, order in (
            ("approval", said.approval, granted.approval, APPROVALS),
            ("sandbox", said.sandbox, granted.sandbox, SANDBOXES),
            ("mode", said.mode, granted.mode, MODES),
        )
        if limit is not None and _wider(order, value, limit)
    ]
    if wider:
        raise ResumedError(
            ErrorCode.INVALID_PARAMS,
            f"The agent may do more than this run was granted: {', '.join(wider)}.",
            "Start with what was granted or less; to allow more, resume the conversation and choose it.",
        )


def _wider(order: Sequence[str], value: str, limit: str) -> bool:
    # A limit that is not on the scale was recorded by an older version: it allows its own word only.
    return value != limit if limit not in order else order.index(value) > order.index(limit)
