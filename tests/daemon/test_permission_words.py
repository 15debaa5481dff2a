"""Permissions are said in known words, and a run never goes on with more than it was granted."""

import pytest

from resumed.daemon.permission_words import check_not_wider, check_words
from resumed.protocol.errors import ErrorCode, ResumedError
from resumed.protocol.sessions import PermissionsInfo
from resumed.restore.permission_grant import PermissionsState

GRANTED = PermissionsState(approval="on-request", sandbox="workspace-write", mode="normal")


@pytest.mark.parametrize(
    ("approval", "sandbox", "mode"),
    [("always", None, None), (None, "everything", None), (None, None, "yolo"), ("", None, None)],
)
def test_a_word_that_is_not_known_is_refused(
    approval: str | None, sandbox: str | None, mode: str | None
) -> None:
    check_words("on-failure", "danger-full-access", "auto")
    check_words(None, None, None)
    with pytest.raises(ResumedError) as refused:
        check_words(approval, sandbox, mode)
    assert refused.value.code is ErrorCode.INVALID_PARAMS


@pytest.mark.parametrize(
    ("said", "wider"),
    [
        (PermissionsInfo(approval="on-request", sandbox="workspace-write"), False),
        (PermissionsInfo(approval="untrusted", sandbox="read-only", mode="plan"), False),
        (PermissionsInfo(approval="never", sandbox="read-only"), True),
        (PermissionsInfo(approval="untrusted", sandbox="danger-full-access"), True),
        (PermissionsInfo(approval="untrusted", sandbox="read-only", mode="bypass"), True),
    ],
)
def test_wider_than_granted_is_refused(said: PermissionsInfo, wider: bool) -> None:
    if not wider:
        check_not_wider(said, GRANTED)
        return
    with pytest.raises(ResumedError) as refused:
        check_not_wider(said, GRANTED)
    assert refused.value.code is ErrorCode.INVALID_PARAMS


def test_a_word_off_the_scale_allows_only_itself_and_silence_forbids_nothing() -> None:
    said = PermissionsInfo(approval="untrusted", sandbox="danger-full-access")
    check_not_wider(said, PermissionsState())
    with pytest.raises(ResumedError):
        check_not_wider(said, PermissionsState(approval="granular"))
