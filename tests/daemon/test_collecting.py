"""Collection is due when nobody needs the daemon, and once a day; nothing that keeps it off ends it."""

import asyncio

import pytest

from resumed.daemon.collecting import DAY_SECONDS, LOOK_SECONDS, collect_when_idle
from resumed.daemon.storage.collection import Collected, NotCollected
from resumed.daemon.storage.errors import StorageFailed

NOTHING = Collected(removed=0, removed_bytes=0, stored_bytes=0)
BUSY = NotCollected(kind="busy", stream="", sentence="Another process collects kept contents now.")


class Ended(Exception):
    """The script of the test is over."""


Outcome = Collected | NotCollected | Exception | None


async def played(busy: list[bool], outcomes: list[Outcome]) -> list[float | str]:
    """What happened, in order: rests by their seconds, and collections."""
    log: list[float | str] = []

    async def rest(seconds: float) -> None:
        await asyncio.sleep(0)
        log.append(seconds)
        if not busy:
            raise Ended

    async def collect() -> Collected | NotCollected | None:
        log.append("collect")
        outcome = outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    with pytest.raises(Ended):
        await collect_when_idle(collect, lambda: busy.pop(0), rest)
    return log


@pytest.mark.parametrize("outcome", [NOTHING, None])
async def test_it_waits_until_nobody_is_busy_and_then_a_day(outcome: Collected | None) -> None:
    assert await played([True, True, False], [outcome]) == [
        LOOK_SECONDS,
        LOOK_SECONDS,
        LOOK_SECONDS,
        "collect",
        DAY_SECONDS,
    ]


@pytest.mark.parametrize("kept_off", [BUSY, StorageFailed("The disk is full."), OSError("no locks")])
async def test_what_keeps_it_from_collecting_does_not_end_it(kept_off: NotCollected | Exception) -> None:
    log = await played([False, False], [kept_off, NOTHING])
    assert log == [LOOK_SECONDS, "collect", DAY_SECONDS, LOOK_SECONDS, "collect", DAY_SECONDS]
