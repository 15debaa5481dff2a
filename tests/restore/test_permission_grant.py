import itertools

import msgspec
import pytest

from resumed.protocol.restore import Answer, DriftKind
from resumed.restore.permission_grant import (
    APPROVALS,
    SANDBOXES,
    Granted,
    PermissionsState,
    as_started,
    bypasses,
    capped,
    ceiling,
    chosen,
    grant,
    raised_limits,
    recorded,
)
from resumed.restore.probes import AnyObservation, CeilingProbe, CeilingSeen, FolderSeen, Seen, Unseen
from resumed.restore.subsystem import Target
from tests.support.events import HERE, TARGET

UNREADABLE = Unseen("failed: it is not valid")
LIMITED = ("on-request", "never")
STARTED = msgspec.structs.replace(TARGET, here=msgspec.structs.replace(HERE, approvals=LIMITED))


def seen(observation: AnyObservation | None = None) -> Seen:
    return {CeilingProbe("codex"): observation or CeilingSeen()}


def chose(*choices: str) -> dict[str, Answer]:
    kinds = {
        "fullAccess": DriftKind.FULL_ACCESS,
        "workspaceWrite": DriftKind.FULL_ACCESS,
        "never": DriftKind.NEVER_ASK,
        "onRequest": DriftKind.NEVER_ASK,
        "adopt": DriftKind.POLICY_LOOSER,
        "keep": DriftKind.POLICY_LOOSER,
        "normal": DriftKind.PLAN_MODE,
        "continue": DriftKind.ACTIVE_GOAL,
    }
    return {f"permissions.{kinds[choice].value}": Answer(choice=choice) for choice in choices}


def granted(state: PermissionsState, *choices: str, at: AnyObservation | None = None) -> tuple[str, str, str]:
    result = grant(state, seen(at), chose(*choices), TARGET)
    return result.approval, result.sandbox, result.mode


@pytest.mark.parametrize("approval", APPROVALS[:-1])
@pytest.mark.parametrize("sandbox", SANDBOXES[:-1])
def test_what_was_recorded_is_kept(approval: str, sandbox: str) -> None:
    state = PermissionsState(approval=approval, sandbox=sandbox)
    assert granted(state) == (approval, sandbox, "normal")


def test_the_loosest_is_never_kept_without_a_choice() -> None:
    state = PermissionsState(approval="never", sandbox="danger-full-access")
    assert granted(state) == ("on-request", "workspace-write", "normal")
    assert granted(state, "workspaceWrite", "onRequest") == ("on-request", "workspace-write", "normal")
    assert granted(state, "fullAccess") == ("on-request", "danger-full-access", "normal")
    assert granted(state, "never") == ("never", "workspace-write", "normal")
    assert granted(state, "fullAccess", "never") == ("never", "danger-full-access", "normal")


@pytest.mark.parametrize(
    "state",
    [
        PermissionsState(),
        PermissionsState(sandbox="danger-full-access"),
        PermissionsState(approval="never"),
        PermissionsState(approval="granular", sandbox="danger-full-access"),
        PermissionsState(approval="never", sandbox="external-sandbox"),
    ],
)
def test_a_record_that_lacks_something_is_the_safest(state: PermissionsState) -> None:
    assert recorded(state) is None
    for choices in ((), ("fullAccess",), ("adopt", "fullAccess")):
        for limit in (None, CeilingSeen(approval="never", sandbox="danger-full-access")):
            assert granted(state, *choices, at=limit) == ("on-request", "read-only", "normal")


def test_a_stricter_half_of_a_record_is_kept() -> None:
    assert granted(PermissionsState(approval="untrusted")) == ("untrusted", "read-only", "normal")


@pytest.mark.parametrize(
    "unknown",
    [UNREADABLE, CeilingSeen(approval="sometimes"), CeilingSeen(sandbox="moon"), FolderSeen("folder")],
)
def test_a_ceiling_that_cannot_be_read_is_not_no_limit(unknown: AnyObservation) -> None:
    state = PermissionsState(approval="never", sandbox="danger-full-access", mode="bypass")
    everything = ("fullAccess", "never", "adopt")
    assert granted(state, *everything, at=unknown) == ("on-request", "read-only", "normal")
    assert not ceiling(seen(unknown), TARGET).readable
    assert not ceiling({}, TARGET).readable


def test_why_a_ceiling_cannot_be_read_is_said_as_people_say_it() -> None:
    home = TARGET.here.home
    at = ceiling(seen(Unseen(f"failed: {home}/.s/settings.toml cannot be read: line 3.")), TARGET)
    assert at.problem == "~/.s/settings.toml cannot be read: line 3"
    assert ceiling(seen(Unseen("timeout")), TARGET).problem == "it took too long"
    assert ceiling({}, TARGET).problem == ""


def test_an_unreadable_ceiling_is_never_a_looser_one() -> None:
    held = PermissionsState(
        approval="untrusted", sandbox="read-only", ceiling_approval="untrusted", ceiling_sandbox="read-only"
    )
    assert raised_limits(held, ceiling(seen(UNREADABLE), TARGET)) == ()


