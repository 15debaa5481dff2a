"""`resumed serve`: one daemon for one workspace, answering before it is fully there.

Two stages: lock, socket, first answers with asyncio and msgspec alone; then the application, whose imports
run in a thread. Whatever the second stage needs must not be imported at the top of a first-stage file.
"""

import asyncio
import contextlib
import importlib
import logging
import os
import signal
import socket
import stat
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from resumed.daemon.interpreter import importing, take_short_turns
from resumed.daemon.rpc.application import Application, OpenApplication
from resumed.daemon.rpc.server import Server
from resumed.daemon.runtime import (
    EXIT_LOCK_HELD,
    EXIT_REFUSED,
    LockHeld,
    Place,
    log_refusal,
    make_private_folder,
    place_of,
    state_folder,
    take_lock,
)
from resumed.daemon.version import VERSION
from resumed.protocol.daemon import PROTOCOL_VERSION, InitializeResult
from resumed.protocol.errors import ErrorCode, ResumedError
from resumed.protocol.methods import REQUESTS

_IDLE_SECONDS = 15 * 60.0
_FIRST_CLIENT_SECONDS = 0.1
_CLOSE_SECONDS = 10.0
_CANCEL_SECONDS = 2.0
_LOG_BYTES = 1024 * 1024
_STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

_log = logging.getLogger(__name__)

LoadApplication = Callable[[], OpenApplication]


def load_workspace() -> OpenApplication:
    """Import the real application; slow, so it is called in a thread."""
    with importing():
        opener: OpenApplication = importlib.import_module("resumed.daemon.application").open_application
    return opener


def serve(root: Path, load: LoadApplication = load_workspace) -> int:
    """Serve a workspace until stopped or idle; returns the exit code.

    What keeps it from starting is one sentence on standard error: 1, or 75 when another daemon holds the
    workspace, or 78 with what to do about it on the next line. Standard error is given up once the socket
    listens: a starter that reads it sees its end.
    A worker thread that hangs may be left running: the caller must leave the process without joining it.
    """
    # What is ours is for the user alone; what git writes for them has the modes that they are used to.
    users_umask = os.umask(0o077)
    try:
        place = place_of(root)
        for folder in (place.lock.parent.parent, place.lock.parent, state_folder(), place.log.parent):
            make_private_folder(folder)
        lock = take_lock(place.lock)
    except (ResumedError, LockHeld, OSError) as error:
        return _refuse(error)
    try:
        try:
            listening = _listen(place.socket)
        except OSError as error:
            return _refuse(error)
        try:
            _redirect_output(place.log)
        except OSError as error:
            return _refuse(log_refusal(error))
        _run(_serve(place, listening, load, users_umask))
    finally:
        with contextlib.suppress(OSError):
            place.socket.unlink()
        os.close(lock)
    return 0


def _refuse(error: Exception) -> int:
    """Say what keeps the daemon from starting; returns the exit code."""
    if isinstance(error, ResumedError):
        sys.stderr.write(f"{error.sentence}\n{error.data.hint}\n")
        return EXIT_REFUSED
    sentence = (
        f"A file that the daemon needs can't be used: {error}." if isinstance(error, OSError) else str(error)
    )
    sys.stderr.write(f"{sentence}\n")
    return EXIT_LOCK_HELD if isinstance(error, LockHeld) else 1


def _run(serving: Coroutine[Any, Any, None]) -> None:
    """Run to the end as `asyncio.run` does, but wait for no worker thread: one may hang for ever."""
    loop = asyncio.new_event_loop()
    try:
        loop.run_until_complete(serving)
        loop.run_until_complete(_cancel_the_rest())
    finally:
        loop.close()


async def _cancel_the_rest() -> None:
    rest = asyncio.all_tasks() - {asyncio.current_task()}
    for task in rest:
        task.cancel()
    if rest:
        await asyncio.wait(rest, timeout=_CANCEL_SECONDS)


