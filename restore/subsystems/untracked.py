"""A subsystem that this version does not fold: named in the report, never passed off as restored."""

from typing import ClassVar

import msgspec

from resumed.protocol.restore import Drift, Status
from resumed.restore.events.envelope import Event, Payload
from resumed.restore.probes import AnyProbe, Seen
from resumed.restore.subsystem import Choices, Restoration, Target


class Untracked(msgspec.Struct, frozen=True, kw_only=True):
    """It keeps its place in the order, so that those after it need not change once it is folded."""

    name: str
    after: tuple[str, ...]
    version: ClassVar[int] = 1
    handles: ClassVar[tuple[type[Payload], ...]] = ()
    state_type: ClassVar[type[None]] = type(None)

    def initial(self) -> None:
        """There is no state."""

    def apply(self, state: None, event: Event) -> None:
        """Nothing is folded."""

    def probes(self, state: None, target: Target) -> tuple[AnyProbe, ...]:
        """Nothing is looked at."""
        return ()

    def drift(self, state: None, seen: Seen, target: Target) -> tuple[Drift, ...]:
        """Nothing is compared."""
        return ()

    def steps(self, state: None, seen: Seen, choices: Choices, target: Target) -> Restoration:
        """Say that it is not tracked."""
        return Restoration(
            status=Status.NOT_TRACKED, reason="not tracked in this version", summary="not tracked"
        )


def untracked(name: str, after: tuple[str, ...]) -> Untracked:
    """The stand-in for the subsystem `name`."""
    return Untracked(name=name, after=after)