def test_bypassing_is_asking_again_unless_it_is_chosen() -> None:
    state = PermissionsState(approval="on-request", sandbox="workspace-write", mode="bypass")
    assert granted(state) == ("on-request", "workspace-write", "normal")
    assert granted(state, "never") == ("never", "workspace-write", "normal")
    assert (
        granted(PermissionsState(approval="untrusted", sandbox="read-only", mode="bypass"))[0] == "untrusted"
    )
    assert (
        granted(PermissionsState(approval="on-failure", sandbox="read-only", mode="bypass"))[0]
        == "on-request"
    )


@pytest.mark.parametrize("limit", APPROVALS[:-1])
def test_bypassing_stays_below_the_ceiling(limit: str) -> None:
    state = PermissionsState(approval="never", sandbox="workspace-write", mode="bypass")
    at = CeilingSeen(approval=limit)
    assert not bypasses(state, ceiling(seen(at), TARGET))
    assert APPROVALS.index(granted(state, "never", at=at)[0]) <= APPROVALS.index(limit)


def test_plan_mode_stays_plan_and_writes_nothing() -> None:
    state = PermissionsState(approval="on-request", sandbox="workspace-write", mode="plan")
    assert granted(state) == ("on-request", "read-only", "plan")
    assert granted(state, "normal") == ("on-request", "workspace-write", "normal")
    loose = PermissionsState(approval="never", sandbox="danger-full-access", mode="plan")
    assert granted(loose, "fullAccess", "never") == ("never", "read-only", "plan")
    assert granted(loose, "normal") == ("on-request", "workspace-write", "normal")


@pytest.mark.parametrize(("mode", "kept"), [("auto", "auto"), ("yolo", "normal"), ("bypass", "normal")])
def test_a_mode_that_is_not_known_is_the_normal_one(mode: str, kept: str) -> None:
    state = PermissionsState(approval="on-request", sandbox="workspace-write", mode=mode)
    assert granted(state)[2] == kept


def test_an_active_goal_is_paused_unless_it_is_let_go_on() -> None:
    for status, choices, paused in (
        ("active", (), True),
        ("active", ("continue",), False),
        ("paused", (), False),
        (None, (), False),
    ):
        state = PermissionsState(objective="x", goal_status=status)
        assert grant(state, seen(), chose(*choices), TARGET).pause_goal is paused


def test_a_ceiling_that_was_raised_widens_only_what_it_held_and_only_by_choice() -> None:
    held = PermissionsState(
        approval="on-request",
        sandbox="read-only",
        ceiling_approval="on-request",
        ceiling_sandbox="workspace-write",
    )
    now = CeilingSeen(approval="on-failure", sandbox="danger-full-access")
    assert raised_limits(held, ceiling(seen(now), TARGET)) == ("approval",)
    assert granted(held, at=now) == granted(held, "keep", at=now) == ("on-request", "read-only", "normal")
    assert granted(held, "adopt", at=now) == ("on-failure", "read-only", "normal")


def test_a_ceiling_that_is_gone_is_the_widest() -> None:
    held = PermissionsState(
        approval="on-request",
        sandbox="workspace-write",
        ceiling_approval="on-request",
        ceiling_sandbox="workspace-write",
    )
    assert raised_limits(held, ceiling(seen(), TARGET)) == ("approval", "sandbox")
    assert granted(held) == ("on-request", "workspace-write", "normal")
    assert granted(held, "adopt") == ("never", "danger-full-access", "normal")


def test_adopting_does_not_turn_on_what_bypassed() -> None:
    held = PermissionsState(
        approval="on-request", sandbox="read-only", mode="bypass", ceiling_approval="on-request"
    )
    assert granted(held, "adopt")[0] == "on-request"


def widest(state: PermissionsState, result: Granted, choices: tuple[str, ...]) -> bool:
    """Whether it is within the record, or each widening was chosen."""
    known = recorded(state) or ("on-request", "read-only")
    approval = APPROVALS.index(result.approval) <= APPROVALS.index(known[0])
    sandbox = SANDBOXES.index(result.sandbox) <= SANDBOXES.index(known[1])
    approval = approval or "adopt" in choices or (state.mode == "bypass" and "never" in choices)
    sandbox = sandbox or "adopt" in choices
    unasked = result.approval != "never" or "never" in choices or "adopt" in choices
    full = result.sandbox != "danger-full-access" or "fullAccess" in choices or "adopt" in choices
    return approval and sandbox and unasked and full


OFTEN = (None, "weird")
EVERY_CHOICE = [
    choices
    for size in range(5)
    for choices in itertools.combinations(("fullAccess", "never", "adopt", "normal"), size)
]


