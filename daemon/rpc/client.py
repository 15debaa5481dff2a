"""A small client of the daemon, for the command line and for tests.

Results come in the type of the method table, refusals as the `ResumedError` that the daemon raised.
"""

import asyncio
import contextlib
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Self

import msgspec

from resumed.daemon.rpc.framing import FrameReader, Framing, FramingError, frame
from resumed.daemon.rpc.messages import (
    Invalid,
    Message,
    Notification,
    Request,
    RequestId,
    Response,
    error_body,
    notification_body,
    read_error,
    read_message,
    request_body,
    result_body,
)
from resumed.daemon.rpc.peers import check_ours
from resumed.protocol.converter import Malformed, to_type
from resumed.protocol.daemon import (
    ENVIRONMENT,
    PROTOCOL_VERSION,
    ClientCapabilities,
    ClientInfo,
    InitializeParams,
    InitializeResult,
)
from resumed.protocol.errors import ErrorCode, ResumedError
from resumed.protocol.methods import BY_NAME, REQUESTS
from resumed.protocol.restore import Answers, Question, Wire

_LARGEST_RESULT = 1024 * 1024 * 1024


class ConnectionLost(Exception):
    """The daemon went away before it answered."""

    def __init__(self) -> None:
        super().__init__("The daemon went away before it answered.")


async def _cancelled(question: Question) -> Answers:
    return Answers(cancelled=True)


def _passed_over(method: str, params: Wire) -> None:
    """Take no notice of a notification."""


class Callbacks(msgspec.Struct, frozen=True):
    """What a client does when the daemon speaks first."""

    question: Callable[[Question], Awaitable[Answers]] = _cancelled
    notification: Callable[[str, Wire], None] = _passed_over


class Client:
    """A connection to a daemon. Close it, or use it as an async context manager."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, callbacks: Callbacks
    ) -> None:
        self._frames = FrameReader(reader, _LARGEST_RESULT)
        self._writer = writer
        self._callbacks = callbacks
        self._calls: dict[RequestId, asyncio.Future[Any]] = {}
        self._sent = 0
        self._lost = False
        self._answering: set[asyncio.Task[None]] = set()
        self._reading = asyncio.ensure_future(self._read())

    @classmethod
    async def connect(cls, socket: Path, callbacks: Callbacks | None = None) -> Self:
        """Connect to a socket of our own user's daemon.

        Raises `OSError` when nobody listens there, `ResumedError` when another user does.
        """
        reader, writer = await asyncio.open_unix_connection(str(socket))
        try:
            check_ours(writer.get_extra_info("socket"))
        except ResumedError:
            writer.transport.abort()
            raise
        return cls(reader, writer, callbacks or Callbacks())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def initialize(
        self, name: str, version: str = "", capabilities: ClientCapabilities | None = None
    ) -> InitializeResult:
        """Open the connection as `name`. Of the environment only what `ENVIRONMENT` names is sent."""
        environment = {known: os.environ[known] for known in ENVIRONMENT if known in os.environ}
        params = InitializeParams(
            protocol_version=PROTOCOL_VERSION,
            client=ClientInfo(name=name, version=version, pid=os.getpid(), env=environment),
            capabilities=capabilities or ClientCapabilities(),
        )
        result = await self.call("resumed/initialize", params)
        assert isinstance(result, InitializeResult)
        return result

    async def call(self, method: str, params: Wire) -> Any:
        """Call a method of the table and return its result in the table's type.

        Raises `ResumedError` for a refusal, `ConnectionLost`. Cancelling it cancels the request.
        """
        answer = await self.call_plain(method, params)
        expected = REQUESTS[method].result
        assert expected is not None
        return to_type(answer, expected)

    async def call_plain(self, method: str, params: Any) -> Any:
        """Call any method with wire types or plain values; the result comes as plain values."""
        if self._lost:
            raise ConnectionLost
        self._sent += 1
        identifier = self._sent
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._calls[identifier] = answer
        await self._send(request_body(identifier, method, params))
        try:
            return await answer
        except asyncio.CancelledError:
            await self._send(notification_body("$/cancelRequest", {"id": identifier}))
            raise
        finally:
            self._calls.pop(identifier, None)

    async def close(self) -> None:
        """Hang up; calls that still wait end with `ConnectionLost`."""
        self._reading.cancel()
        await asyncio.wait([self._reading])
        for task in self._answering:
            task.cancel()
        self._writer.close()
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()

    async def _send(self, body: bytes) -> None:
        self._writer.write(frame(body, Framing.HEADERS))
        with contextlib.suppress(ConnectionError):
            await self._writer.drain()

    async def _read(self) -> None:
        try:
            while (message := await self._frames.read()) is not None:
                self._take(read_message(message.body))
        except (FramingError, ConnectionError):
            pass
        finally:
            self._lost = True
            for answer in self._calls.values():
                if not answer.done():
                    answer.set_exception(ConnectionLost())

    def _take(self, message: Message) -> None:
        match message:
            case Response() as response:
                self._settle(response)
            case Notification(method, params):
                self._notice(method, params)
            case Request() as request:
                task = asyncio.ensure_future(self._answer(request))
                self._answering.add(task)
                task.add_done_callback(self._answering.discard)
            case Invalid():
                self._writer.close()

    def _settle(self, response: Response) -> None:
        if response.id is None:
            answers = [*self._calls.values()]
        else:
            answers = [self._calls[response.id]] if response.id in self._calls else []
        for answer in answers:
            if answer.done():
                continue
            if response.error is None:
                answer.set_result(response.result)
            else:
                answer.set_exception(read_error(response.error))

    def _notice(self, method: str, params: Any) -> None:
        row = BY_NAME.get(method)
        if row is None:
            return
        with contextlib.suppress(Malformed):
            self._callbacks.notification(method, to_type(params, row.params))

    async def _answer(self, request: Request) -> None:
        if request.method != "restore/ask":
            error = ResumedError(ErrorCode.METHOD_NOT_FOUND, "The client has no such method.", "Ask else.")
            await self._send(error_body(request.id, error))
            return
        try:
            answers = await self._callbacks.question(to_type(request.params, Question))
        except Malformed as error:
            refusal = ResumedError(ErrorCode.INVALID_PARAMS, f"The question does not fit: {error}.", "")
            await self._send(error_body(request.id, refusal))
            return
        await self._send(result_body(request.id, answers))
