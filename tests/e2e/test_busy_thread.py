"""A thread is in one hand at a time, and in nobody's once that hand is gone."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from resumed.daemon.rpc.client import Client
from resumed.protocol.daemon import StatusParams
from resumed.protocol.errors import ErrorCode, Holder, ResumedError
from resumed.protocol.resume import ThreadResumeParams
from resumed.protocol.sessions import AgentInfo, SessionStartParams
from tests.support.killed_agent import Story, read, story
from tests.support.repository import every_byte
from tests.support.wire import Wire
from tests.support.workspace import Person, client, resume, serving, suggested

EDITOR = {"name": "VS Code “repo-a”", "version": "1", "pid": 4711}


@pytest.fixture
def told(tmp_path: Path) -> Iterator[Story]:
    """The story up to the agent's death; its folder is on another branch now, so a resume asks."""
    with story(tmp_path) as each:
        each.projects.payments.git("switch", "--quiet", "main")
        yield each


def ask(wire: Wire, each: Story) -> dict[str, Any]:
    """Introduce an editor, press Resume, and return the question it is asked."""
    capabilities = {"restoreAsk": True}
    wire.call(
        "i", "resumed/initialize", {"protocolVersion": "1.0", "client": EDITOR, "capabilities": capabilities}
    )
    wire.request("r", "thread/resume", {"thread": each.thread})
    while (told := wire.read()).get("method") != "restore/ask":
        assert "method" in told, told
    params: dict[str, Any] = told["params"]
    return params


async def holder_for(connection: Client, thread: str) -> Holder:
    """Who another client is told has the thread."""
    with pytest.raises(ResumedError) as refused:
        await connection.call("thread/resume", ThreadResumeParams(thread=thread))
    assert refused.value.code is ErrorCode.THREAD_BUSY
    assert refused.value.data.holder is not None
    return refused.value.data.holder


async def until_nobody_asks(connection: Client) -> None:
    """Return once the daemon holds no lease and no question."""
    while True:
        status = await connection.call("daemon/status", StatusParams())
        if not status.leases and not status.open_questions:
            return


async def test_while_one_is_asked_the_other_is_told_who_has_it(told: Story) -> None:
    with Wire(told.daemon.place.socket) as editor:
        ask(editor, told)
        async with client(told.root, name="Neovim") as connection:
            holder = await holder_for(connection, told.thread)
            status = await connection.call("daemon/status", StatusParams())
    assert (holder.name, holder.pid) == (EDITOR["name"], EDITOR["pid"])
    assert told.daemon.place.log.exists()
    assert holder.since > (await read(told.root, told.thread)).created_at
    assert (status.leases, status.open_questions) == (1, 1)


async def test_the_daemon_of_another_workspace_says_the_same(told: Story) -> None:
    with Wire(told.daemon.place.socket) as editor, serving(told.projects.storefront.root) as other:
        ask(editor, told)
        async with client(other.folder, name="Neovim") as connection:
            assert (await holder_for(connection, told.thread)).name == EDITOR["name"]


async def test_a_client_that_dies_leaves_the_thread_free_and_as_it_was(told: Story) -> None:
    before = every_byte(told.root)
    whole = await read(told.root, told.thread)
    async with client(told.root) as connection:
        with Wire(told.daemon.place.socket) as editor:
            first = ask(editor, told)
        await until_nobody_asks(connection)
    assert every_byte(told.root) == before
    assert await read(told.root, told.thread) == whole

    with Wire(told.daemon.place.socket) as editor:
        again = ask(editor, told)
    assert (again["token"], again["drifts"]) == (first["token"], first["drifts"])
    async with client(told.root) as connection:
        await until_nobody_asks(connection)
    report, _ = await resume(told.root, told.thread)
    assert report.run == 2
    assert report.resumed_from == told.killed.session_id


async def test_a_daemon_that_dies_while_it_asks_leaves_the_thread_free(told: Story) -> None:
    before = every_byte(told.root)
    with Wire(told.daemon.place.socket) as editor:
        first = ask(editor, told)
        told.daemon.kill()
    told.daemon.start_again()
    assert every_byte(told.root) == before
    with Wire(told.daemon.place.socket) as editor:
        again = ask(editor, told)
    assert (again["token"], again["drifts"]) == (first["token"], first["drifts"])
    assert len((await read(told.root, told.thread)).runs) == 1


async def test_a_thread_that_its_agent_runs_is_not_resumed(told: Story) -> None:
    start = SessionStartParams(agent=AgentInfo(name="mender"), cwd=str(told.root), thread_id=told.thread)
    async with client(told.root, name="mender") as agent, client(told.root) as other:
        await agent.call("session/start", start)
        holder = await holder_for(other, told.thread)
    assert (holder.name, holder.pid) == ("mender", os.getpid())


async def test_leaving_the_question_frees_the_thread(told: Story) -> None:
    before = every_byte(told.root)
    report, person = await resume(told.root, told.thread, lambda drift: None)
    assert report.outcome.value == "cancelled"
    assert len(person.asked) == 1
    assert every_byte(told.root) == before
    async with client(told.root, Person(suggested)) as connection:
        again = await connection.call("thread/resume", ThreadResumeParams(thread=told.thread))
    assert again.run == 2
