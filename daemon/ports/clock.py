"""The time: on the wall for people and records, monotonic for waiting."""

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """What the daemon asks for the time."""

    def now(self) -> str:
        """RFC 3339 in UTC with milliseconds, ending in `Z`."""
        ...

    def monotonic(self) -> float:
        """Seconds from an arbitrary start; never goes back."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> str:
        """RFC 3339 in UTC with milliseconds, ending in `Z`."""
        return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def monotonic(self) -> float:
        """Seconds from an arbitrary start; never goes back."""
        return time.monotonic()
