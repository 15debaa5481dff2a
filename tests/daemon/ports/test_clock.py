"""The machine's clock, and the one that tests use in its place."""

import re
from datetime import UTC, datetime

import pytest

from resumed.daemon.ports.clock import Clock, SystemClock
from tests.support.clock import FakeClock


@pytest.mark.parametrize("clock", [SystemClock(), FakeClock()])
def test_format_and_order(clock: Clock) -> None:
    now = clock.now()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", now)
    assert clock.now() >= now
    assert clock.monotonic() <= clock.monotonic()


def test_system_clock_is_utc() -> None:
    before = datetime.now(UTC)
    told = datetime.fromisoformat(SystemClock().now())
    assert abs((told - before).total_seconds()) < 60


def test_fake_clock_moves_when_told() -> None:
    clock = FakeClock()
    clock.advance(61.5)
    assert (clock.now(), clock.monotonic()) == ("2026-01-02T03:05:06.500Z", 61.5)
