"""What a new run may do, decided from the record, the ceiling, the choices and what can be started.

Never wider than the record without an explicit choice, and never above the ceiling with one. What is
not on the scales counts as not recorded; a ceiling that can't be read is the safest, not "no limit".
What the agent can't be started with is a stricter one that it can; where none asks as often, it only reads.
"""

import msgspec

from resumed.protocol.restore import DriftKind
from resumed.restore.drift import drift_id
from resumed.restore.probes import CeilingProbe, CeilingSeen, Seen, Unseen
from resumed.restore.subsystem import Choices, Target
from resumed.restore.wording import failure_words

APPROVALS = ("untrusted", "on-request", "on-failure", "never")
SANDBOXES = ("read-only", "workspace-write", "danger-full-access")
SAFE_APPROVAL, SAFE_SANDBOX = "on-request", "read-only"
KEPT_MODES = ("normal", "plan", "auto")


class PermissionsState(msgspec.Struct, kw_only=True):
    """The last of each that the record says; `None` where it says nothing. `directories` may be written
    to beside the folder itself; they are never granted again."""

    approval: str | None = None
    sandbox: str | None = None
    profile: str | None = None
    mode: str = "normal"
    objective: str | None = None
    goal_status: str | None = None
    ceiling_approval: str | None = None
    ceiling_sandbox: str | None = None
    directories: tuple[str, ...] = ()


class Ceiling(msgspec.Struct, frozen=True, kw_only=True):
    """The widest that is allowed and that the agent can be started with. `readable` is false when it
    could not be told; then it is the safest, and `problem` says why, for people, where that is known.
    `source` names where it comes from. `startable` are the approvals that the agent can be started
    with (`None`: all), `declared` and `declared_sandbox` are what is allowed, whether it can be started
    so or not."""

    approval: str
    sandbox: str
    readable: bool
    source: str = ""
    problem: str = ""
    declared: str
    declared_sandbox: str
    startable: tuple[str, ...] | None = None


class Granted(msgspec.Struct, frozen=True, kw_only=True):
    """What the new run starts with. `unstartable` is the approval that it would have, had the agent a
    way to be started with it; `approval` and `sandbox` stand for it."""

    approval: str
    sandbox: str
    mode: str
    pause_goal: bool
    unstartable: str = ""


def grant(state: PermissionsState, seen: Seen, choices: Choices, target: Target) -> Granted:
    """Combine record, ceiling and choices. Without a choice the stricter is taken each time."""
    limit = ceiling(seen, target)
    approval, sandbox = capped(state, limit)
    raised = raised_limits(state, limit) if chosen(choices, DriftKind.POLICY_LOOSER) == "adopt" else ()
    if "sandbox" in raised:
        sandbox = limit.sandbox
    elif sandbox == SANDBOXES[-1] and chosen(choices, DriftKind.FULL_ACCESS) != "fullAccess":
        sandbox = "workspace-write"
    wanted = _wanted(state, limit)
    if bypasses(state, limit):
        if chosen(choices, DriftKind.NEVER_ASK) == "never":
            approval = wanted = APPROVALS[-1]
        else:
            approval = _stricter(APPROVALS, approval, SAFE_APPROVAL)
    elif "approval" in raised:
        approval, wanted = limit.approval, limit.declared
    asks_less = APPROVALS.index(approval) > APPROVALS.index(wanted)
    mode = state.mode if state.mode in KEPT_MODES else "normal"
    if mode == "plan" and chosen(choices, DriftKind.PLAN_MODE) == "normal":
        mode = "normal"
    return Granted(
        approval=_stricter(APPROVALS, approval, limit.approval),
        sandbox=SAFE_SANDBOX if mode == "plan" or asks_less else _stricter(SANDBOXES, sandbox, limit.sandbox),
        mode=mode,
        pause_goal=state.goal_status == "active" and chosen(choices, DriftKind.ACTIVE_GOAL) != "continue",
        unstartable="" if limit.startable is None or wanted in limit.startable else wanted,
    )


