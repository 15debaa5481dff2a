"""What the agent may do: from the record, under the ceiling, never wider without a choice.

A missing record is read-only and on-request. Bypass is never restored unasked; a prompt's text
never counts.
"""

from typing import ClassVar

import msgspec

from resumed.protocol.restore import Difference, Drift, DriftKind, Status
from resumed.protocol.threads import PermissionsView
from resumed.restore.drift import Wording, asked, drift_id, informed
from resumed.restore.events.envelope import Event, Payload
from resumed.restore.events.session import PermissionsSet, SessionMeta
from resumed.restore.probes import AnyProbe, CeilingProbe, CeilingSeen, Seen
from resumed.restore.steps import RecordState, Step
from resumed.restore.subsystem import Choices, Restoration, Target
from resumed.restore.wording import APPROVAL_WORDS, SANDBOX_WORDS, agent_name, one_line

APPROVALS = ("untrusted", "on-request", "on-failure", "never")
SANDBOXES = ("read-only", "workspace-write", "danger-full-access")
SAFE_APPROVAL, SAFE_SANDBOX = "on-request", "read-only"


class PermissionsState(msgspec.Struct, kw_only=True):
    """The last of each that the record says; `None` where it says nothing."""

    approval: str | None = None
    sandbox: str | None = None
    profile: str | None = None
    mode: str = "normal"
    objective: str | None = None
    goal_status: str | None = None
    ceiling_approval: str | None = None
    ceiling_sandbox: str | None = None


class Granted(msgspec.Struct, frozen=True, kw_only=True):
    """What the new run starts with."""

    approval: str
    sandbox: str
    mode: str
    pause_goal: bool


