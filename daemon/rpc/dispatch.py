"""From a message to its handler and back: every request is answered exactly once.

An answer is sent when the request's task is done, however it ended, so that no reply can be lost.
What a client gets of an unexpected exception is a sentence; the traceback goes to the log.
"""

import asyncio
import logging
from collections.abc import Coroutine, Hashable
from typing import TYPE_CHECKING, Any, TypeVar

from resumed.daemon.interpreter import importing
from resumed.daemon.rpc.connection import Connection
from resumed.daemon.rpc.framing import MAX_FRAME
from resumed.daemon.rpc.inbound import Inbound
from resumed.daemon.rpc.lifecycle import INITIALIZE, Lifecycle, check_version, is_lsp
from resumed.daemon.rpc.messages import (
    Invalid,
    Notification,
    Request,
    RequestId,
    Response,
    error_body,
    read_message,
    result_body,
)
from resumed.daemon.rpc.router import Router
from resumed.protocol.converter import Malformed, to_type
from resumed.protocol.daemon import InitializeParams, InitializeResult
from resumed.protocol.errors import ErrorCode, ResumedError
from resumed.protocol.ids import InvalidId
from resumed.protocol.methods import REQUESTS, Method
from resumed.protocol.restore import Wire

if TYPE_CHECKING:
    from resumed.daemon.rpc.lsp import LanguageServerFace

_log = logging.getLogger(__name__)
P = TypeVar("P", bound=Wire)


