"""Agents that speak to the daemon directly: their runs, turns and events, and every refusal they can get.

A refusal changes nothing: where that could fail, the streams are compared byte by byte.
"""

import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from resumed.daemon.rpc.client import Client
from resumed.protocol.daemon import StatusParams
from resumed.protocol.errors import ErrorCode, ResumedError
from resumed.protocol.restore import Outcome, Wire
from resumed.protocol.sessions import (
    AgentInfo,
    CostUpdated,
    EventAppendParams,
    OperationBeginParams,
    OperationCommitParams,
    SessionEndParams,
    SessionStartParams,
    SessionStartResult,
    ThreadParams,
    TodosUpdated,
    TodosUpdateParams,
    TurnCompleteParams,
    TurnStartParams,
)
from resumed.protocol.threads import ThreadReadParams, TodoView
from tests.support import payments
from tests.support.killed_agent import events, listed, read, session_file, stream_bytes
from tests.support.repository import Repository
from tests.support.workspace import Person, choosing, client, resume, serving, suggested

NOWHERE = "00000000-0000-4000-8000-000000000000"


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Repository]:
    """The project on `fix/payment`, with its daemon running."""
    repository = payments.build_projects(tmp_path / "dev").payments
    with serving(repository.root):
        await listed(repository.root)
        yield repository


@pytest.fixture
async def agent(place: Repository) -> AsyncIterator[Client]:
    """A connected agent that has not begun a run."""
    async with client(place.root, name="mender") as connection:
        yield connection


def start(place: Repository, **more: Any) -> SessionStartParams:
    """The parameters of a run in the project."""
    plain = SessionStartParams(agent=AgentInfo(name="mender"), cwd=str(place.root))
    return msgspec.structs.replace(plain, **more)


def an_event(run: SessionStartResult, kind: str, payload: dict[str, Any], **more: Any) -> EventAppendParams:
    """An event to append, under a fresh id unless one is given."""
    event_id = more.pop("event_id", str(uuid.uuid4()))
    return EventAppendParams(session_id=run.session_id, event_id=event_id, type=kind, payload=payload, **more)


def usage(usage_id: str, cost: float | None = None) -> dict[str, Any]:
    """The payload of one request's tokens."""
    return payments.usage(usage_id, cost)


async def refused(agent: Client, code: ErrorCode, method: str, params: Wire) -> ResumedError:
    """Call a method that must be refused so, and check that nothing was written by it."""
    before = stream_bytes()
    with pytest.raises(ResumedError) as refusal:
        await agent.call(method, params)
    assert refusal.value.code is code, refusal.value
    assert refusal.value.data.hint
    assert stream_bytes() == before
    return refusal.value


async def until(agent: Client, person: Person, method: str) -> Any:
    """The first notification of that method that another client was told."""
    while True:
        for told, params in person.told:
            if told == method:
                return params
        await agent.call("daemon/status", StatusParams())


async def until_free(connection: Client) -> None:
    """Return once the daemon has seen that the agent is gone."""
    while True:
        status = await connection.call("daemon/status", StatusParams())
        if not status.leases:
            return


async def test_a_run_begins_where_the_workspace_is(place: Repository, agent: Client) -> None:
    run: SessionStartResult = await agent.call("session/start", start(place, name="Rounding", model="sol-2"))
    assert run.resumed_from is None
    whole = await read(place.root, run.thread_id)
    assert (whole.name, whole.agent, whole.model.model) == ("Rounding", "mender", "sol-2")
    assert (whole.place.root, whole.place.branch) == (str(place.root), "fix/payment")
    assert whole.place.sha == place.head()
    assert [each.session_id for each in whole.runs] == [run.session_id]


async def test_a_run_elsewhere_is_refused(place: Repository, agent: Client, tmp_path: Path) -> None:
    (tmp_path / "dev" / "repo-a-not").mkdir()
    (place.root / "link").symlink_to(tmp_path)
    for cwd in (str(tmp_path), "/", "..", str(place.root) + "-not", str(place.root / "link")):
        await refused(agent, ErrorCode.WORKSPACE_REFUSED, "session/start", start(place, cwd=cwd))
    for cwd in ("rounding.py", "missing"):
        await refused(agent, ErrorCode.WORKSPACE_REFUSED, "session/start", start(place, cwd=cwd))


