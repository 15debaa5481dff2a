"""Runs, turns and names, and which runs do not count."""

import msgspec

from resumed.restore.events.envelope import Event, Payload
from resumed.restore.events.journal import RestoreClosed
from resumed.restore.events.session import EntryAdded, SessionEnded, TurnEnded, TurnStarted
from resumed.restore.events.thread import ThreadPatched
from resumed.restore.lifecycle import Lifecycle, LifecycleState, aborted
from tests.support.events import event, session_meta


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
    assert aborted([event(SessionEnded(reason="exit", clean=True))])
