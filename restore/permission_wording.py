"""The questions about what the agent may do, and how what it got compares, in words for people."""

from resumed.protocol.restore import Difference, Drift, DriftKind
from resumed.restore.drift import Wording, asked, informed
from resumed.restore.permission_grant import (
    APPROVALS,
    SANDBOXES,
    Ceiling,
    Granted,
    PermissionsState,
    as_started,
    bypasses,
    capped,
    raised_limits,
    recorded,
)
from resumed.restore.subsystem import Target
from resumed.restore.wording import (
    APPROVAL_WORDS,
    SANDBOX_WORDS,
    agent_name,
    capital,
    listed,
    one_line,
    sentence,
    short_path,
)

ASKS, MAY_CHANGE, MODE, GOAL = "asks", "may change", "mode", "goal"
YOUR_CHOICE = "your choice"
POLICY = "what the policy here allows"
# In a column beside those names.
ASKS_WORDS = {
    "untrusted": "before most commands",
    "on-request": "on request",
    "on-failure": "when a command fails",
    "never": "never",
}
MAY_CHANGE_WORDS = {
    "read-only": "nothing",
    "workspace-write": "only this folder",
    "danger-full-access": "anything",
}


def loose_sandbox() -> Drift:
    """It could change anything."""
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
        differences=(Difference(what=MAY_CHANGE, recorded=MAY_CHANGE_WORDS[SANDBOXES[-1]], now=YOUR_CHOICE),),
    )


def loose_approval() -> Drift:
    """It ran without asking."""
    wording = Wording(
        title="Last time it ran without asking you.",
        reason="We never turn that back on by ourselves.",
        labels={"onRequest": "Start with questions on", "never": "Without questions, this run only"},
    )
    return asked(
        DriftKind.NEVER_ASK,
        wording,
        differences=(Difference(what=ASKS, recorded=ASKS_WORDS[APPROVALS[-1]], now=YOUR_CHOICE),),
    )


def stricter(state: PermissionsState, limit: Ceiling, target: Target) -> Drift | None:
    """The ceiling is lower than what was recorded."""
    known = recorded(state)
    if known is None:
        return None
    approval, sandbox = capped(state, limit)
    could = as_started(*known, limit.startable)
    unasked = state.mode == "bypass" and not bypasses(state, limit)
    rows = []
    if approval != could[0] or unasked:
        before = ASKS_WORDS[APPROVALS[-1] if unasked else known[0]]
        rows.append(Difference(what=ASKS, recorded=before, now=ASKS_WORDS[approval]))
    if sandbox != could[1]:
        before, now = MAY_CHANGE_WORDS[known[1]], MAY_CHANGE_WORDS[sandbox]
        rows.append(Difference(what=MAY_CHANGE, recorded=before, now=now))
    if not rows:
        return None
    if limit.readable:
        title = "The policy here allows less than this conversation had."
        # Several files may have a say; each is named by its path.
        files = listed([short_path(path, *target.here.homes) for path in limit.source.split(", ") if path])
        reason = f"The policy is kept; it is set in {files}." if files else "The policy is kept."
        if limit.declared != limit.approval:
            reason += f" {capital(_stands_for(limit.declared, limit.approval, sandbox, target))}."
    else:
        title = f"{capital(POLICY)} is not known."
        reason = (
            f"{sentence(limit.problem)} So only the safest is allowed."
            if limit.problem
            else "It could not be read, so only the safest is allowed."
        )
    return informed(DriftKind.POLICY_STRICTER, Wording(title=title, reason=reason), differences=tuple(rows))


def not_known(limit: Ceiling) -> tuple[str, ...]:
    """That the ceiling could not be told, and why, on one line."""
    if limit.readable:
        return ()
    return (f"{POLICY} ({limit.problem})" if limit.problem else POLICY,)


def looser(state: PermissionsState, limit: Ceiling) -> Drift | None:
    """The ceiling that held the record down is higher now."""
    raised, known = raised_limits(state, limit), recorded(state)
    if known is None or not raised:
        return None
    rows = {
        "approval": Difference(
            what=ASKS, recorded=ASKS_WORDS[known[0]], now=f"allowed: {ASKS_WORDS[limit.approval]}"
        ),
        "sandbox": Difference(
            what=MAY_CHANGE,
            recorded=MAY_CHANGE_WORDS[known[1]],
            now=f"allowed: {MAY_CHANGE_WORDS[limit.sandbox]}",
        ),
    }
    # What has its own word to be typed elsewhere has it here too.
    word = {
        "full": "sandbox" in raised and limit.sandbox == SANDBOXES[-1],
        "skip": "approval" in raised and limit.approval == APPROVALS[-1],
    }
    words = {"approval": APPROVAL_WORDS[limit.approval], "sandbox": SANDBOX_WORDS[limit.sandbox]}
    wider = [words[name] for name in raised]
    return asked(
        DriftKind.POLICY_LOOSER,
        Wording(
            title="The policy here allows more than this conversation had.",
            reason="It was held to less when it stopped. Nothing is widened by itself.",
            labels={"keep": "Keep what it had", "adopt": "Allow what the policy allows now"},
            details={"adopt": f"It {listed(wider)}."},
            typed={"adopt": needed} if (needed := next((w for w in word if word[w]), "")) else {},
        ),
        differences=tuple(rows[name] for name in raised),
        facts={"approval": limit.approval, "sandbox": limit.sandbox},
    )


