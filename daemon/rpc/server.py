"""The daemon's socket: accepts clients, serves each apart, and knows when to stop.

One client's end, whatever it looks like, touches no other. The server answers `resumed/initialize`,
`daemon/status` and `daemon/drain` by itself; the rest waits for the application.
"""

import asyncio
import datetime
import logging
import os
import socket
from typing import NamedTuple

import msgspec

from resumed.daemon.rpc.application import Application, StatusFields
from resumed.daemon.rpc.connection import Client, Connection
from resumed.daemon.rpc.dispatch import Dispatcher
from resumed.daemon.rpc.peers import is_ours
from resumed.daemon.rpc.router import Router
from resumed.protocol.daemon import DrainParams, DrainResult, InitializeResult, StatusParams, StatusResult
from resumed.protocol.errors import ResumedError
from resumed.protocol.restore import Wire

_log = logging.getLogger(__name__)
_DRAIN_SECONDS = 10.0
_CANCEL_SECONDS = 2.0
_FAILED_SECONDS = 5.0
_FAILED_IDLE_SECONDS = 0.5
_LEAVING_SECONDS = 10.0
_BUSY_SECONDS = 0.2
_READ_AHEAD = 256 * 1024
_STARTING = StatusFields(index="rebuilding", notes=("The daemon is still starting.",))
_DRAINING = "The daemon takes no new sessions; it ends when those that are open have ended."


class _Served(NamedTuple):
    """One client: its connection, its requests, and the task that reads them."""

    connection: Connection
    dispatcher: Dispatcher
    reading: asyncio.Task[None]


