"""The closed union of what the restore conversation asks of the daemon, and the replies.

The daemon performs an effect and sends the reply; it never decides what comes next.
"""

import msgspec

from resumed.protocol.restore import Answer, Drift, LaunchPlan
from resumed.restore.events.envelope import Payload
from resumed.restore.probes import AnyProbe, Seen
from resumed.restore.steps import AnyVerb


class Observe(msgspec.Struct, frozen=True):
    """Look at all of these at once. Reply: `Seen` (a dictionary), every probe a key."""

    probes: tuple[AnyProbe, ...]


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """Put one round of questions to a person. Reply: `Answered`, `Unanswered` or `Cancelled`."""

    round: int
    token: str
    drifts: tuple[Drift, ...]


class Answered(msgspec.Struct, frozen=True):
    """Answers by drift id, and who gave them."""

    answers: dict[str, Answer]
    by: str


class Unanswered(msgspec.Struct, frozen=True):
    """There is nobody to ask."""


class Cancelled(msgspec.Struct, frozen=True):
    """The person left the question, or the client went away."""


class Journal(msgspec.Struct, frozen=True):
    """Make this event, and those after it in the same write, durable in the new run's stream before
    anything else. Reply: `None`.

    Failing to do so raises in the daemon and ends the conversation: nothing more is done."""

    payload: Payload
    more: tuple[Payload, ...] = ()


class Perform(msgspec.Struct, frozen=True):
    """Do one verb. Reply: `Performed` or `NotPerformed`."""

    verb: AnyVerb


class Performed(msgspec.Struct, frozen=True):
    """Done; `evidence` is what was seen afterwards."""

    evidence: dict[str, object] = {}


class NotPerformed(msgspec.Struct, frozen=True):
    """Not done, nothing changed by it; `reason` is one sentence for people. `left`: something of it
    stays behind all the same, which the reason names."""

    reason: str
    left: bool = False


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """Tell clients about a step. Reply: `None`. `state`: begun, done, failed, undone."""

    n: int
    of: int
    subsystem: str
    title: str
    state: str


class LaunchFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What a launch plan is made from. `approval`, `sandbox`, `model` of `None` are left to the agent.
    `pause_goal`: the agent's own goal must be paused before it starts."""

    agent: str
    native_id: str
    folder: str
    approval: str | None
    sandbox: str | None
    model: str | None
    pause_goal: bool


class PlanLaunch(msgspec.Struct, frozen=True):
    """Have the agent's adapter turn facts into argv. Reply: `LaunchPlan` or `None` (it can't be
    started by a command)."""

    facts: LaunchFacts


Effect = Observe | Ask | Journal | Perform | Progress | PlanLaunch
Reply = Seen | Answered | Unanswered | Cancelled | Performed | NotPerformed | LaunchPlan | None
