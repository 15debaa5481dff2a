import pytest
from hypothesis import given
from hypothesis import strategies as st

from resumed.protocol.restore import Status
from resumed.restore.events.envelope import Event
from resumed.restore.events.session import AgentRef, EnvironmentSeen
from resumed.restore.subsystem import Restoration
from resumed.restore.subsystems.environment import ENVIRONMENT, TOOLS_KEPT
from tests.support.events import TARGET, assert_stores_anywhere, event, folded, session_meta

CODEX = event(session_meta(agent=AgentRef(name="codex", version="0.171.0")))
CODEX_UNSAID = event(session_meta(agent=AgentRef(name="codex")))
OTHER = event(session_meta(agent=AgentRef(name="scribe")))
UPDATED = event(EnvironmentSeen(agent_version="0.172.0"))
PLACE = event(EnvironmentSeen(host="mill", user="kim", toolchain={"python": "3.11", "node": "22"}))


def restored(*events: Event) -> Restoration:
    return ENVIRONMENT.steps(folded(ENVIRONMENT, events), {}, {}, TARGET)


def test_agent_and_version_are_restored_as_recorded() -> None:
    restoration = restored(CODEX)
    assert restoration.status is Status.RESTORED
    assert restoration.summary == "Codex 0.171.0"
    assert restoration.steps == ()


@pytest.mark.parametrize(
    ("events", "summary"),
    [
        ((), "agent and version not recorded"),
        ((CODEX_UNSAID,), "Codex, version not recorded"),
        ((CODEX, OTHER), "scribe, version not recorded"),
    ],
    ids=["nothing", "no version", "another agent inherits none"],
)
def test_a_missing_version_is_defaulted(events: tuple[Event, ...], summary: str) -> None:
    restoration = restored(*events)
    assert restoration.status is Status.DEFAULTED
    assert restoration.reason == "not recorded"
    assert restoration.summary == summary


def test_the_last_version_that_was_seen_wins() -> None:
    assert restored(CODEX, UPDATED).summary == "Codex 0.172.0"
    assert restored(CODEX, UPDATED, CODEX).summary == "Codex 0.171.0"


def test_a_run_that_does_not_say_its_version_keeps_the_one_before() -> None:
    assert restored(CODEX, CODEX_UNSAID, PLACE).summary == "Codex 0.171.0"


def test_where_it_ran_is_a_detail() -> None:
    assert restored(CODEX, PLACE, UPDATED).details == ("ran on mill as kim", "with node 22, python 3.11")


def test_the_toolchain_is_bounded() -> None:
    many = EnvironmentSeen(toolchain={f"tool{n:04}": "1" for n in range(5000)})
    assert len(folded(ENVIRONMENT, [event(many)]).toolchain) == TOOLS_KEPT


def test_nothing_is_looked_at_or_compared() -> None:
    state = folded(ENVIRONMENT, [CODEX, PLACE])
    assert ENVIRONMENT.probes(state, TARGET) == ()
    assert ENVIRONMENT.drift(state, {}, TARGET) == ()


@given(st.lists(st.sampled_from([CODEX, CODEX_UNSAID, OTHER, UPDATED, PLACE]), max_size=12))
def test_the_fold_can_be_stored_anywhere(events: list[Event]) -> None:
    assert_stores_anywhere(ENVIRONMENT, events)
