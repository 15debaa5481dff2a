"""Clients that append over the real socket, each in its own run, beside the same daemon without syncs."""

import asyncio
import json
import os
import statistics
import subprocess
import sys
import time
import uuid
from pathlib import Path
from typing import Any

from resumed.daemon.runtime import place_of
from resumed.protocol.daemon import PROTOCOL_VERSION
from tests.benchmarks.measure import Figure
from tests.support.wire import connects, environment, wait_for

CLIENTS = (1, 64)
APPENDS = 1920
ROUNDS = 3
TEXT = "round down " * 20
DAEMON = """
import sys
from resumed.daemon.__main__ import end, main
if sys.argv[2] == "without sync":
    from resumed.daemon.storage import disk
    disk.sync = lambda descriptor: None
end(main(["serve", "--workspace", sys.argv[1]]))
"""


async def figures(base: Path) -> list[Figure]:
    """Appends in a second, for one client and for many; each kind of daemon takes its turn."""
    found = []
    for clients in CLIENTS:
        rates: dict[str, list[float]] = {"with sync": [], "without sync": []}
        for number in range(ROUNDS):
            for kind, measured in rates.items():
                folder = base / f"append {clients} {number} {kind}"
                folder.mkdir()
                measured.append(await _rate(folder, kind, clients))
        durable, bare = (statistics.median(measured) for measured in rates.values())
        found.append(
            Figure(
                what=f"appends over the socket by {clients}, all durable",
                measured=f"{durable:,.0f}/s",
                anchor=f"the same daemon without sync: {bare:,.0f}/s",
                ratio=f"{durable / bare:.0%}",
                goal=">= 50%",
            )
        )
    return found


async def _rate(folder: Path, kind: str, clients: int) -> float:
    """Appends in a second at a daemon of its own, from when all have begun their runs."""
    daemon = _spawned(folder, kind)
    try:
        place = place_of(folder)
        await asyncio.to_thread(wait_for, lambda: daemon.poll() is not None or connects(place.socket))
        agents = [await _Agent.begun(place.socket, folder) for _ in range(clients)]
        each = APPENDS // clients
        begin = time.perf_counter()
        await asyncio.gather(*(agent.append(each) for agent in agents))
        taken = time.perf_counter() - begin
        for agent in agents:
            agent.close()
    finally:
        daemon.terminate()
        daemon.wait(60)
    return each * clients / taken


def _spawned(folder: Path, kind: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-c", DAEMON, str(folder), kind],
        env=environment(PYTHONPATH=os.environ["PYTHONPATH"]),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


class _Agent:
    """One that appends and waits for each answer, in as few words as possible: the daemon is measured."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._session = ""

    @classmethod
    async def begun(cls, path: Path, folder: Path) -> "_Agent":
        agent = cls(*await asyncio.open_unix_connection(str(path)))
        hello = {"protocolVersion": PROTOCOL_VERSION, "client": {"name": "bench"}}
        await agent._call("resumed/initialize", hello)
        started = await agent._call("session/start", {"agent": {"name": "bench"}, "cwd": str(folder)})
        agent._session = started["sessionId"]
        return agent

    async def append(self, count: int) -> None:
        entry = {"kind": "message", "role": "user", "text": TEXT}
        params = {"sessionId": self._session, "type": "entry_added", "payload": entry}
        for _ in range(count):
            await self._call("event/append", {**params, "eventId": str(uuid.uuid4())})

    def close(self) -> None:
        self._writer.close()

    async def _call(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        self._writer.write(json.dumps(request).encode() + b"\n")
        while True:
            answer: dict[str, Any] = json.loads(await self._reader.readline())
            if "id" in answer:
                result: dict[str, Any] = answer["result"]
                return result