async def test_a_run_of_an_unknown_thread_is_refused(place: Repository, agent: Client) -> None:
    unknown = start(place, thread_id=NOWHERE)
    await refused(agent, ErrorCode.THREAD_NOT_FOUND, "session/start", unknown)
    for bad in ("../../etc", "x", ""):
        await refused(agent, ErrorCode.INVALID_PARAMS, "session/start", start(place, thread_id=bad))
        await refused(agent, ErrorCode.INVALID_PARAMS, "session/start", start(place, session_id=bad))


async def test_the_session_of_another_thread_is_refused(place: Repository, agent: Client) -> None:
    first = await agent.call("session/start", start(place))
    second = await agent.call("session/start", start(place))
    crossed = start(place, thread_id=second.thread_id, session_id=first.session_id)
    await agent.call("session/end", SessionEndParams(session_id=second.session_id))
    await refused(agent, ErrorCode.SESSION_EXISTS, "session/start", crossed)
    await agent.call("session/end", SessionEndParams(session_id=first.session_id))
    await refused(agent, ErrorCode.SESSION_EXISTS, "session/start", crossed)
    await refused(agent, ErrorCode.SESSION_ENDED, "session/start", start(place, session_id=first.session_id))


async def test_an_ended_run_is_over(place: Repository, agent: Client) -> None:
    run = await agent.call("session/start", start(place))
    ended = await agent.call("session/end", SessionEndParams(session_id=run.session_id, reason="quit"))
    assert ended.last_durable_event > 1
    over = start(place, thread_id=run.thread_id, session_id=run.session_id)
    await refused(agent, ErrorCode.SESSION_ENDED, "session/start", over)
    turn = TurnStartParams(session_id=run.session_id, message="more")
    await refused(agent, ErrorCode.SESSION_NOT_FOUND, "turn/start", turn)
    end = SessionEndParams(session_id=run.session_id)
    await refused(agent, ErrorCode.SESSION_NOT_FOUND, "session/end", end)
    (row,) = (await listed(place.root)).threads
    assert (row.state, row.runs) == ("idle", 1)
    assert (await read(place.root, run.thread_id)).runs[0].ended == "quit"
    again = await agent.call("session/start", start(place, thread_id=run.thread_id))
    assert (again.thread_id, again.resumed_from) == (run.thread_id, run.session_id)
    assert again.session_id != run.session_id


async def test_a_run_of_another_client_is_not_ours(place: Repository, agent: Client) -> None:
    run = await agent.call("session/start", start(place))
    assert (
        await agent.call("session/start", start(place, thread_id=run.thread_id, session_id=run.session_id))
        == run
    )
    async with client(place.root, name="other") as other:
        turn = TurnStartParams(session_id=run.session_id, message="mine")
        await refused(other, ErrorCode.SESSION_NOT_FOUND, "turn/start", turn)
        taken = start(place, thread_id=run.thread_id, session_id=run.session_id)
        refusal = await refused(other, ErrorCode.THREAD_BUSY, "session/start", taken)
    assert refusal.data.holder is not None
    assert refusal.data.holder.name == "mender"


async def test_turns_do_not_overlap(place: Repository, agent: Client) -> None:
    run = await agent.call("session/start", start(place))
    event_id = str(uuid.uuid4())
    first = TurnStartParams(session_id=run.session_id, message="one", event_id=event_id)
    turn = await agent.call("turn/start", first)
    assert await agent.call("turn/start", first) == turn
    second = TurnStartParams(session_id=run.session_id, message="two")
    await refused(agent, ErrorCode.TURN_BUSY, "turn/start", second)

    done = TurnCompleteParams(session_id=run.session_id, turn_id=turn.turn_id, token=turn.token, message="ok")
    wrong = TurnCompleteParams(session_id=run.session_id, turn_id=turn.turn_id, token="0" * 32)
    await refused(agent, ErrorCode.TURN_NOT_FOUND, "turn/complete", wrong)
    completed = await agent.call("turn/complete", done)
    again = await agent.call("turn/complete", done)
    assert (completed.repeated, again.repeated) == (False, True)
    assert again.last_durable_event == completed.last_durable_event
    assert await agent.call("turn/start", first) == turn

    after = await agent.call("turn/start", second)
    assert after.turn_id != turn.turn_id
    await agent.call(
        "turn/complete",
        TurnCompleteParams(session_id=run.session_id, turn_id=after.turn_id, token=after.token),
    )
    before = stream_bytes()
    assert await agent.call("turn/start", first) == turn
    assert stream_bytes() == before
    conversation = (await read(place.root, run.thread_id)).conversation
    assert (conversation.user_turns, conversation.entries) == (2, 3)


