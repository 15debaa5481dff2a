"""A page of 50 out of 2,000 conversations, and how long it takes to index them."""

import asyncio
import os
import sqlite3
import time
import uuid
from pathlib import Path

from resumed.daemon.rpc.client import Client
from resumed.daemon.runtime import workspace_id
from resumed.daemon.storage.layout import INDEX_VERSION
from resumed.protocol.daemon import StatusParams, StatusResult
from resumed.protocol.threads import ThreadListParams, ThreadListResult
from tests.benchmarks.measure import Figure, beside, installed, median, median_of
from tests.support.codex import recording
from tests.support.workspace import client

THREADS = 2000
PAGE = 50


async def figures(base: Path) -> list[Figure]:
    """Index 2,000 rollouts, then list; beside the bare SELECT of the same rows."""
    folder = base / "list"
    folder.mkdir()
    await asyncio.to_thread(_many_rollouts, Path(os.environ["CODEX_HOME"]), folder)
    begin = time.perf_counter()
    daemon = installed(folder)
    daemon.wait_listening()
    async with client(folder) as connection:
        params = ThreadListParams(limit=PAGE)
        page, status = await _look(connection, params)
        while status.index != "ok" or len(page.threads) < PAGE:
            page, status = await _look(connection, params)
        indexed = (time.perf_counter() - begin) * 1000
        listed = await median_of(lambda: connection.call("thread/list", params), 50)
    daemon.stop()
    index = (
        Path(os.environ["RESUMED_HOME"])
        / "workspaces"
        / workspace_id(os.fsencode(folder))
        / f"index-v{INDEX_VERSION}.db"
    )
    with sqlite3.connect(index) as database:
        sql = "SELECT * FROM threads WHERE archived = 0 ORDER BY last_active_at DESC, thread_id DESC LIMIT 50"
        bare = median(lambda: database.execute(sql).fetchall(), 50)
    return [
        Figure(
            what=f"{THREADS:,} rollouts indexed, daemon start included",
            measured=f"{indexed:.0f} ms",
            goal="<= 3,000 ms",
        ),
        beside(
            f"thread/list, {PAGE} of {THREADS:,}, over the socket",
            listed,
            "SELECT of 50 rows",
            bare,
            "<= 5 ms",
        ),
    ]


async def _look(connection: Client, params: ThreadListParams) -> tuple[ThreadListResult, StatusResult]:
    page = await connection.call("thread/list", params)
    return page, await connection.call("daemon/status", StatusParams())


def _many_rollouts(codex_home: Path, cwd: Path) -> None:
    content = recording("v171_on_request_two_turns").read_bytes()
    thread = b"01a22dbd-6721-7b02-8d3d-d77a010ed4f3"
    content = content.replace(b"/home/dev/repo", os.fsencode(cwd))
    folder = codex_home / "sessions" / "2026" / "11" / "30"
    folder.mkdir(parents=True)
    for n in range(THREADS):
        fresh = str(uuid.uuid4())
        name = f"rollout-2026-11-30T{n // 3600:02}-{n // 60 % 60:02}-{n % 60:02}-{fresh}.jsonl"
        (folder / name).write_bytes(content.replace(thread, fresh.encode()))
