"""What the agent may do: from the record, under the ceiling, never wider without a choice.

A missing record is read-only and on-request. Bypass is never restored unasked; a prompt's text
never counts.
"""

from typing import ClassVar

from resumed.protocol.restore import Drift, Status
from resumed.protocol.threads import PermissionsView
from resumed.restore import permission_wording
from resumed.restore.events.envelope import Event, Payload
from resumed.restore.events.session import PermissionsSet, SessionMeta
from resumed.restore.permission_grant import (
    SANDBOXES,
    Ceiling,
    Granted,
    PermissionsState,
    bypasses,
    capped,
    ceiling,
    grant,
    recorded,
)
from resumed.restore.probes import AnyProbe, CeilingProbe, Seen
from resumed.restore.steps import RecordState, Step
from resumed.restore.subsystem import Choices, Restoration, Target


class Permissions:
    """See the module."""

    name: ClassVar[str] = "permissions"
    version: ClassVar[int] = 2
    after: ClassVar[tuple[str, ...]] = ("worktree",)
    handles: ClassVar[tuple[type[Payload], ...]] = (SessionMeta, PermissionsSet)
    state_type: ClassVar[type[PermissionsState]] = PermissionsState

    def initial(self) -> PermissionsState:
        """Nothing is recorded."""
        return PermissionsState()

    def apply(self, state: PermissionsState, event: Event) -> PermissionsState:
        """Fold one event in; a field that was not said stays."""
        match event.payload:
            case SessionMeta() as meta:
                state.approval = meta.approval_mode or state.approval
                state.sandbox = meta.sandbox_policy or state.sandbox
                state.profile = meta.tool_profile or state.profile
            case PermissionsSet() as said:
                state.approval = said.approval or state.approval
                if said.sandbox is not None or said.directories:
                    state.directories = said.directories
                state.sandbox = said.sandbox or state.sandbox
                state.profile = said.profile or state.profile
                state.mode = said.mode or state.mode
                if said.goal is not None:
                    state.objective, state.goal_status = said.goal.objective, said.goal.status
                if said.cause in ("start", "restore"):
                    state.ceiling_approval = said.ceiling_approval
                    state.ceiling_sandbox = said.ceiling_sandbox
        return state

    def probes(self, state: PermissionsState, target: Target) -> tuple[AnyProbe, ...]:
        """The ceiling of a managed policy or our own settings."""
        return (CeilingProbe(target.here.agent),)

    def drift(self, state: PermissionsState, seen: Seen, target: Target) -> tuple[Drift, ...]:
        """Loose records, a changed ceiling, plan mode, an active goal."""
        limit = ceiling(seen, target)
        found = [
            permission_wording.loose_sandbox() if capped(state, limit)[1] == SANDBOXES[-1] else None,
            permission_wording.loose_approval() if bypasses(state, limit) else None,
            permission_wording.stricter(state, limit, target),
            permission_wording.looser(state, limit),
            permission_wording.plan_mode(target) if state.mode == "plan" else None,
            permission_wording.active_goal(state, target) if state.goal_status == "active" else None,
        ]
        return tuple(drift for drift in found if drift is not None)

    def steps(self, state: PermissionsState, seen: Seen, choices: Choices, target: Target) -> Restoration:
        """Record what the new run may do."""
        granted = grant(state, seen, choices, target)
        limit = ceiling(seen, target)
        known = recorded(state)
        if known is None:
            reason = "the record does not say; the safest was taken"
        elif known == (granted.approval, granted.sandbox):
            reason = "taken from the record"
        else:
            reason = "taken from the record, the policy and your answers"
        return Restoration(
            status=Status.DEFAULTED if known is None else Status.RESTORED,
            reason=reason,
            summary=permission_wording.summary(state, granted, target),
            steps=(
                Step(
                    subsystem=self.name,
                    title="Record what it may do",
                    do=RecordState(events=(("permissions_set", _event(limit, granted)),)),
                ),
            ),
            told=permission_wording.told(state, granted, target),
            unknown=permission_wording.not_known(limit),
            now=permission_wording.settled(state, granted),
        )

    def view(self, state: PermissionsState) -> PermissionsView:
        """What the record allowed last."""
        return PermissionsView(
            approval=state.approval,
            sandbox=state.sandbox,
            profile=state.profile,
            mode=state.mode,
            goal=state.objective,
            goal_status=state.goal_status,
        )


def _event(limit: Ceiling, granted: Granted) -> dict[str, object]:
    # A goal is not recorded as paused: only the agent can pause it, and it may never be started.
    return {
        "cause": "restore",
        "approval": granted.approval,
        "sandbox": granted.sandbox,
        "mode": granted.mode,
        "ceiling_approval": limit.declared,
        "ceiling_sandbox": limit.declared_sandbox,
    }


PERMISSIONS = Permissions()