def ceiling(seen: Seen, target: Target) -> Ceiling:
    """What a managed policy or our own settings allow at most, as the agent can be started with it."""
    startable = target.here.approvals
    observation = seen.get(CeilingProbe(target.here.agent))
    if isinstance(observation, CeilingSeen):
        approval = observation.approval or APPROVALS[-1]
        sandbox = observation.sandbox or SANDBOXES[-1]
        if approval in APPROVALS and sandbox in SANDBOXES:
            top, most = as_started(approval, sandbox, startable)
            return Ceiling(
                approval=top,
                sandbox=most,
                readable=True,
                source=observation.source,
                startable=startable,
                declared=approval,
                declared_sandbox=sandbox,
            )
    reason = observation.reason if isinstance(observation, Unseen) else ""
    problem = failure_words(reason, *target.here.homes)
    top, most = as_started(SAFE_APPROVAL, SAFE_SANDBOX, startable)
    return Ceiling(
        approval=top,
        sandbox=most,
        readable=False,
        problem=problem,
        startable=startable,
        declared=SAFE_APPROVAL,
        declared_sandbox=SAFE_SANDBOX,
    )


def as_started(approval: str, sandbox: str, startable: tuple[str, ...] | None) -> tuple[str, str]:
    """What these become for an agent that can be started with the `startable` approvals only.

    The next stricter approval stands for one that is missing. Where there is none, the strictest that
    there is comes with a sandbox in which nothing can be changed unasked."""
    if startable is None or approval in startable:
        return approval, sandbox
    known = [each for each in APPROVALS if each in startable]
    stricter = [each for each in known if APPROVALS.index(each) < APPROVALS.index(approval)]
    return (stricter[-1], sandbox) if stricter else (known[0], SAFE_SANDBOX)


def recorded(state: PermissionsState) -> tuple[str, str] | None:
    """The approval and sandbox on record; `None` unless both are there and known."""
    if state.approval in APPROVALS and state.sandbox in SANDBOXES:
        return state.approval, state.sandbox
    return None


def capped(state: PermissionsState, limit: Ceiling) -> tuple[str, str]:
    """What the record allowed, the ceiling allows and the agent can be started with; without a record
    the safest."""
    known = recorded(state)
    if known is None:
        approval = state.approval if state.approval in APPROVALS else SAFE_APPROVAL
        known = _stricter(APPROVALS, approval, SAFE_APPROVAL), SAFE_SANDBOX
    approval, sandbox = as_started(*known, limit.startable)
    return _stricter(APPROVALS, approval, limit.approval), _stricter(SANDBOXES, sandbox, limit.sandbox)


def bypasses(state: PermissionsState, limit: Ceiling) -> bool:
    """Whether it ran without asking, and the ceiling still allows that."""
    unasked = state.mode == "bypass" or capped(state, limit)[0] == APPROVALS[-1]
    return unasked and limit.approval == APPROVALS[-1]


def raised_limits(state: PermissionsState, limit: Ceiling) -> tuple[str, ...]:
    """Of `approval` and `sandbox`, those that only the ceiling held down when this was recorded,
    and that it would let go further now."""
    known = recorded(state)
    if known is None or not limit.readable:
        return ()
    raised = []
    if known[0] == state.ceiling_approval and APPROVALS.index(limit.approval) > APPROVALS.index(known[0]):
        raised.append("approval")
    if known[1] == state.ceiling_sandbox and SANDBOXES.index(limit.sandbox) > SANDBOXES.index(known[1]):
        raised.append("sandbox")
    return tuple(raised)


def chosen(choices: Choices, kind: DriftKind) -> str | None:
    """The choice taken for a kind of the permissions."""
    answer = choices.get(drift_id(kind))
    return answer.choice if answer else None


def _wanted(state: PermissionsState, limit: Ceiling) -> str:
    """The approval of the record under the ceiling, whether the agent can be started with it or not."""
    approval = state.approval if state.approval in APPROVALS else SAFE_APPROVAL
    return _stricter(APPROVALS, approval, limit.declared)


def _stricter(scale: tuple[str, ...], first: str, second: str) -> str:
    return scale[min(scale.index(first), scale.index(second))]