def plan_mode(target: Target) -> Drift:
    """It was planning."""
    return asked(
        DriftKind.PLAN_MODE,
        Wording(
            title="It was still planning.",
            reason=f"{agent_name(target.here.agent)} was in plan mode and had not been allowed to edit.",
            labels={"plan": "Stay in plan mode", "normal": "Let it edit"},
            details={"plan": "It may read, and write nothing."},
        ),
        differences=(Difference(what=MODE, recorded="plan", now=YOUR_CHOICE),),
    )


def active_goal(state: PermissionsState, target: Target) -> Drift:
    """It would start by itself."""
    agent = agent_name(target.here.agent)
    return asked(
        DriftKind.ACTIVE_GOAL,
        Wording(
            title="It has a goal that it pursues by itself.",
            reason=f"Without a message from you {agent} would work on “{one_line(state.objective or '')}”.",
            labels={"pause": "Start paused", "continue": "Let it continue by itself"},
        ),
        differences=(Difference(what=GOAL, recorded="active", now=YOUR_CHOICE),),
        facts={"objective": state.objective or ""},
    )


def summary(state: PermissionsState, granted: Granted, target: Target) -> str:
    """What it may do, how that compares with the record, and what it stands for, on one line."""
    words = f"{APPROVAL_WORDS[granted.approval]}, {SANDBOX_WORDS[granted.sandbox]}"
    notes = [_compared(state, granted)]
    if granted.unstartable:
        notes.append(_stands_for(granted.unstartable, granted.approval, granted.sandbox, target))
    if left_out := _left_out(state, granted, target):
        notes.append(f"not passed on: writing to {left_out}")
    return f"{words}: {'; '.join(note for note in notes if note)}"


def settled(state: PermissionsState, granted: Granted) -> dict[str, str]:
    """What became of each difference, by its name."""
    return {
        ASKS: ASKS_WORDS[granted.approval],
        MAY_CHANGE: MAY_CHANGE_WORDS[granted.sandbox],
        MODE: "plan" if granted.mode == "plan" else "may edit",
        GOAL: "paused" if granted.pause_goal else state.goal_status or "",
    }


def told(state: PermissionsState, granted: Granted, target: Target) -> tuple[str, ...]:
    """What the agent must know of what it may do now."""
    notes, goal = [], one_line(state.objective or "")
    if granted.mode == "plan":
        notes.append("You are still in plan mode: propose, do not edit.")
    elif state.mode == "plan":
        notes.append("You are not in plan mode any more: the user lets you edit.")
    if granted.pause_goal:
        notes.append(f"Your goal “{goal}” is paused until the user says so.")
    elif state.goal_status == "active":
        notes.append(f"Your goal “{goal}” goes on: the user lets you pursue it by yourself.")
    before = _before(state)
    if before is not None and before != (granted.approval, granted.sandbox):
        never = granted.approval == APPROVALS[-1]
        asks = "need not ask" if never else f"ask {ASKS_WORDS[granted.approval]}"
        writes = MAY_CHANGE_WORDS[granted.sandbox]
        notes.append(f"What you may do has changed: you {asks} and may change {writes}.")
    if left_out := _left_out(state, granted, target):
        notes.append(f"You could also write to {left_out}. That was not passed on: ask before you do.")
    return tuple(notes)


def _left_out(state: PermissionsState, granted: Granted, target: Target) -> str:
    """The further folders that it could write to before, where that is not part of what it may do now."""
    if granted.sandbox == SANDBOXES[-1]:
        return ""
    return ", ".join(one_line(short_path(folder, *target.here.homes)) for folder in state.directories)


def _before(state: PermissionsState) -> tuple[str, str] | None:
    """What was in force. In plan mode it could write nothing, and while bypassing it asked nothing,
    whatever was set."""
    known = recorded(state)
    if known is None:
        return None
    approval = APPROVALS[-1] if state.mode == "bypass" else known[0]
    return approval, SANDBOXES[0] if state.mode == "plan" else known[1]


def _stands_for(declared: str, approval: str, sandbox: str, target: Target) -> str:
    """Why it starts with these instead of the declared approval; the narrower sandbox makes up for asking
    less."""
    asks_less = APPROVALS.index(approval) > APPROVALS.index(declared)
    instead = SANDBOX_WORDS[sandbox] if asks_less else APPROVAL_WORDS[approval]
    agent = agent_name(target.here.agent)
    return f"{agent} cannot be started so that it {APPROVAL_WORDS[declared]}, so it {instead}"


def _compared(state: PermissionsState, granted: Granted) -> str:
    """In words; empty where what it stands for is the whole answer."""
    before = _before(state)
    if before is None:
        return "the record does not say"
    if before[0] == granted.unstartable and granted.approval != before[0]:
        return ""
    approval = APPROVALS.index(granted.approval) - APPROVALS.index(before[0])
    sandbox = SANDBOXES.index(granted.sandbox) - SANDBOXES.index(before[1])
    if approval > 0 or sandbox > 0 or (state.mode == "plan" and granted.mode != "plan"):
        return "more than before, as you chose"
    if approval < 0 or sandbox < 0 or state.mode not in (granted.mode, "bypass"):
        return "less than before, nothing wider"
    return "as before, nothing wider"
