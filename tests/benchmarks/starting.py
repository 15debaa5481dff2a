"""How long until a daemon answers: spawned, and through `connect`."""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import IO

from resumed.daemon.runtime import place_of
from resumed.protocol.converter import to_json
from resumed.protocol.daemon import PROTOCOL_VERSION
from tests.benchmarks.measure import Figure, beside, installed, median
from tests.support.wire import connects, wait_for

RUNS = 9
CONNECT = (
    "import sys; from resumed.daemon.cli.main import main; sys.argv[1:] = ['connect', '--stdio']; main()"
)


async def figures(base: Path) -> list[Figure]:
    """Spawn to first reply, `connect` with and without a running daemon, and Python alone."""
    folder = base / "start"
    folder.mkdir()
    floor = median(lambda: subprocess.run([sys.executable, "-c", "pass"], check=True), RUNS)
    spawned = [_spawn_to_reply(folder) for _ in range(RUNS)]
    cold = median(lambda: _connect(folder, ends_daemon=True), RUNS)
    daemon = installed(folder)
    daemon.wait_listening()
    warm = median(lambda: _connect(folder, ends_daemon=False), RUNS)
    daemon.stop()
    python = "python -c pass"
    return [
        beside("daemon, spawn to first reply", sorted(spawned)[RUNS // 2], python, floor, "<= 100 ms"),
        beside("connect, daemon to be started", cold, python, floor, "<= 200 ms"),
        beside("connect, daemon running", warm, python, floor, ""),
    ]


def _spawn_to_reply(folder: Path) -> float:
    begin = time.perf_counter()
    daemon = installed(folder)
    wait_for(lambda: connects(daemon.place.socket))
    _connect_raw(folder)
    taken = (time.perf_counter() - begin) * 1000
    daemon.stop()
    return taken


def _connect_raw(folder: Path) -> None:
    import socket

    with socket.socket(socket.AF_UNIX) as wire:
        wire.connect(str(place_of(folder).socket))
        wire.sendall(_hello())
        assert _reply(wire.makefile("rb"))["id"] == 1


def _connect(folder: Path, *, ends_daemon: bool) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", CONNECT], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as bridge:
        assert bridge.stdin is not None
        assert bridge.stdout is not None
        bridge.stdin.write(_hello())
        bridge.stdin.flush()
        assert _reply(bridge.stdout)["id"] == 1
        if ends_daemon:
            drain = {"jsonrpc": "2.0", "id": 2, "method": "daemon/drain", "params": {}}
            bridge.stdin.write(_frame(drain))
            bridge.stdin.flush()
            _reply(bridge.stdout)
        bridge.stdin.close()
        bridge.wait(30)
    if ends_daemon:
        wait_for(lambda: not connects(place_of(folder).socket))


def _hello() -> bytes:
    params = {"protocolVersion": PROTOCOL_VERSION, "client": {"name": "bench"}}
    return _frame({"jsonrpc": "2.0", "id": 1, "method": "resumed/initialize", "params": params})


def _frame(message: dict[str, object]) -> bytes:
    body = to_json(message)
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def _reply(source: IO[bytes]) -> dict[str, object]:
    length = 0
    while (line := source.readline().strip()) != b"":
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    answer: dict[str, object] = json.loads(source.read(length))
    return answer
