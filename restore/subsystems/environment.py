"""Which agent in which version ran, and on what machine.

A later record that leaves a field out does not erase what an earlier one said, except that another
agent never inherits a version.
"""

from typing import ClassVar

import msgspec

from resumed.protocol.restore import Drift, Status
from resumed.restore.events.envelope import Event, Payload
from resumed.restore.events.session import EnvironmentSeen, SessionMeta
from resumed.restore.probes import AnyProbe, Seen
from resumed.restore.subsystem import Choices, Restoration, Target
from resumed.restore.wording import agent_name, one_line

TOOLS_KEPT = 32


class EnvironmentState(msgspec.Struct, kw_only=True):
    """The last of each that the record says; `toolchain` maps a tool to its version."""

    agent: str | None = None
    version: str | None = None
    host: str | None = None
    user: str | None = None
    toolchain: dict[str, str] = {}


class Environment:
    """See the module."""

    name: ClassVar[str] = "environment"
    version: ClassVar[int] = 1
    after: ClassVar[tuple[str, ...]] = ()
    handles: ClassVar[tuple[type[Payload], ...]] = (SessionMeta, EnvironmentSeen)
    state_type: ClassVar[type[EnvironmentState]] = EnvironmentState

    def initial(self) -> EnvironmentState:
        """Nothing is recorded."""
        return EnvironmentState()

    def apply(self, state: EnvironmentState, event: Event) -> EnvironmentState:
        """Fold one event in."""
        match event.payload:
            case SessionMeta(agent=agent):
                known = state.version if agent.name == state.agent else None
                state.agent, state.version = agent.name, agent.version or known
            case EnvironmentSeen() as seen:
                state.version = seen.agent_version or state.version
                state.host = seen.host or state.host
                state.user = seen.user or state.user
                if seen.toolchain:
                    state.toolchain = dict(sorted(seen.toolchain.items())[:TOOLS_KEPT])
        return state

    def probes(self, state: EnvironmentState, target: Target) -> tuple[AnyProbe, ...]:
        """Nothing is looked at."""
        return ()

    def drift(self, state: EnvironmentState, seen: Seen, target: Target) -> tuple[Drift, ...]:
        """Nothing is compared."""
        return ()

    def steps(self, state: EnvironmentState, seen: Seen, choices: Choices, target: Target) -> Restoration:
        """Say what ran; there is nothing to put back."""
        if state.agent is None or state.version is None:
            ran = f"{agent_name(state.agent)}, version" if state.agent else "agent and version"
            return Restoration(
                status=Status.DEFAULTED,
                reason="not recorded",
                summary=f"{ran} not recorded",
                details=_details(state),
            )
        return Restoration(
            status=Status.RESTORED,
            reason="as recorded",
            summary=one_line(f"{agent_name(state.agent)} {state.version}"),
            details=_details(state),
        )


def _details(state: EnvironmentState) -> tuple[str, ...]:
    lines = []
    if state.host or state.user:
        lines.append(f"ran on {state.host or 'a computer not recorded'} as {state.user or 'not recorded'}")
    if state.toolchain:
        tools = ", ".join(f"{tool} {version}" for tool, version in state.toolchain.items())
        lines.append(f"with {one_line(tools, 200)}")
    return tuple(lines)


ENVIRONMENT = Environment()
