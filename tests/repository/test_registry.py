"""Registries and the tree say the same, and nothing recorded is forgotten without a reason."""

from resumed.daemon.agents import AGENTS
from resumed.daemon.handlers import HANDLERS
from resumed.protocol.methods import REQUESTS
from resumed.protocol.restore import DriftKind
from resumed.restore.events import EVENT_TYPES
from resumed.restore.order import in_restore_order
from resumed.restore.subsystems import SUBSYSTEMS
from resumed.restore.subsystems.untracked import Untracked
from tests.support.tree import ROOT, modules

SUBSYSTEM_NAMES = {
    "environment",
    "worktree",
    "permissions",
    "tools",
    "model",
    "conversation",
    "operations",
    "file_history",
    "attribution",
    "todos",
    "cost",
    "verifier",
    "prompt",
    "extension",
}

DRIFT_KINDS = {
    "otherProject",
    "gone",
    "moved",
    "worktreeRemoved",
    "stub",
    "otherRepository",
    "branchDiffers",
    "branchDeleted",
    "detached",
    "advanced",
    "rewritten",
    "commitGone",
    "inProgress",
    "silentSwitch",
    "fileChanged",
    "fileReverted",
    "fileGone",
    "policyLooser",
    "policyStricter",
    "fullAccess",
    "neverAsk",
    "planMode",
    "activeGoal",
    "danglingOperation",
}

NOBODY = {
    "thread_meta": "identity: the catalogue reads it",
    "segment": "continuity of a stream: the reader follows it",
    "note": "damage and omissions: the reader and the report show them",
    "ingested": "how far a foreign file was read: a cursor",
    "session_linked": "lineage of runs: the catalogue reads it",
    "process_observed": "who runs a session: liveness, not state",
    "daemon_run": "life of the daemon: crash recovery",
    "restore_planned": "a restore's journal: recovery reads it",
    "restore_answered": "a restore's journal: recovery reads it",
    "restore_step": "a restore's journal: recovery reads it",
    "thread_patched": "the row of a thread: the index",
    "binding_changed": "queue and routing are not served yet",
    "file_version": "file_history is not tracked yet",
    "edit_predicted": "attribution is not tracked yet",
    "human_saved": "attribution is not tracked yet",
    "checkpoint_taken": "file_history is not tracked yet",
    "head_moved": "file_history and attribution are not tracked yet",
    "prompt_set": "prompt is not tracked yet",
    "extension_set": "extension is not tracked yet",
}
"""Events that no subsystem folds, each with who reads it instead, or why nobody does yet."""

ANSWERED_BEFORE_THE_APPLICATION = {"resumed/initialize", "daemon/status", "daemon/drain"}


def test_the_subsystems_are_the_known_ones() -> None:
    names = [subsystem.name for subsystem in SUBSYSTEMS]
    assert len(names) == len(set(names))
    assert set(names) == SUBSYSTEM_NAMES


def test_a_subsystem_is_one_file_of_its_name() -> None:
    folded = {subsystem.name for subsystem in SUBSYSTEMS if not isinstance(subsystem, Untracked)}
    present = {path.stem for path in modules("restore/subsystems")} - {"__init__", "untracked"}
    assert present == folded


def test_subsystems_have_an_order() -> None:
    order = [subsystem.name for subsystem in in_restore_order(SUBSYSTEMS)]
    assert order[0] == "environment"
    assert order.index("worktree") < order.index("permissions") < order.index("model")


def test_every_event_is_folded_or_has_a_reason() -> None:
    folded = {payload for subsystem in SUBSYSTEMS for payload in subsystem.handles}
    unfolded = {name for name, payload in EVENT_TYPES.items() if payload not in folded}
    assert unfolded == set(NOBODY), "fold it in a subsystem's `handles`, or say in NOBODY who reads it"


def test_subsystems_handle_known_events() -> None:
    for subsystem in SUBSYSTEMS:
        assert set(subsystem.handles) <= set(EVENT_TYPES.values()), subsystem.name


def test_every_request_has_its_handler() -> None:
    assert set(HANDLERS) == set(REQUESTS) - ANSWERED_BEFORE_THE_APPLICATION


def test_an_agent_is_one_file_or_folder_of_its_name() -> None:
    folder = ROOT / "daemon" / "agents"
    for name in AGENTS:
        place = name.replace("-", "_")
        assert (folder / f"{place}.py").exists() or (folder / place / "adapter.py").exists()


def test_the_kinds_of_drift_are_the_known_ones() -> None:
    assert {kind.value for kind in DriftKind} == DRIFT_KINDS
