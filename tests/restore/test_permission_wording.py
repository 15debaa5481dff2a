import msgspec
import pytest

from resumed.protocol.restore import Drift, Severity
from resumed.restore import permission_wording
from resumed.restore.permission_grant import (
    APPROVALS,
    SANDBOXES,
    Ceiling,
    Granted,
    PermissionsState,
)
from tests.support.events import TARGET

FREE = Ceiling(
    approval="never",
    sandbox="danger-full-access",
    readable=True,
    declared="never",
    declared_sandbox="danger-full-access",
)
USUAL = PermissionsState(approval="on-request", sandbox="workspace-write")


def limit(approval: str = "never", sandbox: str = "danger-full-access", source: str = "") -> Ceiling:
    return Ceiling(
        approval=approval,
        sandbox=sandbox,
        readable=True,
        declared=approval,
        declared_sandbox=sandbox,
        source=source,
    )


def held(**changes: str) -> PermissionsState:
    fields = {"approval": "on-request", "sandbox": "read-only", **changes}
    state = PermissionsState(ceiling_approval="on-request", ceiling_sandbox="read-only")
    return msgspec.structs.replace(state, **fields)


def texts(drift: Drift) -> str:
    rows = [f"{row.what} {row.recorded} {row.now}" for row in drift.differences]
    choices = [f"{choice.label} {choice.detail}" for choice in drift.choices]
    return " ".join((drift.title, drift.reason, *rows, *choices))


def test_no_question_holds_a_word_of_the_wire() -> None:
    drifts = [
        permission_wording.loose_sandbox(),
        permission_wording.loose_approval(),
        permission_wording.stricter(USUAL, limit("untrusted", "read-only"), TARGET),
        permission_wording.looser(held(), FREE),
        permission_wording.plan_mode(TARGET),
        permission_wording.active_goal(PermissionsState(objective="x"), TARGET),
    ]
    for drift in drifts:
        assert drift is not None
        for word in (*APPROVALS[1:3], *SANDBOXES[1:], "fullAccess", "onRequest"):
            assert word not in texts(drift)


def test_a_stricter_policy_is_listed_with_what_it_takes_away() -> None:
    source = "/home/kim/.s/settings.toml, /etc/codex/requirements.toml"
    drift = permission_wording.stricter(USUAL, limit(sandbox="read-only", source=source), TARGET)
    assert drift is not None
    assert drift.severity is Severity.INFORM
    assert drift.reason == (
        "The policy is kept; it is set in ~/.s/settings.toml and /etc/codex/requirements.toml."
    )
    assert [(row.what, row.recorded, row.now) for row in drift.differences] == [
        ("may change", "only this folder", "nothing")
    ]


def test_a_policy_that_could_not_be_read_is_said_to_be_so() -> None:
    unread = Ceiling(
        approval="on-request",
        sandbox="read-only",
        readable=False,
        declared="on-request",
        declared_sandbox="read-only",
    )
    drift = permission_wording.stricter(USUAL, unread, TARGET)
    assert drift is not None
    assert drift.title == "What the policy here allows is not known."
    assert drift.reason == "It could not be read, so only the safest is allowed."


def test_the_file_that_could_not_be_read_is_named() -> None:
    problem = "~/.s/settings.toml cannot be read: line 3 is not valid TOML"
    unread = Ceiling(
        approval="on-request",
        sandbox="read-only",
        readable=False,
        declared="on-request",
        declared_sandbox="read-only",
        problem=problem,
    )
    drift = permission_wording.stricter(USUAL, unread, TARGET)
    assert drift is not None
    assert drift.reason == f"{problem}. So only the safest is allowed."
    assert permission_wording.not_known(unread) == (f"what the policy here allows ({problem})",)
    assert permission_wording.not_known(FREE) == ()


def test_a_bypass_that_the_policy_forbids_is_listed() -> None:
    bypass = PermissionsState(approval="on-request", sandbox="workspace-write", mode="bypass")
    drift = permission_wording.stricter(bypass, limit("on-request"), TARGET)
    assert drift is not None
    assert [(row.recorded, row.now) for row in drift.differences] == [("never", "on request")]
    assert permission_wording.stricter(bypass, FREE, TARGET) is None


@pytest.mark.parametrize("state", [USUAL, PermissionsState()])
def test_nothing_is_listed_where_nothing_is_taken_away(state: PermissionsState) -> None:
    assert permission_wording.stricter(state, FREE, TARGET) is None


