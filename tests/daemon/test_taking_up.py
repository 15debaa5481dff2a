from collections.abc import Iterable

import msgspec

from resumed.daemon.taking_up import TakingUp
from resumed.restore.events.envelope import Event
from resumed.restore.events.journal import RestoreClosed
from resumed.restore.events.session import ModelSet, TurnStarted, WorktreeBound
from tests.support.events import event, resume_meta, session_meta

BOUND = WorktreeBound(cwd="/a", cause="start")
TOLD = ModelSet(model="m", cause="restore")
CLOSED = RestoreClosed(restore_id="r", outcome="restored")


def run(hour: int) -> list[Event]:
    """A run that ended with its restore."""
    payloads = (resume_meta(), BOUND, TOLD, CLOSED)
    return [at(event(payload), f"{hour:02}:00:0{second}") for second, payload in enumerate(payloads)]


def turn(hour: int) -> Event:
    """The agent goes on, by its own file."""
    return at(event(TurnStarted(turn_id=f"{hour}")), f"{hour:02}:30:00")


def at(given: Event, time: str) -> Event:
    return msgspec.structs.replace(given, at=f"2026-11-30T{time}Z")


def passed(runs: list[list[Event]], agents: Iterable[Event]) -> tuple[list[str], bool]:
    """The kinds that count, in order, and whether the last run waits."""
    first = at(event(session_meta()), "00:00:00")
    every = [first, *agents, *(each for events in runs for each in events)]
    taking_up = TakingUp(runs, runs)
    every.sort(key=lambda each: each.at or "")
    kinds = [type(each.payload).__name__ for each in taking_up.passed(every)]
    return kinds[1:], taking_up.waiting


PLACE = ["SessionMeta", "WorktreeBound"]
WHOLE = [*PLACE, "ModelSet", "RestoreClosed", "TurnStarted"]


def test_a_run_is_taken_up_when_the_agent_goes_on() -> None:
    assert passed([run(1)], []) == (PLACE, True)
    assert passed([run(2)], [turn(1)]) == (["TurnStarted", *PLACE], True)
    assert passed([run(1)], [turn(1)]) == (WHOLE, False)
    assert passed([run(1), run(2)], [turn(1), turn(2)]) == ([*WHOLE, *WHOLE], False)


def test_a_run_that_the_next_restore_found_untouched_is_never_taken_up() -> None:
    assert passed([run(1), run(2)], [turn(2)]) == ([*PLACE, *WHOLE], False)
    assert passed([run(1), run(2)], []) == ([*PLACE, *PLACE], True)


def test_a_run_of_an_agent_that_speaks_to_us_is_none_that_waits() -> None:
    spoken = [at(event(session_meta()), "03:00:00"), at(event(TOLD), "03:00:01")]
    restored = run(1)
    taking_up = TakingUp([restored, spoken], [restored])
    kinds = [type(each.payload).__name__ for each in taking_up.passed([*restored, *spoken])]
    assert kinds == [*PLACE, "SessionMeta", "ModelSet"]
    assert not taking_up.waiting
