"""A clock that stands still until it is told to go on."""

from datetime import UTC, datetime, timedelta


class FakeClock:
    """Starts at a fixed time; `advance` moves both wall and monotonic time."""

    def __init__(self, start: str = "2026-01-02T03:04:05.000Z") -> None:
        self._now = datetime.fromisoformat(start)
        self._monotonic = 0.0

    def now(self) -> str:
        """RFC 3339 in UTC with milliseconds."""
        return self._now.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def monotonic(self) -> float:
        """Seconds since this clock was made."""
        return self._monotonic

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self._now += timedelta(seconds=seconds)
        self._monotonic += seconds