@pytest.mark.parametrize("target", [TARGET, STARTED], ids=["told-any", "started"])
@pytest.mark.parametrize("mode", ["normal", "plan", "bypass", "auto", "weird"])
@pytest.mark.parametrize("choices", EVERY_CHOICE)
def test_never_above_the_ceiling_and_never_wider_than_the_record_unasked(
    mode: str, choices: tuple[str, ...], target: Target
) -> None:
    startable = target.here.approvals
    limits: list[AnyObservation] = [UNREADABLE]
    limits += [
        CeilingSeen(approval=a, sandbox=s)
        for a, s in itertools.product((*APPROVALS, *OFTEN), (*SANDBOXES, *OFTEN))
    ]
    given = chose(*choices)
    for approval, sandbox in itertools.product((*APPROVALS, *OFTEN), (*SANDBOXES, *OFTEN)):
        for then in (None, "on-request", approval):
            state = PermissionsState(
                approval=approval,
                sandbox=sandbox,
                mode=mode,
                ceiling_approval=then,
                ceiling_sandbox=sandbox if then else None,
            )
            for limit in limits:
                result = grant(state, seen(limit), given, target)
                top = ceiling(seen(limit), target)
                assert startable is None or result.approval in startable
                assert APPROVALS.index(result.approval) <= APPROVALS.index(top.approval)
                assert SANDBOXES.index(result.sandbox) <= SANDBOXES.index(top.sandbox)
                if result.unstartable and APPROVALS.index(result.approval) > APPROVALS.index(
                    result.unstartable
                ):
                    assert result.sandbox == "read-only"
                else:
                    assert widest(state, result, choices), (state, limit, result)
                assert result.mode in ("normal", "auto", "plan")
                assert (result.mode == "plan") == (mode == "plan" and "normal" not in choices)
                assert result.mode != "plan" or result.sandbox == "read-only"


def test_the_record_under_the_ceiling() -> None:
    state = PermissionsState(approval="on-failure", sandbox="workspace-write")
    at = ceiling(seen(CeilingSeen(approval="untrusted", sandbox="read-only")), TARGET)
    assert capped(state, at) == ("untrusted", "read-only")


@pytest.mark.parametrize(
    ("approval", "started"),
    [
        ("untrusted", ("on-request", "read-only")),
        ("on-request", ("on-request", "workspace-write")),
        ("on-failure", ("on-request", "workspace-write")),
        ("never", ("never", "workspace-write")),
    ],
)
def test_what_it_cannot_be_started_with_is_a_stricter_one_or_writes_nothing(
    approval: str, started: tuple[str, str]
) -> None:
    assert as_started(approval, "workspace-write", LIMITED) == started
    assert as_started(approval, "workspace-write", None) == (approval, "workspace-write")
    wanted = "" if approval in LIMITED else approval
    never = PermissionsState(approval="never", sandbox="workspace-write")
    for state, limit in (
        (msgspec.structs.replace(never, approval=approval), CeilingSeen()),
        (never, CeilingSeen(approval=approval)),
    ):
        result = grant(state, seen(limit), chose("never"), STARTED)
        assert (result.approval, result.sandbox, result.unstartable) == (*started, wanted)


def test_full_access_is_not_asked_for_where_it_could_not_be_started() -> None:
    state = PermissionsState(approval="untrusted", sandbox="danger-full-access")
    assert capped(state, ceiling(seen(), STARTED)) == ("on-request", "read-only")
    assert capped(state, ceiling(seen(), TARGET)) == ("untrusted", "danger-full-access")


def test_what_a_limit_made_of_it_is_given_back_only_by_choice_once_it_is_gone() -> None:
    held = PermissionsState(
        approval="on-request",
        sandbox="read-only",
        ceiling_approval="on-request",
        ceiling_sandbox="read-only",
    )
    at = ceiling(seen(CeilingSeen(approval="untrusted")), STARTED)
    assert (at.approval, at.sandbox, at.declared) == ("on-request", "read-only", "untrusted")
    assert raised_limits(held, at) == ()
    lifted = CeilingSeen(approval="on-request", sandbox="workspace-write")
    assert raised_limits(held, ceiling(seen(lifted), STARTED)) == ("sandbox",)


def test_a_choice_is_found_by_its_kind() -> None:
    assert chosen(chose("adopt"), DriftKind.POLICY_LOOSER) == "adopt"
    assert chosen({}, DriftKind.POLICY_LOOSER) is None


def test_a_limit_on_asking_never_held_the_sandbox_down() -> None:
    limited = ceiling(seen(CeilingSeen(approval="untrusted")), STARTED)
    assert (limited.approval, limited.sandbox) == ("on-request", "read-only")
    held = PermissionsState(
        approval="on-request",
        sandbox="read-only",
        ceiling_approval=limited.declared,
        ceiling_sandbox=limited.declared_sandbox,
    )
    free = ceiling(seen(), STARTED)
    assert raised_limits(held, free) == ()
    granted = grant(held, seen(), chose("adopt"), STARTED)
    assert (granted.approval, granted.sandbox) == ("on-request", "read-only")
