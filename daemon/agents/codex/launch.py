"""How a Codex session is continued: an explicit command, never one that skips its questions.

What Codex cannot be told by a flag is told as the strictest it can, so that nothing gets wider.
"""

from resumed.protocol.restore import LaunchPlan, LaunchStep
from resumed.restore.effects import LaunchFacts

_SANDBOXES = ("read-only", "workspace-write", "danger-full-access")
_APPROVALS = ("on-request", "never")
_CLIENT = {"name": "resumed", "title": "resumed", "version": "1"}


class CodexLauncher:
    """Plans `codex resume`."""

    def plan(self, facts: LaunchFacts) -> LaunchPlan | None:
        """The command with folder, sandbox, approval and model as given; first the pause of a goal."""
        argv = ["codex", "resume", facts.native_id, "-C", facts.folder]
        if facts.sandbox is not None:
            argv += ["-s", facts.sandbox if facts.sandbox in _SANDBOXES else "read-only"]
        if facts.approval is not None:
            argv += _approval_flag(facts.approval)
        if facts.model is not None:
            argv += ["-m", facts.model]
        before = (_pause_step(facts.native_id),) if facts.pause_goal else ()
        return LaunchPlan(argv=tuple(argv), folder=facts.folder, before=before)


def _approval_flag(approval: str) -> list[str]:
    """`untrusted` asks more than any value of the flag, but is known to the configuration."""
    if approval == "untrusted":
        return ["-c", 'approval_policy="untrusted"']
    return ["-a", approval if approval in _APPROVALS else "on-request"]


def _pause_step(native_id: str) -> LaunchStep:
    """Loading a thread with an active goal starts turns by itself; pausing it does not load it.

    A request without `id` is a notification: it has no answer.
    """
    return LaunchStep(
        title="Pause the goal, so that nothing starts by itself",
        argv=("codex", "app-server"),
        requests=(
            {"id": 0, "method": "initialize", "params": {"clientInfo": _CLIENT}},
            {"method": "initialized"},
            {
                "id": 1,
                "method": "thread/goal/set",
                "params": {"threadId": native_id, "status": "paused", "origin": "user"},
            },
        ),
    )
