"""An application without a workspace behind it, and a daemon process that serves it.

Handlers do the least that a test of the wire needs: echo, wait, fail, ask, flood.
"""

import asyncio
import contextlib
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from resumed.daemon.__main__ import end
from resumed.daemon.rpc import server
from resumed.daemon.rpc.application import Application, Broadcast, Handler, OpenApplication, StatusFields
from resumed.daemon.rpc.connection import Client
from resumed.daemon.serve import serve
from resumed.daemon.storage.errors import StreamBusy
from resumed.protocol.errors import ErrorCode, Holder, ResumedError
from resumed.protocol.restore import Question
from resumed.protocol.sessions import (
    CostUpdated,
    EventAppendParams,
    EventAppendResult,
    OperationBeginParams,
    OperationBeginResult,
    TurnStartParams,
    TurnStartResult,
)
from resumed.protocol.threads import CostView, NameSetParams, NameSetResult, ThreadReadParams, TokensView
from tests.support.wire import wait_for

QUESTION = Question(
    restore_id="r", thread_id="t", thread_name="Fix it", token="k", round=1, rounds=1, drifts=()
)
FLOOD_BYTES = 64 * 1024 * 1024


class FakeApplication:
    """Answers a few methods of the table; `log` is where `close` is noted."""

    def __init__(self, root: str, broadcast: Broadcast) -> None:
        self._root = Path(root)
        self._broadcast = broadcast
        self._sequence = 0
        self._busy_asked = 0
        self._running: dict[str, int] = {}

    @property
    def handlers(self) -> Mapping[str, Handler]:
        """One handler for each trick."""
        return {
            "thread/name/set": self.name,
            "thread/read": self.read,
            "event/append": self.append,
            "operation/begin": self.begin,
            "turn/start": self.turn,
        }

    def busy(self) -> bool:
        """Busy while a file of that name is in the workspace; leaves a file for each time it is asked."""
        self._busy_asked += 1
        (self._root / f"busy-asked-{self._busy_asked}").touch()
        return (self._root / "busy").exists()

    def outlived(self) -> bool:
        """Outlived once a file of that name is in the workspace."""
        return (self._root / "outlived").exists()

    def status_fields(self) -> StatusFields:
        """Nothing but zeros."""
        return StatusFields()

    async def close(self) -> None:
        """Leave a file behind that says so; fail with a file `stuck`."""
        if (self._root / "stuck").exists():
            raise OSError("the disk is gone")
        (self._root / "closed").write_text("closed")

    async def cut_off(self, unfinished: tuple[str, ...]) -> None:
        """Leave a file behind that says so."""
        (self._root / "cut-off").write_text(" ".join(unfinished))

    async def name(self, client: Client, params: NameSetParams) -> NameSetResult:
        """Return the name; a name `big:<n>` becomes n bytes; `flood` first sends notifications."""
        if params.name == "flood":
            for _ in range(FLOOD_BYTES // 1024):
                self._broadcast("cost/updated", _cost("x" * 1024))
        if params.name == "coalesce":
            for number in range(20_000):
                self._broadcast("cost/updated", _cost(f"{number}"), coalesce="t")
        name = params.name
        if name.startswith("big:"):
            name = "x" * int(name.removeprefix("big:"))
        return NameSetResult(thread_id=params.thread_id, name=name)

    async def read(self, client: Client, params: ThreadReadParams) -> Any:
        """Fail as `thread` says, or wait for ever; `stubborn` even when it is cancelled."""
        match params.thread:
            case "busy":
                holder = Holder(name="VS Code", pid=7, since="2026-01-01T00:00:00Z")
                raise ResumedError(
                    ErrorCode.THREAD_BUSY,
                    "It is open elsewhere.",
                    "Go there.",
                    holder=holder,
                    ways=("attach",),
                )
            case "bug":
                raise RuntimeError(f"a secret of {self._root}")
            case "unencodable":
                return object()
            case "stubborn":
                (self._root / "waiting-stubborn").touch()
                while not (self._root / "go").exists():
                    with contextlib.suppress(asyncio.CancelledError):
                        await asyncio.sleep(0.01)
            case _:
                (self._root / f"waiting-{params.thread}").touch()
                await asyncio.Event().wait()

    async def append(self, client: Client, params: EventAppendParams) -> EventAppendResult:
        """Broadcast the payload back; say in `repeated` whether a call of the session was running."""
        self._sequence += 1
        running = self._running.get(params.session_id, 0)
        self._running[params.session_id] = running + 1
        for _ in range(3):
            await asyncio.sleep(0)
        self._running[params.session_id] -= 1
        return EventAppendResult(seq=self._sequence, last_durable_event=self._sequence, repeated=running > 0)

    async def begin(self, client: Client, params: OperationBeginParams) -> OperationBeginResult:
        """Return the arguments as text in `result`; tool `finish` waits until a file `go` is there, and then
        leaves a file that says whether its client was gone before."""
        if params.tool == "finish":
            (self._root / "begun").touch()
            await _appears(self._root / "go")
            (self._root / "finished").write_text(f"gone: {client.gone.is_set()}")
        return OperationBeginResult(operation_id=params.operation_id, state="begun", result=repr(params.args))

    async def turn(self, client: Client, params: TurnStartParams) -> TurnStartResult:
        """Ask the client; the token says what came of it."""
        answers = await client.ask(QUESTION)
        (self._root / "asked").write_text(repr(answers))
        return TurnStartResult(turn_id="u", token=repr(answers), entry_id="e")


def _cost(thread: str) -> CostUpdated:
    nothing = TokensView(input=0, cached=0, output=0)
    return CostUpdated(
        thread_id=thread, cost=CostView(total=nothing, buckets={}, usd=None, since_clear=nothing)
    )


async def _appears(path: Path) -> None:
    """Return once a file is there, looked at in a thread so that requests go on."""
    await asyncio.to_thread(wait_for, path.exists)


async def open_fake(root: str, broadcast: Broadcast, users_umask: int) -> Application:
    """Open the fake. A file in the workspace makes it harder: with `refuse`, `locked`, `lost` or `broken` it
    can't be opened, with `slow` it waits for `go`, with a pipe `hang` a worker thread waits for ever. The
    process of one with `hasty` has no patience when it stops."""
    folder = Path(root)
    if (folder / "refuse").exists():
        raise ResumedError(ErrorCode.STATE_READ_ONLY, "The disk is full.", "Make room.")
    if (folder / "locked").exists():
        raise StreamBusy("Another daemon has it.")
    if (folder / "lost").exists():
        raise FileNotFoundError(2, "No such file or directory", "/lost")
    if (folder / "broken").exists():
        raise RuntimeError("a secret")
    if (folder / "slow").exists():
        await _appears(folder / "go")
    if (folder / "hang").exists():
        asyncio.get_running_loop().run_in_executor(None, os.open, folder / "hang", os.O_RDONLY)
    return FakeApplication(root, broadcast)


def load_fake() -> OpenApplication:
    """Load nothing."""
    return open_fake


if __name__ == "__main__":
    if Path(sys.argv[1], "hasty").exists():
        server._DRAIN_SECONDS = 0.01
    end(serve(Path(sys.argv[1]), load_fake))