async def test_a_turn_ends_only_in_a_known_way(place: Repository, agent: Client) -> None:
    run = await agent.call("session/start", start(place))
    turn = await agent.call("turn/start", TurnStartParams(session_id=run.session_id, message="one"))
    odd = TurnCompleteParams(
        session_id=run.session_id, turn_id=turn.turn_id, token=turn.token, status="exploded"
    )
    await refused(agent, ErrorCode.INVALID_PARAMS, "turn/complete", odd)


async def test_only_an_agents_events_are_taken(place: Repository, agent: Client) -> None:
    run = await agent.call("session/start", start(place))
    for kind in ("session_meta", "restore_closed", "turn_ended", "operation_settled", "note", "nonsense"):
        await refused(agent, ErrorCode.EVENT_REFUSED, "event/append", an_event(run, kind, {}))
    bad: list[tuple[str, dict[str, Any]]] = [
        ("usage_recorded", {}),
        ("usage_recorded", {**usage("u"), "input_tokens": "many"}),
        ("check_recorded", {"check_id": "tests", "command": "pytest", "result": ["failed"]}),
        ("entry_added", {"kind": "message", "role": 7}),
    ]
    for kind, payload in bad:
        await refused(agent, ErrorCode.INVALID_PARAMS, "event/append", an_event(run, kind, payload))
    for more in ({"event_id": "mine"}, {"at": "yesterday"}, {"turn_id": "../x"}):
        odd = an_event(run, "usage_recorded", usage("u"), **more)
        await refused(agent, ErrorCode.INVALID_PARAMS, "event/append", odd)


async def test_an_event_counts_once(place: Repository, agent: Client) -> None:
    run = await agent.call("session/start", start(place))
    event_id = str(uuid.uuid4())
    params = an_event(run, "usage_recorded", usage("one", 0.25), event_id=event_id)
    first = await agent.call("event/append", params)
    again = await agent.call("event/append", params)
    assert (first.repeated, again.repeated) == (False, True)
    assert (again.seq, again.last_durable_event) == (first.seq, first.last_durable_event)
    other = an_event(run, "usage_recorded", usage("two", 9.0), event_id=event_id)
    await refused(agent, ErrorCode.EVENT_CONFLICT, "event/append", other)
    await agent.call("event/append", an_event(run, "usage_recorded", usage("one", 0.25)))
    cost = await agent.call("cost/read", ThreadParams(thread_id=run.thread_id))
    assert (cost.usd, cost.total.input) == (0.25, 61_000)


async def test_other_clients_are_told_of_cost_and_todos(place: Repository, agent: Client) -> None:
    watching = Person(suggested)
    async with client(place.root, watching, name="editor"):
        run = await agent.call("session/start", start(place))
        await agent.call("event/append", an_event(run, "usage_recorded", usage("one", 1.5)))
        cost = await until(agent, watching, "cost/updated")
        items = (TodoView(id="1", text="Round", status="pending"),)
        todos = await agent.call("todos/update", TodosUpdateParams(session_id=run.session_id, items=items))
        told = await until(agent, watching, "todos/updated")
    assert isinstance(cost, CostUpdated)
    assert (cost.thread_id, cost.cost.usd) == (run.thread_id, 1.5)
    assert told == TodosUpdated(thread_id=run.thread_id, todos=todos)


