"""A process that has imported everything and is forked for each thing that is done with a conversation.

`python -m tests.support.keeping_zygote`; each line of its input is a task with the n-th call that kills, or
a look at what was left. The fork happens while the process has one thread.
"""

import asyncio
import contextlib
import gc
import json
import logging
import os
import signal
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any

from resumed.daemon.keeping.doctor import examine
from resumed.daemon.storage import purges
from resumed.daemon.workspace import Workspace
from resumed.protocol.errors import ResumedError
from resumed.protocol.threads import ThreadListParams, ThreadSummary
from tests.support import shim
from tests.support.blobs import check_whole
from tests.support.machines import CLIENT, contents, ended_run, leftovers, sha256, stream_files
from tests.support.parts import opened
from tests.support.shim import ANY, Action, Fault

DEADLINE_SECONDS = 60
MINE, SHARED, LATER = b"only mine " * 500, b"of two", b"of a later run"
QUIET = {"index.behind", "leftover.lock"}
"""What may be found when all is in order."""


async def prepare(work: Path) -> str:
    """A thread of two runs and one that shares a content with it, and the first one in a file."""
    async with opened(work) as workspace:
        thread = await ended_run(workspace, MINE, SHARED)
        await ended_run(workspace, LATER, thread_id=thread)
        await ended_run(workspace, SHARED)
        await workspace.threads.look_again()
        await workspace.exporter.export(thread, str(work / "file"))
    return thread


async def act(work: Path, task: str, thread: str, n: int) -> None:
    """Do it, and be killed at the n-th call that changes the state folder."""
    async with opened(work) as workspace:
        if n:
            shim.arm(workspace.layout.home, Fault(Action.KILL, ANY, n))
        await _act(workspace, task, thread, str(work / "file"))


async def check(work: Path, task: str, thread: str) -> str:
    """Look at what was left after one start, do it again, and look again; returns what was left."""
    async with opened(work) as workspace:
        found = await _state(workspace, thread)
        assert found in _ALLOWED[task], found
        await _check_order(workspace)
    async with opened(work) as workspace:
        with contextlib.suppress(ResumedError):
            await _act(workspace, task, thread, str(work / "file"))
        assert await _state(workspace, thread) == _ALLOWED[task][-1]
        await _check_order(workspace)
    return found


_ALLOWED = {
    "archive": ("listed", "archived"),
    "unarchive": ("archived", "listed"),
    "purge": ("listed", "gone"),
    "import": ("gone", "listed"),
}
"""What may be there after a kill: as before, or as it is when it was done."""


async def _act(workspace: Workspace, task: str, thread: str, file: str) -> None:
    match task:
        case "archive" | "unarchive":
            await workspace.archive.move(thread, CLIENT.info, archived=task == "archive")
        case "purge":
            await workspace.purger.purge(thread, CLIENT.info)
        case "import":
            await workspace.importer.take_in(file, CLIENT.info)


async def _state(workspace: Workspace, thread: str) -> str:
    """Where the thread is, of which all or nothing must be there."""
    listed: dict[str, tuple[ThreadSummary, bool]] = {}
    await workspace.threads.look_again()
    for archived in (False, True):
        page = await workspace.threads.page(ThreadListParams(scope="all", archived=archived))
        assert page.notes == (), page.notes
        listed |= {summary.thread_id: (summary, archived) for summary in page.threads}
    if thread not in listed:
        assert not [name for name in stream_files() if thread in name]
        return "gone"
    summary, archived = listed[thread]
    record = await workspace.threads.record(thread)
    assert (summary.name, summary.runs, summary.damaged) == ("Round", 2, False)
    assert (len(record.runs), record.damage) == (2, ())
    assert {sha256(MINE), sha256(SHARED), sha256(LATER)} <= contents()
    return "archived" if archived else "listed"


async def _check_order(workspace: Workspace) -> None:
    """Nothing is half done, and nothing that others need is missing."""
    layout = workspace.layout
    assert leftovers() == []
    assert purges.all_begun(layout) == frozenset()
    assert sha256(SHARED) in contents()
    check_whole(layout)
    found = {finding.kind for finding in await asyncio.to_thread(lambda: examine(layout.home).findings)}
    assert found <= QUIET, found


def main() -> None:
    """Fork a child for each line; say how each ended: `done`, `killed`, or `failed`."""
    logging.disable(logging.CRITICAL)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["RESUMED_HOME"] = f"{folder}/state"
        thread = asyncio.run(prepare(Path(folder)))
        for task in _ALLOWED:
            asyncio.run(act(Path(folder), task, thread, 0))
    gc.freeze()
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            _child(json.loads(line))
        _, status = os.waitpid(child, 0)
        code = os.waitstatus_to_exitcode(status)
        print({0: "done", -signal.SIGKILL: "killed"}.get(code, "failed"), flush=True)


def _child(request: dict[str, Any]) -> None:
    signal.alarm(DEADLINE_SECONDS)
    status = 1
    try:
        os.environ["RESUMED_HOME"] = request["home"]
        work, task = Path(request["work"]), request["task"]
        if "n" in request:
            asyncio.run(act(work, task, request["thread"], request["n"]))
        else:
            asyncio.run(check(work, task, request["thread"]))
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


if __name__ == "__main__":
    main()