class Permissions:
    """See the module."""

    name: ClassVar[str] = "permissions"
    version: ClassVar[int] = 1
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
        ceiling = _ceiling(seen, target)
        approval, sandbox = _capped(state, ceiling)
        found = [
            _loose_sandbox(state) if sandbox == SANDBOXES[-1] else None,
            _loose_approval(state) if approval == APPROVALS[-1] or state.mode == "bypass" else None,
            _stricter(state, approval, sandbox, ceiling),
            _looser(state, ceiling),
            _plan(target) if state.mode == "plan" else None,
            _goal(state, target) if state.goal_status == "active" else None,
        ]
        return tuple(drift for drift in found if drift is not None)

    def steps(self, state: PermissionsState, seen: Seen, choices: Choices, target: Target) -> Restoration:
        """Record what the new run may do."""
        granted = grant(state, seen, choices, target)
        ceiling = _ceiling(seen, target)
        event: dict[str, object] = {
            "cause": "restore",
            "approval": granted.approval,
            "sandbox": granted.sandbox,
            "mode": granted.mode,
            "ceiling_approval": ceiling.approval,
            "ceiling_sandbox": ceiling.sandbox,
        }
        if granted.pause_goal:
            event["goal"] = {"objective": state.objective or "", "status": "paused"}
        missing = state.approval is None or state.sandbox is None
        step = Step(
            subsystem=self.name,
            title="Record what it may do",
            do=RecordState(events=(("permissions_set", event),)),
        )
        told = []
        if granted.mode == "plan":
            told.append("You are still in plan mode: propose, do not edit.")
        if granted.pause_goal:
            told.append(f"Your goal “{one_line(state.objective or '')}” is paused until the user says so.")
        return Restoration(
            status=Status.DEFAULTED if missing else Status.RESTORED,
            reason="the record does not say; the safest was taken" if missing else _source(state, granted),
            summary=(
                f"{APPROVAL_WORDS[granted.approval]}, {SANDBOX_WORDS[granted.sandbox]}: "
                f"{_compared(state, granted)}"
            ),
            steps=(step,),
            told=tuple(told),
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


def grant(state: PermissionsState, seen: Seen, choices: Choices, target: Target) -> Granted:
    """Combine record, ceiling and choices. Without a choice the stricter is taken each time."""
    approval, sandbox = _capped(state, _ceiling(seen, target))
    if state.approval is None or state.sandbox is None:
        approval, sandbox = _stricter_of(APPROVALS, approval, SAFE_APPROVAL), SAFE_SANDBOX
    if sandbox == SANDBOXES[-1] and _choice(choices, DriftKind.FULL_ACCESS) != "fullAccess":
        sandbox = "workspace-write"
    bypassing = approval == APPROVALS[-1] or state.mode == "bypass"
    if bypassing:
        approval = "never" if _choice(choices, DriftKind.NEVER_ASK) == "never" else SAFE_APPROVAL
    if _choice(choices, DriftKind.POLICY_LOOSER) == "adopt":
        ceiling = _ceiling(seen, target)
        approval, sandbox = ceiling.approval or approval, ceiling.sandbox or sandbox
    mode = "normal" if state.mode == "bypass" else state.mode
    if state.mode == "plan":
        mode = "normal" if _choice(choices, DriftKind.PLAN_MODE) == "normal" else "plan"
        sandbox = SAFE_SANDBOX if mode == "plan" else sandbox
    pause = state.goal_status == "active" and _choice(choices, DriftKind.ACTIVE_GOAL) != "continue"
    return Granted(approval=approval, sandbox=sandbox, mode=mode, pause_goal=pause)


def _choice(choices: Choices, kind: DriftKind) -> str | None:
    answer = choices.get(drift_id(kind))
    return answer.choice if answer else None


def _stricter_of(scale: tuple[str, ...], first: str | None, second: str | None) -> str:
    known = [scale.index(value) for value in (first, second) if value in scale]
    return scale[min(known)] if known else scale[0]


def _ceiling(seen: Seen, target: Target) -> CeilingSeen:
    observation = seen.get(CeilingProbe(target.here.agent))
    if isinstance(observation, CeilingSeen):
        return observation
    # A ceiling that can't be read is not "no limit": the safest is taken instead.
    return CeilingSeen(approval=SAFE_APPROVAL, sandbox=SAFE_SANDBOX, source="a policy that could not be read")


def _capped(state: PermissionsState, ceiling: CeilingSeen) -> tuple[str, str]:
    approval = _stricter_of(APPROVALS, state.approval or SAFE_APPROVAL, ceiling.approval)
    sandbox = _stricter_of(SANDBOXES, state.sandbox or SAFE_SANDBOX, ceiling.sandbox)
    return approval, sandbox


def _loose_sandbox(state: PermissionsState) -> Drift:
    wording = Wording(
        title="Last time it could change anything on this computer.",
        reason="We never turn that back on by ourselves.",
        labels={
            "workspaceWrite": "Let it write only in this folder",
            "fullAccess": "Full access, this run only",
        },
    )
    return asked(
        DriftKind.FULL_ACCESS,
        wording,
        differences=(Difference(what="may change", recorded="anything", now="your choice"),),
        facts={"sandbox": state.sandbox or ""},
    )


def _loose_approval(state: PermissionsState) -> Drift:
    wording = Wording(
        title="Last time it ran without asking you.",
        reason="We never turn that back on by ourselves.",
        labels={"onRequest": "Start with questions on", "never": "Without questions, this run only"},
    )
    return asked(
        DriftKind.NEVER_ASK,
        wording,
        differences=(Difference(what="asks", recorded="never", now="your choice"),),
        facts={"approval": state.approval or "", "mode": state.mode},
    )


def _stricter(state: PermissionsState, approval: str, sandbox: str, ceiling: CeilingSeen) -> Drift | None:
    wanted = (state.approval or approval, state.sandbox or sandbox)
    if (approval, sandbox) == wanted:
        return None
    return informed(
        DriftKind.POLICY_STRICTER,
        Wording(
            title="The policy here allows less than this conversation had.",
            reason=f"The policy is kept ({ceiling.source or 'policy'}).",
        ),
        differences=(
            Difference(what="asks", recorded=wanted[0], now=approval),
            Difference(what="may change", recorded=wanted[1], now=sandbox),
        ),
        facts={"approval": approval, "sandbox": sandbox},
    )


def _looser(state: PermissionsState, ceiling: CeilingSeen) -> Drift | None:
    """Only where the record was held down by the ceiling of its time, which has been raised since."""
    raised = [
        what
        for what, scale, recorded, then, now in (
            ("asks", APPROVALS, state.approval, state.ceiling_approval, ceiling.approval),
            ("may change", SANDBOXES, state.sandbox, state.ceiling_sandbox, ceiling.sandbox),
        )
        if then is not None and recorded == then and _rank(scale, now) > scale.index(then)
    ]
    if not raised:
        return None
    return asked(
        DriftKind.POLICY_LOOSER,
        Wording(
            title="The policy here allows more than this conversation had.",
            reason="It was held to less when it stopped. Nothing is widened by itself.",
            labels={"keep": "Keep what it had", "adopt": "Allow what the policy allows now"},
        ),
        differences=tuple(Difference(what=what, recorded="less", now="more allowed") for what in raised),
        facts={"approval": ceiling.approval or "any", "sandbox": ceiling.sandbox or "any"},
    )


def _rank(scale: tuple[str, ...], value: str | None) -> int:
    return scale.index(value) if value in scale else len(scale)


def _plan(target: Target) -> Drift:
    return asked(
        DriftKind.PLAN_MODE,
        Wording(
            title="It was still planning.",
            reason=f"{agent_name(target.here.agent)} was in plan mode and had not been allowed to edit.",
            labels={"plan": "Stay in plan mode", "normal": "Let it edit"},
            details={"plan": "It may read, and write nothing."},
        ),
        differences=(Difference(what="mode", recorded="plan", now="your choice"),),
    )


def _goal(state: PermissionsState, target: Target) -> Drift:
    agent = agent_name(target.here.agent)
    return asked(
        DriftKind.ACTIVE_GOAL,
        Wording(
            title="It has a goal that it pursues by itself.",
            reason=f"Without a message from you {agent} would work on “{one_line(state.objective or '')}”.",
            labels={"pause": "Start paused", "continue": "Let it continue by itself"},
        ),
        differences=(Difference(what="goal", recorded="active", now="your choice"),),
        facts={"objective": state.objective or ""},
    )


def _compared(state: PermissionsState, granted: Granted) -> str:
    if state.approval is None or state.sandbox is None:
        return "the record does not say"
    if (granted.approval, granted.sandbox) == (state.approval, state.sandbox):
        return "as before, nothing wider"
    wider = APPROVALS.index(granted.approval) > _rank(APPROVALS, state.approval) or SANDBOXES.index(
        granted.sandbox
    ) > _rank(SANDBOXES, state.sandbox)
    return "more than before, as you chose" if wider else "less than before, nothing wider"


def _source(state: PermissionsState, granted: Granted) -> str:
    same = (granted.approval, granted.sandbox) == (state.approval, state.sandbox)
    return "taken from the record" if same else "taken from the record, the policy and your answers"


PERMISSIONS = Permissions()
