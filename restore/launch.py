"""What a launch plan is made from: only what the restore settled, never what the agent defaults to."""

from resumed.restore.effects import LaunchFacts
from resumed.restore.permission_grant import grant
from resumed.restore.probes import Seen
from resumed.restore.snapshot import Record
from resumed.restore.subsystem import Choices, Target


def launch_facts(record: Record, seen: Seen, choices: Choices, target: Target) -> LaunchFacts | None:
    """The facts for the agent's adapter; `None` when the agent has no conversation of its own."""
    if record.native_id is None or target.root is None:
        return None
    granted = grant(record.states["permissions"], seen, choices, target)
    return LaunchFacts(
        agent=record.agent,
        native_id=record.native_id,
        folder=target.cwd or target.root,
        approval=granted.approval,
        sandbox=granted.sandbox,
        model=record.states["model"].model,
        pause_goal=granted.pause_goal,
    )
