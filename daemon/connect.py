"""Finds the daemon of a workspace or starts it, and bridges standard input and output to it.

Blocking on purpose, and free of asyncio: an editor waits for this to start, and then it only moves bytes.
"""

import contextlib
import os
import select
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

from resumed.daemon.rpc.messages import Response, read_error, read_message, request_body
from resumed.daemon.rpc.peers import check_ours
from resumed.daemon.runtime import (
    EXIT_LOCK_HELD,
    EXIT_REFUSED,
    Place,
    check_private_folder,
    log_hint,
    place_of,
    runtime_folder,
    state_folder,
)
from resumed.daemon.version import VERSION
from resumed.protocol.daemon import PROTOCOL_VERSION, ClientInfo, DrainParams, InitializeParams
from resumed.protocol.errors import ErrorCode, ResumedError

_START_SECONDS = 15.0
_DRAIN_SECONDS = 30.0
_HELD_SECONDS = 0.5
_POLL_SECONDS = 0.005
_LAST_ANSWERS_SECONDS = 10.0
_CHUNK = 64 * 1024


def find_or_start(root: Path) -> Path:
    """Return the socket of a daemon that serves `root` and speaks our protocol; starts one if none does.

    An older daemon is asked to drain, and a new one is started when it has ended. Any number of starters at
    once end with one daemon. Raises `ResumedError`, also when another user could have put the socket there.
    """
    place = place_of(root)
    for folder in (place.socket.parent.parent, place.socket.parent):
        check_private_folder(folder)
    end = time.monotonic() + _START_SECONDS
    while time.monotonic() < end:
        daemon = _connect(place.socket)
        if daemon is None:
            _start(place, end)
            continue
        with daemon, contextlib.suppress(EOFError, ConnectionError):
            if _speaks_ours(daemon):
                return place.socket
            _drain(daemon)
            end = time.monotonic() + _START_SECONDS
    raise _failed("A daemon holds this workspace but does not answer.", log_hint(place.log))


def bridge_stdio(root: Path) -> int:
    """Carry bytes between standard input and output and the daemon of `root`; returns the exit code.

    At the end of the input the daemon's last answers are still carried; at the daemon's end it returns.
    Raises `ResumedError` when there is no daemon to be had.
    """
    path = find_or_start(root)
    ended = threading.Event()
    daemon = _connect(path)
    if daemon is None:
        raise _failed("The daemon ended just now.", "Try again.")
    with daemon:
        threading.Thread(target=_carry_input, args=(daemon, ended), daemon=True).start()
        try:
            while chunk := daemon.recv(_CHUNK):
                _write_all(sys.stdout.fileno(), chunk)
        except OSError:
            return 1
        finally:
            ended.set()
    return 0


def _connect(path: Path) -> socket.socket | None:
    """Return a connection to our own daemon. Raises `ResumedError` when it is another user's."""
    daemon = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        daemon.connect(str(path))
    except OSError:
        daemon.close()
        return None
    try:
        check_ours(daemon)
    except ResumedError:
        daemon.close()
        raise
    return daemon


def _speaks_ours(daemon: socket.socket) -> bool:
    """Greet the daemon; false when it is an older one that may be asked to drain."""
    client = ClientInfo(name="resumed connect", version=VERSION, pid=os.getpid())
    params = InitializeParams(protocol_version=PROTOCOL_VERSION, client=client)
    daemon.settimeout(_START_SECONDS)
    daemon.sendall(request_body("greet", "resumed/initialize", params) + b"\n")
    answer = read_message(_read_line(daemon))
    if isinstance(answer, Response) and answer.error is None:
        return True
    error = read_error(answer.error if isinstance(answer, Response) else None)
    if error.code is ErrorCode.PROTOCOL_MISMATCH and "daemon/drain" in error.data.ways:
        return False
    raise error


def _drain(daemon: socket.socket) -> None:
    """Ask the daemon to finish and exit, and wait until it has hung up."""
    params = DrainParams(reason=f"{VERSION} speaks protocol {PROTOCOL_VERSION}")
    daemon.settimeout(_DRAIN_SECONDS)
    try:
        daemon.sendall(request_body("drain", "daemon/drain", params) + b"\n")
        while daemon.recv(_CHUNK):
            pass
    except TimeoutError as error:
        raise ResumedError(
            ErrorCode.DRAINING, "An older daemon is still busy here.", "Finish what it does, then try again."
        ) from error


def _read_line(daemon: socket.socket) -> bytes:
    line = b""
    while not line.endswith(b"\n"):
        chunk = daemon.recv(_CHUNK)
        if not chunk:
            raise EOFError
        line += chunk
    return line


def _start(place: Place, end: float) -> None:
    """Start a daemon in its own session and return once one may be connected to, ours or another's."""
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "resumed.daemon", "serve", "--workspace", str(place.root)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        cwd="/",
        start_new_session=True,
        env={**os.environ, "RESUMED_RUNTIME": str(runtime_folder()), "RESUMED_HOME": str(state_folder())},
    )
    said = _said_before_listening(process, end)
    while not _listens(place.socket):
        code = process.poll()
        if code == EXIT_LOCK_HELD:
            _wait_until_listens(place.socket, _HELD_SECONDS)
            return
        if code == EXIT_REFUSED:
            # The workspace itself was not refused before: what can't be used is a folder of ours.
            sentence, _, hint = said.partition("\n")
            raise ResumedError(ErrorCode.STATE_READ_ONLY, sentence, hint)
        if code is not None:
            raise _failed(f"The daemon did not start: {said or f'exit code {code}'}", log_hint(place.log))
        if time.monotonic() > end:
            process.kill()
            raise _failed("The daemon did not start in time.", log_hint(place.log))
        time.sleep(_POLL_SECONDS)


def _said_before_listening(process: "subprocess.Popen[bytes]", end: float) -> str:
    """Return what the daemon wrote to standard error, which it gives up once it listens."""
    said = b""
    assert process.stderr is not None
    with process.stderr as pipe:
        while select.select([pipe], [], [], max(0.0, end - time.monotonic()))[0]:
            chunk = os.read(pipe.fileno(), _CHUNK)
            if not chunk:
                break
            said += chunk
    return said.decode(errors="replace").strip()


def _wait_until_listens(path: Path, seconds: float) -> None:
    end = time.monotonic() + seconds
    while not _listens(path) and time.monotonic() < end:
        time.sleep(_POLL_SECONDS)


def _listens(path: Path) -> bool:
    daemon = _connect(path)
    if daemon is not None:
        daemon.close()
    return daemon is not None


def _failed(sentence: str, hint: str) -> ResumedError:
    return ResumedError(ErrorCode.INTERNAL_ERROR, sentence, hint)


def _carry_input(daemon: socket.socket, ended: threading.Event) -> None:
    with contextlib.suppress(OSError):
        while chunk := os.read(sys.stdin.fileno(), _CHUNK):
            daemon.sendall(chunk)
        daemon.shutdown(socket.SHUT_WR)
        if not ended.wait(_LAST_ANSWERS_SECONDS):
            daemon.shutdown(socket.SHUT_RD)


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]
