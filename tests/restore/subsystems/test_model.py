import msgspec
from hypothesis import given
from hypothesis import strategies as st

from resumed.protocol.restore import Status
from resumed.protocol.threads import ModelView
from resumed.restore.events.envelope import Event
from resumed.restore.events.session import ModelSet
from resumed.restore.steps import RecordState
from resumed.restore.subsystem import Restoration
from resumed.restore.subsystems.model import MODEL
from tests.support.events import TARGET, assert_stores_anywhere, event, folded, session_meta

STARTED = event(session_meta(model="gpt-5.5"))
UNSAID = event(session_meta())
SAID = event(
    ModelSet(model="gpt-5.5", cause="turn", provider="acme", window=272_000, overrides={"effort": "high"})
)
SWITCHED = event(ModelSet(model="gpt-5.6-sol", cause="user"))
WINDOW_ONLY = event(ModelSet(model=None, cause="turn", window=128_000))


def view(*events: Event) -> ModelView:
    return MODEL.view(folded(MODEL, events))


def restored(*events: Event) -> Restoration:
    return MODEL.steps(folded(MODEL, events), {}, {}, TARGET)


def test_the_last_model_wins_and_keeps_nothing_of_the_one_before() -> None:
    assert view(STARTED) == ModelView(model="gpt-5.5", provider=None, window=None)
    assert view(STARTED, SAID) == ModelView(model="gpt-5.5", provider="acme", window=272_000)
    assert view(STARTED, SAID, SWITCHED) == ModelView(model="gpt-5.6-sol", provider=None, window=None)
    assert folded(MODEL, [SAID, SWITCHED]).overrides == {}


def test_what_was_not_said_stays() -> None:
    assert view(SAID, UNSAID, WINDOW_ONLY) == ModelView(model="gpt-5.5", provider="acme", window=128_000)
    assert view(SAID, STARTED).provider == "acme"


def test_it_is_recorded_in_the_new_run_as_it_was() -> None:
    restoration = restored(STARTED, SAID)
    assert restoration.status is Status.RESTORED
    assert restoration.summary == "gpt-5.5 by acme, as before"
    assert restoration.details == ("with effort high",)
    (step,) = restoration.steps
    assert isinstance(step.do, RecordState)
    ((name, payload),) = step.do.events
    assert name == "model_set"
    carried = msgspec.convert(payload, ModelSet)
    assert carried.cause == "restore"
    assert view(event(carried)) == view(STARTED, SAID)


def test_a_record_without_a_model_is_defaulted() -> None:
    restoration = restored(UNSAID, WINDOW_ONLY)
    assert restoration.status is Status.DEFAULTED
    assert restoration.reason == "the record names no model"
    assert restoration.steps == ()


def test_it_comes_after_permissions_and_looks_at_nothing() -> None:
    state = folded(MODEL, [SAID])
    assert MODEL.after == ("permissions",)
    assert MODEL.probes(state, TARGET) == ()
    assert MODEL.drift(state, {}, TARGET) == ()


@given(st.lists(st.sampled_from([STARTED, UNSAID, SAID, SWITCHED, WINDOW_ONLY]), max_size=12))
def test_the_fold_can_be_stored_anywhere(events: list[Event]) -> None:
    assert_stores_anywhere(MODEL, events)