async def _serve(place: Place, listening: socket.socket, load: LoadApplication, users_umask: int) -> None:
    introduction = InitializeResult(
        protocol_version=PROTOCOL_VERSION,
        version=VERSION,
        workspace_id=place.workspace_id,
        root=str(place.root),
        methods=tuple(REQUESTS),
    )
    take_short_turns()
    server = Server(introduction, str(state_folder()), _idle_seconds())
    loop = asyncio.get_running_loop()
    for number in _STOP_SIGNALS:
        loop.add_signal_handler(number, server.stop)
    opening = asyncio.ensure_future(_open(server, place, load, users_umask))
    unfinished = await server.run(listening)
    opening.cancel()
    await asyncio.wait([opening], timeout=_CLOSE_SECONDS)
    if opening.done() and not opening.cancelled() and (application := opening.result()) is not None:
        await _close(application, unfinished)
    _log.info("stopped")


async def _close(application: Application, unfinished: tuple[str, ...]) -> None:
    """Let the application release what it holds; what it can't within ten seconds ends with the process."""
    closing = asyncio.ensure_future(_release(application, unfinished))
    await asyncio.wait([closing], timeout=_CLOSE_SECONDS)
    if not closing.done():
        _log.error("the workspace did not close in time")
    elif (failure := closing.exception()) is not None:
        _log.error("the workspace did not close", exc_info=failure)


async def _release(application: Application, unfinished: tuple[str, ...]) -> None:
    if not unfinished:
        await application.close()
        return
    _log.warning("requests did not end in time: %s", ", ".join(unfinished))
    await application.cut_off(unfinished)


async def _open(server: Server, place: Place, load: LoadApplication, users_umask: int) -> Application | None:
    """Open the application; the first client is answered before its imports take the interpreter."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_FIRST_CLIENT_SECONDS):
            await server.introduced.wait()
    try:
        await asyncio.to_thread(_start_log, place.log)
        opener = await asyncio.to_thread(load)
        application = await opener(str(place.root), server.broadcast, users_umask)
    except Exception as error:
        _log.exception("the workspace cannot be opened")
        server.fail(_opening_refusal(error))
        return None
    server.open(application)
    return application


def _opening_refusal(error: Exception) -> ResumedError:
    """What clients are told. The table of refusals belongs to the second stage."""
    from resumed.daemon.refusals import refusal_of

    if (refusal := refusal_of(error)) is not None:
        return refusal
    hint = "The daemon's log has the details."
    if isinstance(error, OSError):
        return ResumedError(ErrorCode.STORAGE_FAILED, f"The workspace can't be opened: {error}.", hint)
    return ResumedError(ErrorCode.INTERNAL_ERROR, "The workspace can't be opened.", hint)


def _listen(path: Path) -> socket.socket:
    """Bind the socket; we hold the lock, so one that is there already is left over."""
    path.unlink(missing_ok=True)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listening.bind(str(path))
    path.chmod(stat.S_IRUSR | stat.S_IWUSR)
    listening.listen(128)
    listening.setblocking(False)
    return listening


def _redirect_output(log: Path) -> None:
    """Let the log take what is written to standard output and error, such as a crash."""
    descriptor = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    os.close(descriptor)


def _start_log(log: Path) -> None:
    """Log to a file that is rotated at 1 MiB. The handler's imports belong to the second stage."""
    from logging.handlers import RotatingFileHandler

    handler = RotatingFileHandler(log, maxBytes=_LOG_BYTES, backupCount=1, encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[handler])


def _idle_seconds() -> float:
    """Return how long to stay without being needed: `RESUMED_IDLE_SECONDS`, else 15 minutes."""
    try:
        return max(0.0, float(os.environ.get("RESUMED_IDLE_SECONDS", _IDLE_SECONDS)))
    except ValueError:
        return _IDLE_SECONDS
