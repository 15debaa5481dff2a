import msgspec
import pytest

from resumed.protocol.restore import Status
from resumed.restore.snapshot import Fold
from resumed.restore.subsystems.untracked import untracked
from tests.support.events import TARGET, event, session_meta


@pytest.mark.parametrize("name", ["tools", "file_history", "attribution", "prompt", "extension"])
def test_it_says_that_it_is_not_tracked(name: str) -> None:
    subsystem = untracked(name, ("conversation",))
    restoration = subsystem.steps(None, {}, {}, TARGET)
    assert (subsystem.name, subsystem.after, subsystem.version) == (name, ("conversation",), 1)
    assert restoration.status is Status.NOT_TRACKED
    assert restoration.reason == "not tracked in this version"
    assert restoration.summary == "not tracked"
    assert restoration.steps == ()


def test_it_folds_compares_and_looks_at_nothing() -> None:
    subsystem = untracked("tools", ())
    fold = Fold([subsystem])
    fold.feed(event(session_meta()))
    assert fold.states == {"tools": None}
    assert subsystem.probes(None, TARGET) == ()
    assert subsystem.drift(None, {}, TARGET) == ()


def test_its_empty_state_can_be_stored() -> None:
    subsystem = untracked("tools", ())
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(None), type=subsystem.state_type) is None
