"""How a Codex session is continued: an explicit command, never one that skips its questions.

A restore settles on what Codex can be told; whatever else is asked for becomes the strictest that it can.
"""

import re

from resumed.protocol.restore import LaunchPlan, LaunchStep
from resumed.restore.effects import LaunchFacts

_SANDBOXES = ("read-only", "workspace-write", "danger-full-access")
# What stands in a file is never taken for a flag.
_MODEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,199}")
_CLIENT = {"name": "resumed", "title": "resumed", "version": "1"}


class CodexLauncher:
    """Plans `codex resume`. Codex gave up `untrusted` and `on-failure`."""

    approvals = ("on-request", "never")

    def plan(self, facts: LaunchFacts) -> LaunchPlan | None:
        """The command with folder, sandbox, approval and model as given; first the pause of a goal."""
        argv = ["codex", "resume", facts.native_id, "-C", facts.folder]
        approval, sandbox = self._expressible(facts.approval, facts.sandbox)
        if sandbox is not None:
            argv += ["-s", sandbox]
        if approval is not None:
            argv += ["-a", approval]
        notes = []
        if (approval, sandbox) != (facts.approval, facts.sandbox):
            notes.append(f"Codex does not know “{facts.approval}”; it starts with “{approval}”, {sandbox}.")
        if facts.model is not None and _MODEL.fullmatch(facts.model):
            argv += ["-m", facts.model]
        elif facts.model is not None:
            notes.append("The recorded model's name is not one; Codex starts with its default.")
        before = (_pause_step(facts.native_id),) if facts.pause_goal else ()
        return LaunchPlan(argv=tuple(argv), folder=facts.folder, before=before, notes=tuple(notes))

    def _expressible(self, approval: str | None, sandbox: str | None) -> tuple[str | None, str | None]:
        """Approval and sandbox in words that Codex takes, nowhere wider than given."""
        if sandbox is not None and sandbox not in _SANDBOXES:
            sandbox = "read-only"
        if approval is None or approval in self.approvals:
            return approval, sandbox
        return "on-request", "read-only"


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
        expected={"goal": {"status": "paused"}},
    )
