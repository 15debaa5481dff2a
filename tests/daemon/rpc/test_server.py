import asyncio
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from resumed.daemon.rpc import server as server_module
from resumed.daemon.rpc.client import Callbacks, Client, ConnectionLost
from resumed.daemon.rpc.server import Server
from resumed.protocol.daemon import (
    ClientCapabilities,
    DrainParams,
    InitializeResult,
    ResyncNotification,
    StatusParams,
)
from resumed.protocol.errors import ErrorCode, ResumedError
from resumed.protocol.restore import Answers, Question
from resumed.protocol.sessions import AgentInfo, OperationBeginParams, SessionStartParams, TurnStartParams
from resumed.protocol.threads import NameSetParams, NameSetResult, ThreadReadParams
from tests.support.fake_application import FakeApplication
from tests.support.pipes import comes_true

INTRODUCTION = InitializeResult(protocol_version="1.0", version="0", workspace_id="w", root="/w", methods=())


class Serving(NamedTuple):
    """A server within this process, with the fake application's folder."""

    server: Server
    running: asyncio.Task[tuple[str, ...]]
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
        assert await asyncio.wait_for(asyncio.shield(serving.running), 30) == ()
        with pytest.raises(ConnectionLost):
            await client.call("daemon/status", StatusParams())


async def test_it_stops_when_idle_but_not_before_it_has_opened(tmp_path: Path, hermetic_home: Path) -> None:
    server = Server(INTRODUCTION, "/state", idle_seconds=0.01)
    running = asyncio.ensure_future(server.run(listening(hermetic_home / "s")))
    done, _ = await asyncio.wait([running], timeout=0.2)
    assert not done
    server.open(FakeApplication(str(tmp_path), server.broadcast))
    await asyncio.wait_for(running, 30)


FINISH = OperationBeginParams(session_id="s", operation_id="o", tool="finish", args={})
START = SessionStartParams(agent=AgentInfo(name="agent"), cwd="/w")
SPIN = 40


async def refusal(client: Client, method: str, params: Any) -> ResumedError:
    """The refusal of a call."""
    with pytest.raises(ResumedError) as caught:
        await client.call(method, params)
    return caught.value


async def leaves_while_it_runs(serving: Serving) -> None:
    """A client begins an operation that waits for a file `go`, and hangs up."""
    client = await serving.client()
    waiting = asyncio.ensure_future(client.call("operation/begin", FINISH))
    await comes_true((serving.folder / "begun").exists)
    await client.close()
    with pytest.raises(ConnectionLost):
        await waiting


async def test_a_client_is_gone_only_when_its_requests_are_finished(serving: Serving) -> None:
    await leaves_while_it_runs(serving)
    assert await serving.clients() == 1
    (serving.folder / "go").touch()
    await comes_true((serving.folder / "finished").exists)
    assert (serving.folder / "finished").read_text() == "gone: False"
    async with await serving.client() as client:
        while (await client.call("daemon/status", StatusParams())).clients != 1:
            pass


async def test_a_request_that_does_not_end_keeps_a_left_client_only_so_long(
    serving: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module, "_LEAVING_SECONDS", 0.0)
    await leaves_while_it_runs(serving)
    await comes_true(lambda: all(s.connection.gone.is_set() for s in serving.server._clients.values()))
    (serving.folder / "go").touch()
    await comes_true((serving.folder / "finished").exists)
    assert (serving.folder / "finished").read_text() == "gone: True"


async def test_stopping_names_what_cannot_be_cancelled(
    serving: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module, "_DRAIN_SECONDS", 0.01)
    monkeypatch.setattr(server_module, "_CANCEL_SECONDS", 0.01)
    staying, leaving = await serving.client(), await serving.client()
    stubborn = ThreadReadParams(thread="stubborn")
    waiting = [asyncio.ensure_future(c.call("thread/read", stubborn)) for c in (staying, leaving)]
    await comes_true((serving.folder / "waiting-stubborn").exists)
    await leaving.close()
    serving.server.stop()
    unfinished = await asyncio.wait_for(asyncio.shield(serving.running), 30)
    assert unfinished == ("thread/read", "thread/read")
    (serving.folder / "go").touch()
    await staying.close()
    await asyncio.gather(*waiting, return_exceptions=True)


async def test_draining_waits_for_open_sessions_and_takes_no_new_ones(serving: Serving) -> None:
    (serving.folder / "busy").touch()
    async with await serving.client() as agent, await serving.client() as newer:
        assert (await newer.call("daemon/drain", DrainParams())).draining
        assert (await newer.call("daemon/drain", DrainParams())).draining
        await comes_true((serving.folder / "busy-asked-2").exists)
        for method, params in (("session/start", START), ("thread/resume", ThreadReadParams(thread="t"))):
            assert (await refusal(agent, method, params)).code is ErrorCode.DRAINING
        named = NameSetParams(thread_id="t", name="goes on")
        assert (await agent.call("thread/name/set", named)).name == "goes on"
        async with await serving.client() as late:
            notes = (await late.call("daemon/status", StatusParams())).notes
        assert notes == ("The daemon takes no new sessions; it ends when those that are open have ended.",)
        assert not serving.running.done()
        (serving.folder / "busy").unlink()
        assert await asyncio.wait_for(asyncio.shield(serving.running), 30) == ()


