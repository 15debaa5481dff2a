"""Runs, turns and names, and which runs do not count."""

import msgspec

from resumed.restore.events.envelope import Event, Payload
from resumed.restore.events.journal import RestoreClosed
from resumed.restore.events.session import (
    EntryAdded,
    ModelSet,
    SessionEnded,
    SessionMeta,
    StateInvalidated,
    TurnEnded,
    TurnStarted,
    WorktreeBound,
)
from resumed.restore.events.thread import ThreadPatched
from resumed.restore.lifecycle import (
    Lifecycle,
    LifecycleState,
    aborted,
    ended_with_its_restore,
    is_of_the_place,
)
from tests.support.events import event, resume_meta, session_meta


def _state(*payloads: Payload) -> LifecycleState:
    state = LifecycleState()
    for payload in payloads:
        state = Lifecycle().apply(state, event(payload))
    return state


def _resumed(*payloads: Payload) -> list[Event]:
    meta = msgspec.structs.replace(session_meta(), reason="resume")
    return [event(payload) for payload in (meta, *payloads)]


def test_a_thread_is_named_by_a_person_else_by_its_first_message() -> None:
    said = EntryAdded(kind="message", role="user", text="fix the\n  rounding")
    later = EntryAdded(kind="message", role="user", text="and this")
    assert _state(session_meta(), said, later).name == "fix the rounding"
    named = ThreadPatched(fields={"name": "Payments"})
    assert _state(session_meta(), named, said).name == "Payments"
    assert _state(session_meta(), named, said, ThreadPatched(fields={"name": ""})).name == "fix the rounding"
    assert _state(session_meta()).name == "codex 2026-11-30"


def test_a_turn_is_open_until_its_own_end() -> None:
    begun = (session_meta(), TurnStarted(turn_id="a"))
    assert _state(*begun).open_turn == "a"
    assert _state(*begun, TurnEnded(turn_id="other", status="completed")).open_turn == "a"
    assert _state(*begun, TurnEnded(turn_id="a", status="interrupted")).open_turn is None
    assert _state(*begun, SessionEnded(reason="exit", clean=True)).open_turn is None
    assert _state(*begun, SessionEnded(reason="found dead", clean=False)).open_turn == "a"


def test_runs_are_counted_with_their_end() -> None:
    state = _state(session_meta(), SessionEnded(reason="exit", clean=True), session_meta())
    assert [run.ended for run in state.runs] == ["exit", None]


def test_a_restore_that_came_to_no_run_is_aborted() -> None:
    assert aborted([])
    assert aborted(_resumed())
    for outcome in ("refused", "needsAnswer", "cancelled", "rolledBack", "readOnly"):
        assert aborted(_resumed(RestoreClosed(restore_id="r", outcome=outcome))), outcome
    for outcome in ("restored", "partial"):
        assert not aborted(_resumed(RestoreClosed(restore_id="r", outcome=outcome))), outcome
    assert not aborted([event(session_meta())])
    # Its first line is lost: what only a restore writes tells that it was one.
    ended = event(SessionEnded(reason="exit", clean=True))
    assert not aborted([ended])
    for outcome, is_aborted in (("cancelled", True), ("rolledBack", True), ("restored", False)):
        closed = event(RestoreClosed(restore_id="r", outcome=outcome))
        assert aborted([closed, ended]) == is_aborted


def test_a_restored_run_has_started_once_an_agent_took_it_up() -> None:
    closed = RestoreClosed(restore_id="r", outcome="restored")
    assert [run.started for run in _state(session_meta(), resume_meta()).runs] == [True, False]
    assert [run.started for run in _state(session_meta(), resume_meta(), closed).runs] == [True, True]
    twice = _state(session_meta(), resume_meta(), resume_meta(), closed).runs
    assert [run.started for run in twice] == [True, False, True]


def test_a_restored_run_has_ended_with_its_restore_until_something_comes_after_it() -> None:
    restored = _resumed(RestoreClosed(restore_id="r", outcome="restored"))
    assert ended_with_its_restore(restored)
    assert not ended_with_its_restore([*restored, event(TurnStarted(turn_id="a"))])


def test_of_a_run_that_nobody_took_up_only_the_place_counts() -> None:
    bound = WorktreeBound(cwd="/a", cause="start")
    lost = StateInvalidated(subsystem="operations", keys=("/a/f",), reason="other branch")
    stale = StateInvalidated(subsystem="verifier", keys=("tests",), reason="its files differ")
    events = _resumed(bound, lost, stale, ModelSet(model="m", cause="restore"))
    kept = [each.payload for each in events if is_of_the_place(each)]
    assert kept[1:] == [bound, lost]
    assert isinstance(kept[0], SessionMeta)
