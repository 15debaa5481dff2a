import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from resumed.daemon.rpc.client import Callbacks, Client, ConnectionLost
from resumed.daemon.rpc.framing import FrameReader, Framing, frame
from resumed.daemon.rpc.messages import (
    Message,
    Notification,
    Request,
    Response,
    error_body,
    notification_body,
    read_message,
    request_body,
    result_body,
)
from resumed.protocol.daemon import ENVIRONMENT, ResyncNotification, StatusParams
from resumed.protocol.errors import ErrorCode, ResumedError
from resumed.protocol.restore import Answers, Question, Wire
from resumed.protocol.threads import NameSetParams, NameSetResult
from tests.support.fake_application import QUESTION
from tests.support.strangers import listening_stranger

PARAMS = NameSetParams(thread_id="t", name="n")
RESULT = NameSetResult(thread_id="t", name="n")


class ScriptedDaemon:
    """The other side of a client: what arrives is read one by one, what is sent is up to the test."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._connected: asyncio.Future[tuple[FrameReader, asyncio.StreamWriter]] = asyncio.Future()

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Take the one client."""
        self._connected.set_result((FrameReader(reader), writer))

    async def next(self) -> Message:
        """The next message of the client."""
        frames, _ = await self._connected
        found = await asyncio.wait_for(frames.read(), 10)
        assert found is not None
        return read_message(found.body)

    async def request(self) -> Request:
        """The next message, a request."""
        message = await self.next()
        assert isinstance(message, Request)
        return message

    async def send(self, *bodies: bytes) -> None:
        """Send messages to the client."""
        _, writer = await self._connected
        for body in bodies:
            writer.write(frame(body, Framing.HEADERS))

    async def hang_up(self) -> None:
        """Close the client's connection."""
        _, writer = await self._connected
        writer.close()


@asynccontextmanager
async def scripted(
    path: Path, callbacks: Callbacks | None = None
) -> AsyncIterator[tuple[ScriptedDaemon, Client]]:
    """A scripted daemon and a client of it."""
    daemon = ScriptedDaemon(path)
    server = await asyncio.start_unix_server(daemon.accept, str(path))
    async with await Client.connect(path, callbacks) as client:
        yield daemon, client
    server.close()


@pytest.fixture
def path(hermetic_home: Path) -> Path:
    """Where the scripted daemon listens."""
    return hermetic_home / "s"


async def test_results_come_in_their_type_in_any_order(path: Path) -> None:
    async with scripted(path) as (daemon, client):
        calls = [asyncio.ensure_future(client.call("thread/name/set", PARAMS)) for _ in range(2)]
        first, second = await daemon.request(), await daemon.request()
        assert (first.method, first.params) == ("thread/name/set", {"threadId": "t", "name": "n"})
        other = NameSetResult(thread_id="t", name="second")
        await daemon.send(
            result_body(second.id, other), result_body(99, other), result_body(first.id, RESULT)
        )
        assert await asyncio.gather(*calls) == [RESULT, other]


async def test_refusals_are_raised_as_the_daemon_raised_them(path: Path) -> None:
    async with scripted(path) as (daemon, client):
        call = asyncio.ensure_future(client.call("thread/name/set", PARAMS))
        refusal = ResumedError(ErrorCode.THREAD_AMBIGUOUS, "Two.", "Say which.", candidates=("a", "b"))
        await daemon.send(error_body((await daemon.request()).id, refusal))
        with pytest.raises(ResumedError, match=r"Two\.") as caught:
            await call
        assert (caught.value.code, caught.value.data) == (refusal.code, refusal.data)


async def test_an_error_about_the_stream_ends_every_call(path: Path) -> None:
    async with scripted(path) as (daemon, client):
        calls = [asyncio.ensure_future(client.call("thread/name/set", PARAMS)) for _ in range(2)]
        await daemon.request()
        await daemon.send(error_body(None, ResumedError(ErrorCode.FRAME_TOO_LARGE, "Large.", "")))
        results = await asyncio.gather(*calls, return_exceptions=True)
        assert [str(result) for result in results] == ["Large.", "Large."]


