import asyncio
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import NamedTuple

import pytest

from resumed.daemon.rpc.client import Callbacks, Client, ConnectionLost
from resumed.daemon.rpc.server import Server
from resumed.protocol.daemon import ClientCapabilities, InitializeResult, ResyncNotification, StatusParams
from resumed.protocol.errors import ErrorCode, ResumedError
from resumed.protocol.restore import Answers, Question
from resumed.protocol.sessions import TurnStartParams
from resumed.protocol.threads import NameSetParams, NameSetResult, ThreadReadParams
from tests.support.fake_application import FakeApplication
from tests.support.pipes import comes_true

INTRODUCTION = InitializeResult(protocol_version="1.0", version="0", workspace_id="w", root="/w", methods=())


class Serving(NamedTuple):
    """A server within this process, with the fake application's folder."""

    server: Server
    running: asyncio.Task[None]
    path: Path
    folder: Path

    async def client(self, callbacks: Callbacks | None = None) -> Client:
        """An initialized client that can be asked."""
        client = await Client.connect(self.path, callbacks)
        await client.initialize("test", capabilities=ClientCapabilities(restore_ask=True))
        return client

    async def clients(self) -> int:
        """How many clients the server counts, the asking one left out."""
        async with await self.client() as client:
            status = await client.call("daemon/status", StatusParams())
            return int(status.clients) - 1


def listening(path: Path) -> socket.socket:
    """A bound socket."""
    found = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    found.bind(str(path))
    found.listen()
    found.setblocking(False)
    return found


@pytest.fixture
async def serving(tmp_path: Path, hermetic_home: Path) -> AsyncIterator[Serving]:
    """A running server with an open application."""
    path = hermetic_home / "s"
    server = Server(INTRODUCTION, "/state", idle_seconds=900)
    running = asyncio.ensure_future(server.run(listening(path)))
    server.open(FakeApplication(str(tmp_path), server.broadcast))
    yield Serving(server, running, path, tmp_path)
    server.stop()
    await asyncio.wait_for(running, 30)


async def test_it_says_what_it_is(serving: Serving) -> None:
    async with await serving.client() as client:
        status = await client.call("daemon/status", StatusParams())
        assert (status.root, status.state_folder, status.clients) == ("/w", "/state", 1)
        assert serving.server.introduced.is_set()


async def test_clients_are_served_at_the_same_time_and_apart(serving: Serving) -> None:
    async with await serving.client() as first, await serving.client() as second:
        waiting = asyncio.ensure_future(first.call("thread/read", ThreadReadParams(thread="wait")))
        await comes_true((serving.folder / "waiting-wait").exists)
        params = NameSetParams(thread_id="t", name="n")
        assert await second.call("thread/name/set", params) == NameSetResult(thread_id="t", name="n")
        waiting.cancel()
        await asyncio.wait([waiting])
        assert await first.call("thread/name/set", params) == NameSetResult(thread_id="t", name="n")


async def test_a_broadcast_reaches_initialized_clients_only(serving: Serving) -> None:
    told, untold = asyncio.Event(), asyncio.Event()
    heard = Callbacks(notification=lambda method, params: told.set())
    unheard = Callbacks(notification=lambda method, params: untold.set())
    async with await serving.client(heard), await Client.connect(serving.path, unheard) as silent:
        with pytest.raises(ResumedError, match="not initialized"):
            await silent.call("daemon/status", StatusParams())
        serving.server.broadcast("resync", ResyncNotification(dropped=1))
        await asyncio.wait_for(told.wait(), 10)
        await silent.initialize("late")
        assert not untold.is_set()


async def test_a_question_goes_to_the_client_that_asked_for_it(serving: Serving) -> None:
    async def answer(question: Question) -> Answers:
        return Answers(cancelled=question.thread_name == "Fix it")

    async with await serving.client(Callbacks(question=answer)) as client:
        result = await client.call("turn/start", TurnStartParams(session_id="s", message="m"))
        assert result.token == repr(Answers(cancelled=True))


async def test_a_client_that_leaves_its_question_answers_none(serving: Serving) -> None:
    asked = asyncio.Event()

    async def never(question: Question) -> Answers:
        asked.set()
        await asyncio.Event().wait()
        return Answers()

    client = await serving.client(Callbacks(question=never))
    waiting = asyncio.ensure_future(client.call("turn/start", TurnStartParams(session_id="s", message="m")))
    await asked.wait()
    await client.close()
    with pytest.raises(ConnectionLost):
        await waiting
    await comes_true((serving.folder / "asked").exists)
    assert (serving.folder / "asked").read_text() == "None"
    assert await serving.clients() == 0


async def test_stopping_cancels_what_does_not_finish(
    serving: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("resumed.daemon.rpc.server._DRAIN_SECONDS", 0.01)
    async with await serving.client() as client:
        waiting = asyncio.ensure_future(client.call("thread/read", ThreadReadParams(thread="wait")))
        await comes_true((serving.folder / "waiting-wait").exists)
        serving.server.stop()
        with pytest.raises(ResumedError) as caught:
            await waiting
        assert caught.value.code is ErrorCode.REQUEST_CANCELLED
        await asyncio.wait_for(asyncio.shield(serving.running), 30)
        with pytest.raises(ConnectionLost):
            await client.call("daemon/status", StatusParams())


async def test_it_stops_when_idle_but_not_before_it_has_opened(tmp_path: Path, hermetic_home: Path) -> None:
    server = Server(INTRODUCTION, "/state", idle_seconds=0.01)
    running = asyncio.ensure_future(server.run(listening(hermetic_home / "s")))
    done, _ = await asyncio.wait([running], timeout=0.2)
    assert not done
    server.open(FakeApplication(str(tmp_path), server.broadcast))
    await asyncio.wait_for(running, 30)
