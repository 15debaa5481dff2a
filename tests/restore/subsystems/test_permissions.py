import msgspec
import pytest

from resumed.protocol.restore import Answer, Status
from resumed.protocol.threads import PermissionsView
from resumed.restore.events.envelope import Payload
from resumed.restore.events.session import Goal, PermissionsSet, SessionMeta
from resumed.restore.permission_grant import PermissionsState
from resumed.restore.probes import AnyObservation, CeilingProbe, CeilingSeen, Seen, Unseen
from resumed.restore.steps import RecordState
from resumed.restore.subsystem import Restoration
from resumed.restore.subsystems.permissions import PERMISSIONS
from tests.support.events import TARGET, assert_stores_anywhere, event, folded, session_meta
from tests.support.story import permitted


def state(*payloads: Payload) -> PermissionsState:
    result = folded(PERMISSIONS, [event(payload) for payload in payloads])
    assert isinstance(result, PermissionsState)
    return result


def seen(observation: AnyObservation | None = None) -> Seen:
    return {CeilingProbe("codex"): observation or CeilingSeen()}


def kinds(folded_state: PermissionsState, at: AnyObservation | None = None) -> list[str]:
    return [drift.kind.value for drift in PERMISSIONS.drift(folded_state, seen(at), TARGET)]


def restored(
    folded_state: PermissionsState, *, at: AnyObservation | None = None, **choices: str
) -> Restoration:
    answers = {f"permissions.{kind}": Answer(choice=choice) for kind, choice in choices.items()}
    return PERMISSIONS.steps(folded_state, seen(at), answers, TARGET)


def written(restoration: Restoration) -> dict[str, object]:
    (step,) = restoration.steps
    assert isinstance(step.do, RecordState)
    ((name, fields),) = step.do.events
    assert name == "permissions_set"
    return fields


def test_a_field_that_was_not_said_stays() -> None:
    said = state(
        permitted("never", "read-only", mode="plan", goal="active"),
        PermissionsSet(cause="user", approval="on-request"),
    )
    assert PERMISSIONS.view(said) == PermissionsView(
        approval="on-request",
        sandbox="read-only",
        profile=None,
        mode="plan",
        goal="make all tests pass",
        goal_status="active",
    )


def test_the_first_line_of_a_run_counts() -> None:
    meta = msgspec.structs.replace(
        session_meta(), approval_mode="on-request", sandbox_policy="read-only", tool_profile="small"
    )
    assert isinstance(meta, SessionMeta)
    view = PERMISSIONS.view(state(meta))
    assert (view.approval, view.sandbox, view.profile) == ("on-request", "read-only", "small")
    assert PERMISSIONS.view(state(meta, session_meta())).approval == "on-request"


def test_the_ceiling_of_the_time_is_that_of_the_start() -> None:
    held = state(permitted(ceiling=("on-request", None)), PermissionsSet(cause="user", approval="untrusted"))
    assert held.ceiling_approval == "on-request"
    assert state(permitted(ceiling=("on-request", None)), permitted()).ceiling_approval is None


def test_the_state_can_be_stored_anywhere() -> None:
    changes = [permitted("never"), permitted(mode="plan"), PermissionsSet(cause="user", sandbox="read-only")]
    assert_stores_anywhere(PERMISSIONS, [event(payload) for payload in changes])


def test_it_looks_at_the_ceiling_of_the_agent() -> None:
    assert PERMISSIONS.probes(state(), TARGET) == (CeilingProbe("codex"),)


@pytest.mark.parametrize(
    ("said", "at", "found"),
    [
        (permitted(), None, []),
        (permitted("never"), None, ["neverAsk"]),
        (permitted(sandbox="danger-full-access"), None, ["fullAccess"]),
        (permitted("never", "danger-full-access"), None, ["fullAccess", "neverAsk"]),
        (permitted("never"), CeilingSeen(approval="on-request"), ["policyStricter"]),
        (permitted(sandbox="danger-full-access"), CeilingSeen(sandbox="read-only"), ["policyStricter"]),
        (permitted(mode="bypass"), None, ["neverAsk"]),
        (permitted(mode="bypass"), CeilingSeen(approval="untrusted"), ["policyStricter"]),
        (permitted(mode="plan"), None, ["planMode"]),
        (permitted(goal="active"), None, ["activeGoal"]),
        (permitted(goal="paused"), None, []),
        (permitted(), Unseen("failed"), ["policyStricter"]),
        (permitted(ceiling=("on-request", None)), None, ["policyLooser"]),
        (permitted(ceiling=("on-request", None)), Unseen("failed"), ["policyStricter"]),
        (permitted(None, "danger-full-access"), None, []),
        (permitted("never", None), None, []),
        (permitted(None, None, mode="bypass"), None, ["neverAsk"]),
    ],
)
def test_what_is_asked(said: PermissionsSet, at: AnyObservation | None, found: list[str]) -> None:
    assert kinds(state(said), at) == found


def test_what_it_may_do_is_recorded_with_the_ceiling() -> None:
    fields = written(restored(state(permitted()), at=CeilingSeen(approval="on-failure")))
    assert fields == {
        "cause": "restore",
        "approval": "on-request",
        "sandbox": "workspace-write",
        "mode": "normal",
        "ceiling_approval": "on-failure",
        "ceiling_sandbox": "danger-full-access",
    }


