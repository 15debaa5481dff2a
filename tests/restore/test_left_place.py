from resumed.restore.events.envelope import Payload
from resumed.restore.events.journal import RestoreClosed, RestoreStep
from resumed.restore.events.session import (
    AgentRef,
    PermissionsSet,
    SessionEnded,
    SessionMeta,
    StateInvalidated,
    WorktreeBound,
)
from resumed.restore.left_place import left_behind, place_records
from resumed.restore.steps import RecordState, Step
from tests.support.events import event

META = SessionMeta(
    schema_version=1, thread_id="t", session_id="s", agent=AgentRef(name="mine"), source="resumed",
    cwd="/x", created_at="2026-11-30T10:00:00.000Z", reason="resume",
)  # fmt: skip
CLOSED = RestoreClosed(restore_id="r", outcome="rolledBack")
BOUND = WorktreeBound(cwd="/w", cause="userChoice", root="/w", made=True)
LOST = StateInvalidated(subsystem="operations", keys=("/w/a.py",), reason="made new")
ENDED = SessionEnded(reason="rolledBack", clean=False)


def left(*payloads: Payload) -> list[Payload]:
    return [each.payload for each in left_behind([event(payload) for payload in (META, *payloads)])]


def test_only_the_place_counts_and_only_behind_the_end() -> None:
    step = RestoreStep(restore_id="r", n=1, state="done")
    asked = PermissionsSet(cause="resume", approval="never")
    assert left(step, BOUND, LOST, asked, CLOSED, BOUND, LOST, ENDED) == [META, BOUND, LOST]
    assert left(step, BOUND, LOST, CLOSED, ENDED) == []
    assert left(step, BOUND) == []


def test_of_a_plan_the_records_of_the_place_are_taken() -> None:
    bound: tuple[str, dict[str, object]] = ("worktree_bound", {"cwd": "/w", "cause": "start"})
    lost: tuple[str, dict[str, object]] = (
        "state_invalidated",
        {"subsystem": "operations", "keys": [], "reason": "it was lost"},
    )
    others: tuple[tuple[str, dict[str, object]], ...] = (
        ("state_invalidated", {"subsystem": "verifier"}),
        ("permissions_set", {"cause": "resume"}),
    )
    steps = [
        Step(subsystem="x", title="Record", do=RecordState(events=(each,))) for each in (bound, *others, lost)
    ]
    assert place_records(steps) == (
        WorktreeBound(cwd="/w", cause="start"),
        StateInvalidated(subsystem="operations", keys=(), reason="it was lost"),
    )
