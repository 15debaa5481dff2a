"""One client's connection: frames in, an outbox out, and questions to the client.

Nothing here knows a method's meaning. A client that goes away fails its questions, nobody else's.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator
from typing import Protocol

import msgspec

from resumed.daemon.rpc.framing import FrameReader, FrameTooLarge, FramingError, frame
from resumed.daemon.rpc.messages import Response, error_body, notification_body, request_body
from resumed.daemon.rpc.outbox import Outbox
from resumed.protocol.converter import Malformed, to_type
from resumed.protocol.daemon import ClientCapabilities, ClientInfo
from resumed.protocol.errors import ErrorCode, ResumedError
from resumed.protocol.restore import Answers, Question, Wire

_log = logging.getLogger(__name__)
_LAST_WORDS_SECONDS = 5.0


class Client(Protocol):
    """A connected client as handlers see it. Once it has hung up it answers no question, but what it asked
    for is still done; then `gone` is set."""

    @property
    def id(self) -> str:
        """Names the connection within this daemon's life, for example `c7`."""

    @property
    def info(self) -> ClientInfo:
        """Who it said it is."""

    @property
    def capabilities(self) -> ClientCapabilities:
        """What it said it can do."""

    @property
    def gone(self) -> asyncio.Event:
        """Set once the client has hung up and its requests are finished, or have had their time."""

    async def ask(self, question: Question) -> Answers | None:
        """Send `restore/ask`. `None` when the client can't answer, hangs up, or answers nonsense."""

    def notify(self, method: str, params: Wire, coalesce: str | None = None) -> None:
        """Send a notification; with `coalesce` it replaces one of the same key that still waits."""


class Connection:
    """The `Client` on the other side of one socket."""

    def __init__(self, number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.id = f"c{number}"
        self.info = ClientInfo(name="")
        self.capabilities = ClientCapabilities()
        self.gone = asyncio.Event()
        self._frames = FrameReader(reader)
        self._writer = writer
        self._outbox = Outbox(writer, lambda body: frame(body, self._frames.framing))
        self._sender = asyncio.ensure_future(self._outbox.run())
        self._questions: dict[str, asyncio.Future[Response]] = {}
        self._asked = 0
        self._reading = True
        self._hung_up = False
        self._refused = False
        self._said_all = False

    def introduce(self, info: ClientInfo, capabilities: ClientCapabilities) -> None:
        """Remember what the client said of itself, but nothing of its environment."""
        self.info = msgspec.structs.replace(info, env={})
        self.capabilities = capabilities

    async def bodies(self) -> AsyncGenerator[bytes, None]:
        """Yield each message's bytes until the client hangs up or `stop_reading` was called.

        Bytes that are no frame are answered with an error, and end it too.
        """
        try:
            while self._reading:
                await self._outbox.writable()
                message = await self._frames.read()
                if message is None:
                    return
                yield message.body
        except FramingError as error:
            self._refuse_stream(error)
        except ConnectionError:
            return

    def stop_reading(self) -> None:
        """Let the current message be the last one."""
        self._reading = False

    def hang_up(self) -> None:
        """Expect nothing more of the client: its open questions end without an answer."""
        self._reading = False
        self._hung_up = True
        for question in self._questions.values():
            question.cancel()
        self._questions.clear()

    async def close(self) -> None:
        """Count the client as gone, send what waits, then close; one that does not take it is cut off."""
        self.hang_up()
        self.gone.set()
        self._sender.cancel()
        try:
            async with asyncio.timeout(_LAST_WORDS_SECONDS):
                await self._outbox.flush()
                if self._refused:
                    await self._end_refused()
                self._writer.close()
                await self._writer.wait_closed()
        except TimeoutError:
            self._writer.transport.abort()
        except OSError as error:
            _log.info("client %s was gone before the end: %s", self.id, error)

    def send(self, body: bytes) -> None:
        """Queue a reply."""
        if not self._said_all and not self._writer.transport.is_closing():
            self._outbox.send(body)

    def notify(self, method: str, params: Wire, coalesce: str | None = None) -> None:
        """Queue a notification; see `Client.notify`."""
        if not self._hung_up and not self._writer.transport.is_closing():
            self._outbox.notify(method, notification_body(method, params), coalesce)

    async def ask(self, question: Question) -> Answers | None:
        """Ask the person at the client; see `Client.ask`. Cancelling it withdraws the question."""
        if not self.capabilities.restore_ask or self._hung_up:
            return None
        self._asked += 1
        identifier = f"resumed:{self._asked}"
        answer: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        self._questions[identifier] = answer
        self.send(request_body(identifier, "restore/ask", question))
        try:
            await asyncio.wait([answer])
        finally:
            if self._questions.pop(identifier, None) is not None and not answer.done():
                self.send(notification_body("$/cancelRequest", {"id": identifier}))
        return None if answer.cancelled() else self._answers(answer.result())

    def settle(self, response: Response) -> None:
        """Hand a response to the question it answers; one that nobody waits for is passed over."""
        answer = self._questions.get(str(response.id))
        if answer is None or answer.done():
            _log.info("client %s answered %r, which nobody asked", self.id, response.id)
        else:
            answer.set_result(response)

    def _answers(self, response: Response) -> Answers | None:
        if response.error is not None:
            _log.info("client %s refused a question", self.id)
            return None
        try:
            return to_type(response.result, Answers)
        except Malformed as error:
            _log.warning("client %s answered a question with nonsense: %s", self.id, error)
            return None

    def _refuse_stream(self, error: FramingError) -> None:
        code = ErrorCode.FRAME_TOO_LARGE if isinstance(error, FrameTooLarge) else ErrorCode.PARSE_ERROR
        hint = "The connection is being closed; connect again."
        self.send(error_body(None, ResumedError(code, str(error), hint)))
        self._refused = True

    async def _end_refused(self) -> None:
        """Let the client read the end at once, but take what it still sends: one that is cut off in the
        middle of sending would not read why."""
        self._said_all = True
        self._writer.write_eof()
        await self._frames.discard()