def test_the_ceiling_is_recorded_as_declared_not_as_started() -> None:
    here = msgspec.structs.replace(TARGET.here, approvals=("on-request", "never"))
    started = msgspec.structs.replace(TARGET, here=here)
    limit = seen(CeilingSeen(approval="untrusted"))
    fields = written(PERMISSIONS.steps(state(permitted()), limit, {}, started))
    assert (fields["approval"], fields["sandbox"]) == ("on-request", "read-only")
    assert (fields["ceiling_approval"], fields["ceiling_sandbox"]) == ("untrusted", "danger-full-access")


def test_what_is_recorded_folds_to_what_was_granted() -> None:
    loose = state(permitted("never", "danger-full-access", goal="active"))
    fields = written(restored(loose))
    again = PERMISSIONS.apply(loose, event(msgspec.convert(fields, PermissionsSet)))
    # Whether the agent's own goal is paused is for the agent to say.
    assert kinds(again) == ["activeGoal"]
    assert (again.approval, again.sandbox, again.goal_status) == ("on-request", "workspace-write", "active")


def test_a_missing_record_is_defaulted() -> None:
    restoration = restored(state())
    assert (restoration.status, restoration.summary) == (
        Status.DEFAULTED,
        "asks on request, reads only: the record does not say",
    )
    assert restored(state(permitted("granular"))).status is Status.DEFAULTED


def test_the_agent_is_told_of_plan_mode_and_of_its_goal() -> None:
    restoration = restored(state(permitted(mode="plan", goal="active")))
    assert restoration.told == (
        "You are still in plan mode: propose, do not edit.",
        "Your goal “make all tests pass” is paused until the user says so.",
    )
    assert "goal" not in written(restoration)
    free = restored(state(permitted(mode="plan", goal="active")), planMode="normal", activeGoal="continue")
    assert (free.told, "goal" in written(free)) == (
        (
            "You are not in plan mode any more: the user lets you edit.",
            "Your goal “make all tests pass” goes on: the user lets you pursue it by yourself.",
            "What you may do has changed: you ask on request and may change only this folder.",
        ),
        False,
    )


def test_the_agent_is_told_of_what_it_may_do_only_where_that_changed() -> None:
    assert restored(state(permitted())).told == ()
    assert restored(state(permitted("never")), neverAsk="never").told == ()
    assert restored(state(permitted("never"))).told == (
        "What you may do has changed: you ask on request and may change only this folder.",
    )
    unasked = restored(state(permitted(mode="bypass", sandbox="danger-full-access")), neverAsk="never")
    assert unasked.told == ("What you may do has changed: you need not ask and may change only this folder.",)
    assert restored(state()).told == ()


def test_further_folders_are_named_and_not_passed_on() -> None:
    wide = PermissionsSet(
        cause="turn",
        approval="on-request",
        sandbox="workspace-write",
        directories=("/home/kim/lib", "/srv/x"),
    )
    restoration = restored(state(wide))
    assert restoration.summary.endswith("; not passed on: writing to ~/lib, /srv/x")
    assert restoration.told == (
        "You could also write to ~/lib, /srv/x. That was not passed on: ask before you do.",
    )
    assert "directories" not in written(restoration)
    later = state(wide, PermissionsSet(cause="turn", sandbox="workspace-write"))
    assert later.directories == ()
    assert state(wide, PermissionsSet(cause="user", mode="plan")).directories == wide.directories
    full = restored(
        state(permitted(sandbox="danger-full-access"), PermissionsSet(cause="u", directories=("/x",))),
        fullAccess="fullAccess",
    )
    assert full.told == ()


def test_what_became_of_each_difference_is_said() -> None:
    loose = state(permitted("never", "danger-full-access", mode="plan", goal="active"))
    assert restored(loose).now == {
        "asks": "on request",
        "may change": "nothing",
        "mode": "plan",
        "goal": "paused",
    }
    free = restored(
        loose, neverAsk="never", fullAccess="fullAccess", planMode="normal", activeGoal="continue"
    )
    assert free.now == {"asks": "never", "may change": "anything", "mode": "may edit", "goal": "active"}


def test_where_it_comes_from_is_said() -> None:
    assert restored(state(permitted())).reason == "taken from the record"
    loose = restored(state(permitted("never")), neverAsk="never")
    assert (loose.reason, loose.status) == ("taken from the record", Status.RESTORED)
    assert restored(state(permitted("never"))).reason == "taken from the record, the policy and your answers"


def test_a_ceiling_that_cannot_be_read_is_not_known() -> None:
    assert restored(state(permitted()), at=Unseen("x")).unknown == ("what the policy here allows",)
    why = Unseen("failed: /etc/codex/requirements.toml cannot be read: line 3")
    assert restored(state(permitted()), at=why).unknown == (
        "what the policy here allows (/etc/codex/requirements.toml cannot be read: line 3)",
    )
    assert restored(state(permitted())).unknown == ()


def test_goals_are_recorded_with_their_status() -> None:
    goal = PermissionsSet(cause="agent", goal=Goal(objective="other", status="complete"))
    assert kinds(state(permitted(goal="active"), goal)) == []