async def test_a_lost_connection_ends_calls_and_refuses_new_ones(path: Path) -> None:
    async with scripted(path) as (daemon, client):
        call = asyncio.ensure_future(client.call("thread/name/set", PARAMS))
        await daemon.request()
        await daemon.hang_up()
        with pytest.raises(ConnectionLost):
            await call
        with pytest.raises(ConnectionLost):
            await client.call("daemon/status", StatusParams())


async def test_nobody_listening_is_an_os_error(path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        await Client.connect(path)


async def test_cancelling_a_call_cancels_the_request(path: Path) -> None:
    async with scripted(path) as (daemon, client):
        call = asyncio.ensure_future(client.call("thread/name/set", PARAMS))
        request = await daemon.request()
        call.cancel()
        assert await daemon.next() == Notification("$/cancelRequest", {"id": request.id})
        with pytest.raises(asyncio.CancelledError):
            await call


async def test_questions_are_answered_by_the_callback(path: Path) -> None:
    async def answer(question: Question) -> Answers:
        return Answers(cancelled=question == QUESTION)

    async with scripted(path, Callbacks(question=answer)) as (daemon, _):
        await daemon.send(request_body("resumed:1", "restore/ask", QUESTION))
        answered = await daemon.next()
        assert answered == Response("resumed:1", {"answers": {}, "cancelled": True}, None)


@pytest.mark.parametrize(
    ("method", "params", "code"), [("restore/ask", {"round": "1"}, -32602), ("other", {}, -32601)]
)
async def test_other_requests_of_the_daemon_are_refused(
    path: Path, method: str, params: object, code: int
) -> None:
    async with scripted(path) as (daemon, _):
        await daemon.send(request_body("resumed:1", method, params))
        refused = await daemon.next()
        assert isinstance(refused, Response)
        assert refused.error["code"] == code


async def test_notifications_come_in_their_type(path: Path) -> None:
    seen: asyncio.Queue[tuple[str, Wire]] = asyncio.Queue()

    def note(method: str, params: Wire) -> None:
        seen.put_nowait((method, params))

    async with scripted(path, Callbacks(notification=note)) as (daemon, _):
        await daemon.send(
            notification_body("unknown", {}),
            notification_body("resync", {"dropped": "x"}),
            notification_body("resync", ResyncNotification(dropped=3)),
        )
        assert await asyncio.wait_for(seen.get(), 10) == ("resync", ResyncNotification(dropped=3))


async def test_another_user_s_socket_is_told_nothing(path: Path) -> None:
    with listening_stranger(path) as heard:
        with pytest.raises(ResumedError, match="Another user's process listens"):
            await Client.connect(path)
        assert await asyncio.to_thread(heard) == b""


async def test_initialize_sends_who_we_are_and_of_the_environment_only_what_is_listed(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("API_KEY", "GIT_CONFIG_VALUE_0", "GIT_ASKPASS", "HOME", "VIRTUAL_ENV", "GIT_DIR"):
        monkeypatch.setenv(name, f"the {name}")
    async with scripted(path) as (daemon, client):
        call = asyncio.ensure_future(client.initialize("resumed threads", "1"))
        request = await daemon.request()
        assert request.params["protocolVersion"] == "1.0"
        assert request.params["client"]["name"] == "resumed threads"
        sent = request.params["client"]["env"]
        assert set(sent) <= set(ENVIRONMENT)
        assert {"PATH", "CODEX_HOME", "CLAUDE_CONFIG_DIR"} <= set(sent)
        assert (sent["VIRTUAL_ENV"], sent["GIT_DIR"]) == ("the VIRTUAL_ENV", "the GIT_DIR")
        plain = {"protocolVersion": "1.0", "version": "1", "workspaceId": "w", "root": "/", "methods": []}
        await daemon.send(result_body(request.id, plain))
        assert (await call).workspace_id == "w"