@pytest.mark.parametrize(
    ("now", "typed", "detail"),
    [
        (limit("on-failure", "read-only"), None, "It asks when a command fails."),
        (limit("never", "read-only"), "skip", "It never asks."),
        (limit("on-request", "danger-full-access"), "full", "It may change anything on this computer."),
        (
            limit("never", "danger-full-access"),
            "full",
            "It never asks and may change anything on this computer.",
        ),
    ],
)
def test_what_adopting_the_policy_would_allow_is_said_and_typed(
    now: Ceiling, typed: str | None, detail: str
) -> None:
    drift = permission_wording.looser(held(), now)
    assert drift is not None
    adopt = next(choice for choice in drift.choices if choice.id == "adopt")
    assert (adopt.typed, adopt.detail) == (typed, detail)
    assert drift.facts == {"approval": now.approval, "sandbox": now.sandbox}


def test_a_policy_that_never_held_it_back_is_not_looser() -> None:
    assert permission_wording.looser(USUAL, FREE) is None
    assert permission_wording.looser(held(), limit("on-request", "read-only")) is None


@pytest.mark.parametrize(
    ("state", "granted", "words"),
    [
        (USUAL, ("on-request", "workspace-write", "normal"), "as before, nothing wider"),
        (USUAL, ("on-request", "read-only", "normal"), "less than before, nothing wider"),
        (USUAL, ("never", "workspace-write", "normal"), "more than before, as you chose"),
        (
            PermissionsState(approval="on-request", sandbox="workspace-write", mode="plan"),
            ("on-request", "read-only", "plan"),
            "as before, nothing wider",
        ),
        (
            PermissionsState(approval="on-request", sandbox="read-only", mode="plan"),
            ("on-request", "read-only", "normal"),
            "more than before, as you chose",
        ),
        (
            PermissionsState(approval="on-request", sandbox="workspace-write", mode="bypass"),
            ("on-request", "workspace-write", "normal"),
            "less than before, nothing wider",
        ),
        (
            PermissionsState(approval="on-request", sandbox="workspace-write", mode="bypass"),
            ("never", "workspace-write", "normal"),
            "as before, nothing wider",
        ),
        (
            PermissionsState(approval="on-request", sandbox="workspace-write", mode="yolo"),
            ("on-request", "workspace-write", "normal"),
            "less than before, nothing wider",
        ),
        (PermissionsState(), ("on-request", "read-only", "normal"), "the record does not say"),
    ],
)
def test_how_it_compares_with_before(
    state: PermissionsState, granted: tuple[str, str, str], words: str
) -> None:
    approval, sandbox, mode = granted
    result = Granted(approval=approval, sandbox=sandbox, mode=mode, pause_goal=False)
    assert permission_wording.summary(state, result, TARGET).endswith(f": {words}")


@pytest.mark.parametrize(
    ("state", "granted", "words"),
    [
        (
            USUAL,
            Granted(
                approval="on-request",
                sandbox="read-only",
                mode="normal",
                pause_goal=False,
                unstartable="untrusted",
            ),
            "asks on request, reads only: less than before, nothing wider; Codex cannot be started so that it"
            " asks before most commands, so it reads only",
        ),
        (
            PermissionsState(approval="untrusted", sandbox="read-only"),
            Granted(
                approval="on-request",
                sandbox="read-only",
                mode="normal",
                pause_goal=False,
                unstartable="untrusted",
            ),
            "asks on request, reads only: Codex cannot be started so that it asks before most commands, so it"
            " reads only",
        ),
        (
            PermissionsState(approval="on-failure", sandbox="workspace-write"),
            Granted(
                approval="on-request",
                sandbox="workspace-write",
                mode="normal",
                pause_goal=False,
                unstartable="on-failure",
            ),
            "asks on request, writes only in this folder: Codex cannot be started so that it asks when a"
            " command fails, so it asks on request",
        ),
    ],
)
def test_what_it_cannot_be_started_with_is_said(
    state: PermissionsState, granted: Granted, words: str
) -> None:
    assert permission_wording.summary(state, granted, TARGET) == words


def test_the_goal_is_named() -> None:
    drift = permission_wording.active_goal(PermissionsState(objective="make it\ngreen"), TARGET)
    assert drift.reason == "Without a message from you Codex would work on “make it green”."