async def test_a_list_that_somebody_else_changed_is_not_overwritten(place: Repository, agent: Client) -> None:
    run = await agent.call("session/start", start(place))
    items = (TodoView(id="1", text="Round", status="pending"),)
    first = await agent.call("todos/update", TodosUpdateParams(session_id=run.session_id, items=items))
    async with client(place.root, name="editor") as editor:
        mine = (TodoView(id="1", text="Round JPY", status="pending"),)
        by_person = TodosUpdateParams(thread_id=run.thread_id, items=mine, base_revision=first.revision)
        changed = await editor.call("todos/update", by_person)
    assert [item.text for item in changed.items] == ["Round JPY"]
    stale = TodosUpdateParams(session_id=run.session_id, items=items, base_revision=first.revision)
    await refused(agent, ErrorCode.REVISION_STALE, "todos/update", stale)
    odd = (TodoView(id="1", text="Round", status="soon"),)
    for params in (
        TodosUpdateParams(session_id=run.session_id, items=odd),
        TodosUpdateParams(items=items),
    ):
        await refused(agent, ErrorCode.INVALID_PARAMS, "todos/update", params)
    assert await agent.call("todos/read", ThreadParams(thread_id=run.thread_id)) == changed


async def test_an_operation_is_settled_only_if_it_was_begun(place: Repository, agent: Client) -> None:
    run = await agent.call("session/start", start(place))
    commit = OperationCommitParams(session_id=run.session_id, operation_id="op-1")
    await refused(agent, ErrorCode.OPERATION_NOT_FOUND, "operation/commit", commit)
    for bad in (
        OperationBeginParams(session_id=run.session_id, operation_id="../x", tool="run"),
        OperationBeginParams(session_id=run.session_id, operation_id="op-1", tool="run", kind="magic"),
        OperationBeginParams(session_id=run.session_id, operation_id="op-1", tool="run", turn_id="no id"),
    ):
        await refused(agent, ErrorCode.INVALID_PARAMS, "operation/begin", bad)
    begun = OperationBeginParams(session_id=run.session_id, operation_id="op-1", tool="run")
    await agent.call("operation/begin", begun)
    odd = OperationCommitParams(session_id=run.session_id, operation_id="op-1", state="maybe")
    await refused(agent, ErrorCode.INVALID_PARAMS, "operation/commit", odd)
    settled = await agent.call(
        "operation/commit",
        OperationCommitParams(session_id=run.session_id, operation_id="op-1", state="denied"),
    )
    assert settled.state == "denied"
    assert (await agent.call("operation/begin", begun)).state == "denied"


@pytest.mark.parametrize(("open_turn", "state"), [(True, "interrupted"), (False, "idle")])
async def test_an_agent_that_goes_without_goodbye(place: Repository, open_turn: bool, state: str) -> None:
    watching = Person(suggested)
    async with client(place.root, watching) as other:
        async with client(place.root, name="mender") as agent:
            run = await agent.call("session/start", start(place))
            if open_turn:
                await agent.call("turn/start", TurnStartParams(session_id=run.session_id, message="one"))
            assert (await listed(place.root)).threads[0].state == "running"
        await until_free(other)
        whole = await other.call("thread/read", ThreadReadParams(thread=run.thread_id))
    assert whole.state == state
    assert whole.runs[0].ended is None


async def test_a_run_that_lost_its_connection_is_taken_up_again(place: Repository) -> None:
    async with client(place.root) as agent:
        run = await agent.call("session/start", start(place))
        turn = await agent.call("turn/start", TurnStartParams(session_id=run.session_id, message="one"))
    async with client(place.root) as agent:
        await until_free(agent)
        same = await agent.call(
            "session/start", start(place, thread_id=run.thread_id, session_id=run.session_id)
        )
        assert same == run
        done = TurnCompleteParams(session_id=run.session_id, turn_id=turn.turn_id, token=turn.token)
        assert (await agent.call("turn/complete", done)).repeated is False
    assert len((await read(place.root, run.thread_id)).runs) == 1