class Server:
    """Serves one listening socket until it is told to stop or nobody has needed it for `idle_seconds`.

    `introduced` is set when the first client has been answered.
    """

    def __init__(self, introduction: InitializeResult, state_folder: str, idle_seconds: float) -> None:
        self.introduced = asyncio.Event()
        self._router = Router(introduction, {"daemon/status": self._status, "daemon/drain": self._drain})
        self._state_folder = state_folder
        self._idle_seconds = idle_seconds
        self._started_at = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
        self._application: Application | None = None
        self._before_open = _STARTING
        self._connected = 0
        self._clients: dict[str, _Served] = {}
        self._serving: set[asyncio.Task[None]] = set()
        self._idle: asyncio.TimerHandle | None = None
        self._stopping = asyncio.Event()
        self._hurry = asyncio.Event()
        self._ended = asyncio.Event()

    def open(self, application: Application) -> None:
        """Serve the application from now on."""
        self._application = application
        self._router.open(application.handlers)

    def fail(self, refusal: ResumedError) -> None:
        """Say to every client why the application can't be opened, and stop soon, so that the next start
        tries anew: when the last has left, and after five seconds whoever stays."""
        self._before_open = StatusFields(storage="failing", notes=(refusal.sentence,))
        self._router.fail(refusal)
        self._idle_seconds = min(self._idle_seconds, _FAILED_IDLE_SECONDS)
        self._watch_idle()
        asyncio.get_running_loop().call_later(_FAILED_SECONDS, self.stop)

    def broadcast(self, method: str, params: Wire, coalesce: str | None = None) -> None:
        """Send a notification to every client that has sent `resumed/initialize`."""
        for served in self._clients.values():
            if served.dispatcher.initialized:
                served.connection.notify(method, params, coalesce)

    def stop(self) -> None:
        """Take no new work; what is not finished within ten seconds is cancelled. `run` then returns."""
        self._hurry.set()
        self._stop_when_finished()

    async def run(self, listening: socket.socket) -> tuple[str, ...]:
        """Serve until stopped; every answer has been sent, or its client cut off, when this returns.

        Returns the methods of the requests that still run, though they were cancelled."""
        listener = await asyncio.start_unix_server(self._accept, sock=listening, limit=_READ_AHEAD)
        self._watch_idle()
        await self._stopping.wait()
        listener.close()
        await self._finish_requests()
        unfinished = tuple(name for served in self._clients.values() for name in served.dispatcher.running)
        self._ended.set()
        for served in self._clients.values():
            served.reading.cancel()
        while self._serving:
            await asyncio.wait(self._serving)
        if self._idle is not None:
            self._idle.cancel()
        return unfinished

    def _stop_when_finished(self) -> None:
        self._router.stopping = True
        self._stopping.set()

    def _stop_when_drained(self) -> None:
        names = [name for served in self._clients.values() for name in served.dispatcher.running]
        if self._needed() or any(not name.startswith("daemon/") for name in names):
            asyncio.get_running_loop().call_later(_BUSY_SECONDS, self._stop_when_drained)
        else:
            self._stop_when_finished()

    async def _finish_requests(self) -> None:
        finished = asyncio.ensure_future(self._all_finished())
        hurried = asyncio.ensure_future(self._hurry.wait())
        await asyncio.wait([finished, hurried], return_when=asyncio.FIRST_COMPLETED)
        hurried.cancel()
        await asyncio.wait([finished], timeout=_DRAIN_SECONDS)
        if not finished.done():
            for served in self._clients.values():
                served.dispatcher.cancel()
            await asyncio.wait([finished], timeout=_CANCEL_SECONDS)
        finished.cancel()

    async def _all_finished(self) -> None:
        for served in [*self._clients.values()]:
            await served.dispatcher.finish()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if not is_ours(writer.get_extra_info("socket")):
            _log.warning("another user's process tried to connect")
            writer.transport.abort()
            return
        if self._outlived() and not self._needed():
            # Whoever connects finds nobody, and starts a daemon that has what this one lost.
            _log.warning("the state folder is gone; the next daemon makes a new one")
            writer.transport.abort()
            self._stop_when_finished()
            return
        self._connected += 1
        connection = Connection(self._connected, reader, writer)
        dispatcher = Dispatcher(connection, self._router)
        reading = asyncio.ensure_future(self._read(connection, dispatcher))
        self._clients[connection.id] = _Served(connection, dispatcher, reading)
        serving = asyncio.ensure_future(self._serve(self._clients[connection.id]))
        self._serving.add(serving)
        serving.add_done_callback(self._serving.discard)
        self._watch_idle()

    async def _read(self, connection: Connection, dispatcher: Dispatcher) -> None:
        async for body in connection.bodies():
            dispatcher.receive(body)
            if dispatcher.initialized:
                self.introduced.set()
            await dispatcher.room()

    async def _serve(self, served: _Served) -> None:
        """See a client off. What it has open is closed after its requests, which may still write there."""
        await asyncio.wait([served.reading])
        if not served.reading.cancelled() and (failure := served.reading.exception()) is not None:
            _log.error("a connection failed", exc_info=failure)
        served.connection.hang_up()
        finishing = asyncio.ensure_future(served.dispatcher.finish())
        ended = asyncio.ensure_future(self._ended.wait())
        both = (finishing, ended)
        await asyncio.wait(both, timeout=_LEAVING_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        served.connection.gone.set()
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        for waiting in both:
            waiting.cancel()
        await served.connection.close()
        del self._clients[served.connection.id]
        self._watch_idle()

    def _watch_idle(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None
        if not self._clients and not self._stopping.is_set():
            self._stop_if_idle_after(self._patience())

    def _stop_if_idle_after(self, seconds: float) -> None:
        self._idle = asyncio.get_running_loop().call_later(seconds, self._stop_if_idle)

    def _stop_if_idle(self) -> None:
        starting = self._before_open is _STARTING and self._application is None
        if starting or self._needed():
            self._stop_if_idle_after(max(self._patience(), _BUSY_SECONDS))
        else:
            self.stop()

    def _patience(self) -> float:
        return 0.0 if self._outlived() else self._idle_seconds

    def _outlived(self) -> bool:
        return self._application is not None and self._application.outlived()

    def _needed(self) -> bool:
        return self._application is not None and self._application.busy()

    async def _status(self, client: Client, params: StatusParams) -> StatusResult:
        application = self._application
        fields = self._before_open if application is None else application.status_fields()
        introduction = self._router.introduction
        return StatusResult(
            version=introduction.version,
            protocol_version=introduction.protocol_version,
            pid=os.getpid(),
            started_at=self._started_at,
            root=introduction.root,
            workspace_id=introduction.workspace_id,
            state_folder=self._state_folder,
            clients=len(self._clients),
            **msgspec.structs.asdict(self._with_draining(fields)),
        )

    def _with_draining(self, fields: StatusFields) -> StatusFields:
        notes = (*fields.notes, _DRAINING) if self._router.draining else fields.notes
        return msgspec.structs.replace(fields, notes=notes)

    async def _drain(self, client: Client, params: DrainParams) -> DrainResult:
        _log.info("client %s asks to drain: %s", client.id, params.reason[:200])
        if not self._router.draining:
            self._router.draining = True
            asyncio.get_running_loop().call_soon(self._stop_when_drained)
        return DrainResult(draining=True)
