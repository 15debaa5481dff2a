"""A fold that changes goes up in version: a stored state of the old one would be taken for a new one's."""

import json
from pathlib import Path
from typing import Any

import pytest

from resumed.restore.lifecycle import Lifecycle, LifecycleState
from resumed.restore.subsystems import SUBSYSTEMS
from tests.support import fold_source
from tests.support.fold_source import fold_digest

PINS = Path(__file__).with_name("folds.json")


def folds() -> dict[str, tuple[int, str]]:
    """Version and digest of each fold, by name."""
    found = {
        each.name: (each.version, fold_digest(type(each), each.state_type, "initial", "apply"))
        for each in SUBSYSTEMS
        if each.handles
    }
    return found | {"lifecycle": (Lifecycle.version, fold_digest(Lifecycle, LifecycleState, "apply"))}


def test_a_fold_that_changed_has_another_version(update_goldens: bool) -> None:
    now = folds()
    pinned: dict[str, list[Any]] = json.loads(PINS.read_text()) if PINS.exists() else {}
    changed = [
        name
        for name, (version, digest) in now.items()
        if name in pinned and pinned[name][0] == version and pinned[name][1] != digest
    ]
    assert not changed, f"the version of {changed} must go up: stored states of the old fold may differ"
    if update_goldens:
        PINS.write_text(json.dumps(now, indent=2) + "\n")
    assert {name: tuple(pin) for name, pin in json.loads(PINS.read_text()).items()} == now, (
        "--update pins the new versions"
    )


FOLD = '''
import msgspec
LIMIT = {limit}
class State(msgspec.Struct, kw_only={kw_only}{memory}):
    """{docstring}"""
    count: int = 0
class Fold:
    def initial(self):
        return State()
    def apply(self, state, event):
        # {comment}
        return self._more(state,
            event)
    def _more(self, state, event):
        return helper(state)
    def view(self, state):
        return {view}
def helper(state):
    state.count = min({added} + state.count, LIMIT)
    return state
'''
PLAIN = {
    "limit": 3, "docstring": "a", "comment": "a", "view": 1, "added": 1, "memory": "", "kw_only": True,
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "same"),
    [
        ({}, True),
        ({"docstring": "b", "comment": "b", "view": 2, "memory": ", gc=False"}, True),
        ({"limit": 4}, False),
        ({"added": 2}, False),
        ({"kw_only": False}, False),
    ],
)
def test_a_digest_changes_with_what_the_fold_reaches_and_nothing_else(
    change: dict[str, Any], same: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(fold_source, "OURS", "fold_")
    digests = set()
    for number, values in enumerate((PLAIN, PLAIN | change)):
        name = f"fold_{tmp_path.name}_{number}"
        (tmp_path / f"{name}.py").write_text(FOLD.format(**values))
        module = __import__(name)
        digests.add(fold_digest(module.Fold, module.State, "initial", "apply"))
    assert (len(digests) == 1) is same
