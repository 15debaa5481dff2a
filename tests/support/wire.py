"""Daemon processes for tests, and a raw wire to one: what a misbehaving client can do, this can do."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from resumed.daemon.runtime import Place, place_of

REPOSITORY = Path(__file__).resolve().parents[2]
FAKE = REPOSITORY / "tests" / "support" / "fake_application.py"
DEADLINE = 30.0


def wait_for(condition: Callable[[], bool], seconds: float = DEADLINE) -> None:
    """Return once the condition holds. Raises `TimeoutError` at the deadline."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError("the condition did not come to hold")
        time.sleep(0.002)


def environment(**more: str) -> dict[str, str]:
    """The test's environment with our packages importable by a child."""
    paths = [str(REPOSITORY / ".typecheck"), str(REPOSITORY)]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), **more}


class Daemon:
    """A running daemon of the fake application over one workspace."""

    def __init__(self, workspace: Path, process: subprocess.Popen[bytes]) -> None:
        self.workspace = workspace
        self.process = process
        self.place: Place = place_of(workspace)

    def wait_listening(self) -> None:
        """Return once the socket takes connections; fails if the process ends before."""
        wait_for(lambda: self.process.poll() is not None or connects(self.place.socket))
        assert self.process.poll() is None, self.process.returncode

    def resident_bytes(self) -> int:
        """The process' resident memory."""
        fields = Path(f"/proc/{self.process.pid}/statm").read_text().split()
        return int(fields[1]) * os.sysconf("SC_PAGE_SIZE")

    def log(self) -> str:
        """What the daemon has logged."""
        return self.place.log.read_text() if self.place.log.exists() else ""


@contextmanager
def running_daemon(workspace: Path, **more: str) -> Iterator[Daemon]:
    """Run the fake application's daemon for a workspace; it is stopped at the end."""
    with spawned(workspace, **more) as daemon:
        daemon.wait_listening()
        yield daemon


@contextmanager
def spawned(workspace: Path, **more: str) -> Iterator[Daemon]:
    """Start the daemon's process without waiting for anything."""
    process = subprocess.Popen(
        [sys.executable, str(FAKE), str(workspace)],
        env=environment(**more),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        yield Daemon(workspace, process)
    finally:
        if process.poll() is None:
            process.terminate()
        try:
            process.wait(DEADLINE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stderr is not None:
            process.stderr.close()


def connects(path: Path) -> bool:
    """Whether someone listens on a unix socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        return probe.connect_ex(str(path)) == 0


class Wire:
    """A blocking socket that speaks bytes and JSON, in either framing."""

    def __init__(self, path: Path) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(DEADLINE)
        self.socket.connect(str(path))
        self._buffer = b""

    def __enter__(self) -> "Wire":
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def raw(self, data: bytes) -> None:
        """Send bytes as they are."""
        self.socket.sendall(data)

    def message(self, message: Any) -> None:
        """Send anything as JSON under headers."""
        body = json.dumps(message).encode()
        self.raw(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    def request(self, identifier: Any, method: str, params: Any = None) -> None:
        """Send a request without waiting."""
        self.message({"jsonrpc": "2.0", "id": identifier, "method": method, "params": params or {}})

    def notify(self, method: str, params: Any = None) -> None:
        """Send a notification."""
        self.message({"jsonrpc": "2.0", "method": method, "params": params or {}})

    def call(self, identifier: Any, method: str, params: Any = None) -> dict[str, Any]:
        """Send a request and return the next message."""
        self.request(identifier, method, params)
        return self.read()

    def initialize(self, **capabilities: bool) -> dict[str, Any]:
        """Send `resumed/initialize` and return the answer."""
        client = {"name": "test", "version": "1"}
        params = {"protocolVersion": "1.0", "client": client, "capabilities": capabilities}
        return self.call("first", "resumed/initialize", params)

    def read(self) -> dict[str, Any]:
        """Return the next message sent under headers. Raises `EOFError` when the daemon hangs up."""
        headers = self._until(b"\r\n\r\n").decode().lower()
        length = int(headers.partition("content-length:")[2].split("\r\n")[0])
        while len(self._buffer) < length:
            self._more()
        body, self._buffer = self._buffer[:length], self._buffer[length:]
        message: dict[str, Any] = json.loads(body)
        return message

    def read_line(self) -> dict[str, Any]:
        """Return the next message sent on a line of its own."""
        message: dict[str, Any] = json.loads(self._until(b"\n"))
        return message

    def ends(self) -> bool:
        """Whether the daemon hangs up without saying more."""
        try:
            self._more()
        except (EOFError, ConnectionError):
            return True
        return False

    def _until(self, mark: bytes) -> bytes:
        while mark not in self._buffer:
            self._more()
        found, _, self._buffer = self._buffer.partition(mark)
        return found

    def _more(self) -> None:
        chunk = self.socket.recv(1 << 20)
        if not chunk:
            raise EOFError("the daemon hung up")
        self._buffer += chunk