class Dispatcher:
    """One connection's requests. `receive` never waits; `finish` waits for what it started."""

    def __init__(self, connection: Connection, router: Router) -> None:
        self._connection = connection
        self._router = router
        self._lifecycle = Lifecycle()
        self._running: dict[RequestId, asyncio.Task[Any]] = {}
        self._background: set[asyncio.Task[None]] = set()
        self._lsp: asyncio.Future[LanguageServerFace] | None = None
        self._inbound = Inbound()

    @property
    def initialized(self) -> bool:
        """Whether the client has sent `resumed/initialize`."""
        return self._lifecycle.initialized

    @property
    def running(self) -> tuple[str, ...]:
        """The methods of the requests that are not answered yet."""
        return tuple(task.get_name() for task in self._running.values())

    async def room(self) -> None:
        """Wait while the client has too much unanswered; see `Inbound`."""
        await self._inbound.room()

    def receive(self, body: bytes) -> None:
        """Take one message."""
        match read_message(body):
            case Invalid(identifier, error):
                self._connection.send(error_body(identifier, error))
            case Response() as response:
                self._connection.settle(response)
            case Notification() as notification:
                self._receive_notification(notification)
            case Request() as request:
                if (task := self._receive_request(request)) is not None:
                    self._inbound.hold(len(body), task)

    async def finish(self) -> None:
        """Wait until every request that was taken is answered."""
        while running := [*self._running.values(), *self._background]:
            await asyncio.wait(running)

    def cancel(self) -> None:
        """Cancel every request that is still running; each is answered so."""
        for task in self._running.values():
            task.cancel()

    def _receive_notification(self, notification: Notification) -> None:
        method, params = notification.method, notification.params
        if method == "$/cancelRequest":
            identifier = params.get("id") if isinstance(params, dict) else None
            task = self._running.get(identifier) if isinstance(identifier, str | int) else None
            if task is not None:
                task.cancel()
        elif method == "exit":
            self._connection.stop_reading()
        elif is_lsp(method) and self._lsp is not None:
            telling = asyncio.ensure_future(self._notify_lsp(notification))
            self._background.add(telling)
            telling.add_done_callback(self._background.discard)

    def _receive_request(self, request: Request) -> asyncio.Task[Any] | None:
        try:
            if self._inbound.full:
                raise ResumedError(
                    ErrorCode.REQUEST_CANCELLED,
                    "Too many requests wait for their answers.",
                    "It was not begun: send it again when others are answered.",
                )
            if request.id in self._running:
                raise ResumedError(
                    ErrorCode.INVALID_REQUEST, "A request with this id is running.", "Use a new id."
                )
            self._lifecycle.admit(request.method)
            if is_lsp(request.method):
                return self._start(request, self._ask_lsp(request))
            if request.method != INITIALIZE:
                return self._start_ours(request)
            self._answer(request.id, self._initialize(request))
        except ResumedError as error:
            self._connection.send(error_body(request.id, error))
        return None

    def _initialize(self, request: Request) -> InitializeResult:
        params = _typed(request.params, InitializeParams)
        check_version(params)
        self._connection.introduce(params.client, params.capabilities)
        self._lifecycle.initialized = True
        return self._router.introduction

    def _start_ours(self, request: Request) -> asyncio.Task[Any]:
        method = REQUESTS[request.method]
        params = _typed(request.params, method.params)
        self._router.admit(method.name)
        key = _queue_key(method, params)
        if key is None:
            return self._start(request, self._call(method, params))
        place = self._router.queues.enter(key)

        async def in_turn() -> Wire:
            await place.turn()
            return await self._call(method, params)

        task = self._start(request, in_turn())
        task.add_done_callback(lambda _: place.leave())
        return task

    async def _ask_lsp(self, request: Request) -> Any:
        face = await self._language_server()
        try:
            return await face.request(request)
        except ResumedError:
            self._lifecycle.refused(request.method)
            raise

    async def _notify_lsp(self, notification: Notification) -> None:
        face = await self._language_server()
        face.notify(notification)

    async def _language_server(self) -> "LanguageServerFace":
        """Return the connection's language server, made in a thread at its first LSP request."""
        if self._lsp is None:
            self._lsp = asyncio.ensure_future(asyncio.to_thread(_load_language_server))
        return await asyncio.shield(self._lsp)

    async def _call(self, method: Method, params: Wire) -> Wire:
        handler = await self._router.handler(method.name)
        return await handler(self._connection, params)

    def _start(self, request: Request, call: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.get_running_loop().create_task(call, name=request.method)
        self._running[request.id] = task
        task.add_done_callback(lambda done: self._settle(request.id, done))
        return task

    def _settle(self, identifier: RequestId, task: asyncio.Task[Any]) -> None:
        del self._running[identifier]
        if task.cancelled():
            error = ResumedError(ErrorCode.REQUEST_CANCELLED, "The request was cancelled.", "Send it again.")
            self._connection.send(error_body(identifier, error))
        elif (failure := task.exception()) is not None:
            self._connection.send(error_body(identifier, _refusal(failure)))
        else:
            self._answer(identifier, task.result())

    def _answer(self, identifier: RequestId, result: Any) -> None:
        try:
            body = result_body(identifier, result)
        except Exception as failure:
            body = error_body(identifier, _refusal(failure))
        if len(body) > MAX_FRAME:
            sentence = "The answer is larger than 64 MiB."
            error = ResumedError(ErrorCode.FRAME_TOO_LARGE, sentence, "Ask for a smaller page.")
            body = error_body(identifier, error)
        self._connection.send(body)


def _typed(params: Any, expected: type[P]) -> P:
    try:
        return to_type(params, expected)
    except Malformed as error:
        raise ResumedError(
            ErrorCode.INVALID_PARAMS, f"The params do not fit: {error}.", "See protocol/README.md."
        ) from error


def _queue_key(method: Method, params: Wire) -> Hashable:
    """The queue of a call, or `None` when it waits for no other."""
    if method.serialized_on is None:
        return None
    value: str | None = getattr(params, method.serialized_on)
    # In the form in which handlers look it up, so that one id written in two ways is one queue.
    return None if value is None else (method.serialized_on, value.strip().lower())


def _refusal(failure: BaseException) -> ResumedError:
    """What a client may know of a failure."""
    if isinstance(failure, ResumedError):
        return failure
    if isinstance(failure, InvalidId):
        return ResumedError(ErrorCode.INVALID_PARAMS, f"Expected {failure}.", "Send an id as it was given.")
    _log.error("a request failed", exc_info=failure)
    return ResumedError(
        ErrorCode.INTERNAL_ERROR, "Something failed inside the daemon.", "The daemon's log has the details."
    )


def _load_language_server() -> "LanguageServerFace":
    with importing():
        from resumed.daemon.rpc.lsp import LanguageServerFace
    return LanguageServerFace()