async def test_the_agent_goes_on_in_the_run_that_resume_made(place: Repository) -> None:
    async with client(place.root) as agent:
        run = await agent.call("session/start", start(place, name="Rounding"))
        await agent.call("turn/start", TurnStartParams(session_id=run.session_id, message="one"))
        cut_off = OperationBeginParams(session_id=run.session_id, operation_id="op-1", tool="run")
        await agent.call("operation/begin", cut_off)
    async with client(place.root) as agent:
        await until_free(agent)
    report, _ = await resume(place.root, run.thread_id)
    assert report.outcome is Outcome.RESTORED
    assert report.session_id is not None
    async with client(place.root) as agent:
        late = start(place, thread_id=run.thread_id, session_id=run.session_id)
        await refused(agent, ErrorCode.SESSION_ENDED, "session/start", late)
        again = await agent.call(
            "session/start", start(place, thread_id=run.thread_id, session_id=report.session_id)
        )
        assert (again.thread_id, again.session_id, again.resumed_from) == (
            run.thread_id,
            report.session_id,
            run.session_id,
        )
        known = OperationBeginParams(session_id=again.session_id, operation_id="op-1", tool="run")
        delivered = await agent.call("operation/begin", known)
        assert (delivered.state, delivered.repeated) == ("begun", True)
        settled = OperationCommitParams(session_id=again.session_id, operation_id="op-1", result="done")
        assert (await agent.call("operation/commit", settled)).repeated is False
        assert (await agent.call("operation/begin", known)).result == "done"
        turn = await agent.call("turn/start", TurnStartParams(session_id=again.session_id, message="two"))
        done = TurnCompleteParams(session_id=again.session_id, turn_id=turn.turn_id, token=turn.token)
        await agent.call("turn/complete", done)
        await agent.call("session/end", SessionEndParams(session_id=again.session_id))
    whole = await read(place.root, run.thread_id)
    assert (whole.state, whole.conversation.user_turns) == ("idle", 2)
    assert [each.reason for each in whole.runs] == ["startup", "resume"]
    assert whole.operations.by_state == {"committed": 1}


async def test_an_answer_that_comes_after_a_resume_is_kept(place: Repository) -> None:
    async with client(place.root) as agent:
        run = await agent.call("session/start", start(place))
        turn = await agent.call("turn/start", TurnStartParams(session_id=run.session_id, message="one"))
    async with client(place.root) as agent:
        await until_free(agent)
    report, _ = await resume(place.root, run.thread_id)
    assert report.session_id is not None
    async with client(place.root) as agent:
        again = await agent.call("session/start", start(place, session_id=report.session_id))
        assert again.thread_id == run.thread_id
        late = TurnCompleteParams(
            session_id=again.session_id, turn_id=turn.turn_id, token=turn.token, message="the late answer"
        )
        completed = await agent.call("turn/complete", late)
        assert completed.repeated is False
        assert (await agent.call("turn/complete", late)).repeated is True
    assert b"the late answer" in session_file(report.session_id).read_bytes()
    conversation = (await read(place.root, run.thread_id)).conversation
    assert conversation.entries == 2


@pytest.mark.parametrize(
    ("judged", "state"), [("agentChecks", "begun"), ("finished", "committed"), ("notRun", "aborted")]
)
async def test_a_call_that_a_person_judged_stands_as_judged(
    place: Repository, judged: str, state: str
) -> None:
    async with client(place.root) as agent:
        run = await agent.call("session/start", start(place))
        cut_off = OperationBeginParams(session_id=run.session_id, operation_id="op-1", tool="run")
        await agent.call("operation/begin", cut_off)
    async with client(place.root) as agent:
        await until_free(agent)
        report, _ = await resume(place.root, run.thread_id, choosing(danglingOperation=judged))
        assert report.session_id is not None
        await agent.call("session/start", start(place, thread_id=run.thread_id, session_id=report.session_id))
        again = msgspec.structs.replace(cut_off, session_id=report.session_id)
        delivered = await agent.call("operation/begin", again)
    assert (delivered.state, delivered.repeated) == (state, True)


async def test_times_are_put_in_order_whatever_their_offset(place: Repository, agent: Client) -> None:
    run = await agent.call("session/start", start(place))
    said = an_event(run, "usage_recorded", usage("one"), at="2026-11-30T20:04:05.5+02:00")
    seq = (await agent.call("event/append", said)).seq
    stored = next(event for event in events(session_file(run.session_id)) if event.seq == seq)
    assert stored.at == "2026-11-30T18:04:05.500Z"