async def test_draining_lets_running_requests_finish(serving: Serving) -> None:
    async with await serving.client() as client, await serving.client() as newer:
        waiting = asyncio.ensure_future(client.call("operation/begin", FINISH))
        await comes_true((serving.folder / "begun").exists)
        await newer.call("daemon/drain", DrainParams())
        assert await serving.clients() == 2
        (serving.folder / "go").touch()
        assert (await waiting).state == "begun"
        await asyncio.wait_for(asyncio.shield(serving.running), 30)


async def test_a_signal_ends_even_a_draining_daemon_that_is_needed(serving: Serving) -> None:
    (serving.folder / "busy").touch()
    async with await serving.client() as newer:
        await newer.call("daemon/drain", DrainParams())
        serving.server.stop()
        await asyncio.wait_for(asyncio.shield(serving.running), 30)


async def test_without_idle_time_it_looks_only_now_and_then_whether_it_is_needed(
    tmp_path: Path, hermetic_home: Path
) -> None:
    (tmp_path / "busy").touch()
    server = Server(INTRODUCTION, "/state", idle_seconds=0.0)
    running = asyncio.ensure_future(server.run(listening(hermetic_home / "s")))
    server.open(FakeApplication(str(tmp_path), server.broadcast))
    await comes_true((tmp_path / "busy-asked-1").exists)
    await asyncio.wait([running], timeout=server_module._BUSY_SECONDS / 2)
    assert len(list(tmp_path.glob("busy-asked-*"))) < SPIN
    (tmp_path / "busy").unlink()
    await asyncio.wait_for(running, 30)


FULL = ResumedError(ErrorCode.STATE_READ_ONLY, "The disk is full.", "Make room.")


async def test_one_that_lost_what_it_keeps_serves_nobody_new_and_ends(serving: Serving) -> None:
    async with await serving.client():
        (serving.folder / "busy").touch()
        (serving.folder / "outlived").touch()
        assert await serving.clients() == 1
        (serving.folder / "busy").unlink()
        with pytest.raises(ConnectionLost):
            await serving.client()
        await asyncio.wait_for(serving.running, 30)


async def test_one_that_lost_what_it_keeps_ends_once_it_is_not_needed(serving: Serving) -> None:
    async with await serving.client():
        (serving.folder / "busy").touch()
        (serving.folder / "outlived").touch()
    assert await serving.clients() == 0
    (serving.folder / "busy").unlink()
    await asyncio.wait_for(serving.running, 30)


async def test_a_failed_daemon_says_why_and_ends_when_its_client_has_left(
    hermetic_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module, "_FAILED_SECONDS", 900)
    path = hermetic_home / "s"
    server = Server(INTRODUCTION, "/state", idle_seconds=900)
    running = asyncio.ensure_future(server.run(listening(path)))
    server.fail(FULL)
    async with await Client.connect(path) as client:
        await client.initialize("test")
        told = await refusal(client, "thread/name/set", NameSetParams(thread_id="t", name="n"))
        assert (told.code, told.sentence, told.data.hint) == (FULL.code, FULL.sentence, "Make room.")
        assert (await client.call("daemon/status", StatusParams())).notes == ("The disk is full.",)
    await asyncio.wait_for(running, 30)


async def test_a_client_that_stays_does_not_keep_a_failed_daemon(
    hermetic_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module, "_FAILED_SECONDS", 0.2)
    path = hermetic_home / "s"
    server = Server(INTRODUCTION, "/state", idle_seconds=900)
    running = asyncio.ensure_future(server.run(listening(path)))
    server.fail(FULL)
    async with await Client.connect(path) as staying:
        await staying.initialize("test")
        await asyncio.wait_for(asyncio.shield(running), 30)
    assert running.done()


async def test_reading_pauses_while_too_much_is_unanswered(
    serving: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("resumed.daemon.rpc.inbound._MOST_REQUESTS", 1)
    monkeypatch.setattr("resumed.daemon.rpc.inbound._PATIENCE_SECONDS", 30)
    async with await serving.client() as client:
        first = asyncio.ensure_future(client.call("operation/begin", FINISH))
        await comes_true((serving.folder / "begun").exists)
        named = NameSetParams(thread_id="t", name="waits")
        second = asyncio.ensure_future(client.call("thread/name/set", named))
        assert await serving.clients() == 1
        assert not second.done()
        (serving.folder / "go").touch()
        assert (await first).state == "begun"
        assert (await second).name == "waits"
