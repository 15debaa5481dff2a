"""The language server's face of one connection: pygls decides, our own connection carries.

The only file that imports pygls and lsprotocol, so it is imported late and in a thread. Of pygls' own
reading and writing nothing is used: it loses replies, and `exit` would end the daemon for all.
"""

import asyncio
import functools
import logging
from collections.abc import Generator
from typing import Any

from cattrs import Converter
from lsprotocol import types
from lsprotocol.converters import get_converter
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, lsp_method

from resumed.daemon.rpc.messages import Notification, Request, RequestId
from resumed.daemon.version import VERSION
from resumed.protocol.errors import ErrorCode, ResumedError

_log = logging.getLogger(__name__)
_TAKEN = frozenset({types.INITIALIZED, types.SET_TRACE})


class _Protocol(LanguageServerProtocol):
    """pygls' features and handlers; what they answer goes to whoever asked, not to a socket."""

    def __init__(self, server: LanguageServer, converter: Converter) -> None:
        self.converter = converter
        self.waiting: dict[RequestId, asyncio.Future[Any]] = {}
        super().__init__(server, converter)

    def structure_message(self, data: dict[str, Any]) -> dict[str, Any]:
        """Leave nested objects alone: messages are structured once, at the top."""
        return data

    def _send_data(self, data: Any) -> None:
        message = self.converter.unstructure(data)
        waiting = self.waiting.pop(message.get("id"), None)
        if waiting is None or waiting.done():
            _log.info("nothing carries %s yet", message.get("method", "this answer"))
        elif "error" in message:
            waiting.set_exception(_refusal(message["error"]))
        else:
            waiting.set_result(message.get("result"))

    @lsp_method(types.INITIALIZE)
    def lsp_initialize(self, params: types.InitializeParams) -> Generator[Any, Any, types.InitializeResult]:
        """Offer nothing but the life cycle: what pygls would offer by itself nobody here serves."""
        result = yield from super().lsp_initialize(params)
        encoding = result.capabilities.position_encoding
        result.capabilities = types.ServerCapabilities(position_encoding=encoding)
        return result

    @lsp_method(types.EXIT)
    def lsp_exit(self, *args: Any) -> Generator[Any, Any, None]:
        """End nothing: the connection closes itself."""
        yield from ()


class _Server(LanguageServer):
    """A server whose errors are logged instead of shown in every editor."""

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Log what pygls would put into a message box."""
        _log.warning("the language server reports %s", type(error).__name__)


class LanguageServerFace:
    """The language server of one connection. Its methods must be called on the event loop's thread."""

    def __init__(self) -> None:
        server = _Server(
            "resumed",
            VERSION,
            text_document_sync_kind=types.TextDocumentSyncKind.None_,
            protocol_cls=_Protocol,
            converter_factory=_shared_converter,
        )
        protocol = server.protocol
        assert isinstance(protocol, _Protocol)
        self._protocol = protocol

    async def request(self, request: Request) -> Any:
        """Return the result as plain values. Raises `ResumedError`; every request ends one of these ways."""
        message = self._structured(
            {"jsonrpc": "2.0", "id": request.id, "method": request.method, "params": request.params}
        )
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._protocol.waiting[request.id] = answer
        try:
            self._protocol.handle_message(message)
            return await answer
        finally:
            self._protocol.waiting.pop(request.id, None)

    def notify(self, notification: Notification) -> None:
        """Take a notification of the life cycle; others, and one that does not fit, are passed over."""
        if notification.method not in _TAKEN:
            return
        try:
            message = self._structured(
                {"jsonrpc": "2.0", "method": notification.method, "params": notification.params}
            )
        except ResumedError as error:
            _log.warning("passed over %s: %s", notification.method, error)
            return
        self._protocol.handle_message(message)

    def _structured(self, message: dict[str, Any]) -> Any:
        expected = self._protocol.get_message_type(message["method"])
        if expected is None:
            raise ResumedError(
                ErrorCode.METHOD_NOT_FOUND, f"LSP has no {message['method'][:100]!r}.", "Update the daemon."
            )
        try:
            return self._protocol.converter.structure(message, expected)
        except Exception as error:
            raise ResumedError(
                ErrorCode.INVALID_PARAMS, "The params do not fit.", "See the LSP specification."
            ) from error


@functools.cache
def _shared_converter() -> Converter:
    """One converter for all connections: making its hooks costs 50 ms, sharing it next to nothing."""
    converter: Converter = get_converter()
    for plain in (int, str, bool, float):
        converter.register_structure_hook(plain, _same_type)
    return converter


def _same_type(value: Any, expected: type) -> Any:
    """Take a number only from a number, a text only from a text."""
    if type(value) is expected or (expected is float and type(value) is int):
        return value
    raise ValueError(f"expected {expected.__name__}")


def _refusal(error: dict[str, Any]) -> ResumedError:
    """Rebuild an error of pygls without its traceback."""
    try:
        code = ErrorCode(error["code"])
    except ValueError:
        code = ErrorCode.INTERNAL_ERROR
    if code is ErrorCode.INTERNAL_ERROR:
        _log.error("the language server failed: %s", error)
        return ResumedError(code, "Something failed inside the daemon.", "The daemon's log has the details.")
    return ResumedError(code, str(error["message"]), "See the LSP specification.")
