"""The real parts of a workspace, opened over a test's own folders, without a daemon process."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from pathlib import Path

from resumed.daemon.rpc.application import Broadcast
from resumed.daemon.runtime import state_folder, workspace_id
from resumed.daemon.storage.index import Index
from resumed.daemon.storage.layout import Layout
from resumed.daemon.workspace import Workspace
from resumed.protocol.daemon import ClientCapabilities, ClientInfo
from resumed.protocol.restore import Answers, Question, Wire


class Hearing:
    """Takes what a workspace broadcasts."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, Wire]] = []

    def __call__(self, method: str, params: Wire, coalesce: str | None = None) -> None:
        self.heard.append((method, params))


class LocalClient:
    """A client in this process: it has a name, can leave, and answers nothing."""

    def __init__(self, name: str = "test") -> None:
        self.id = f"local-{name}"
        self.info = ClientInfo(name=name, pid=os.getpid())
        self.capabilities = ClientCapabilities()
        self.gone = asyncio.Event()

    async def ask(self, question: Question) -> Answers | None:
        """Nobody answers."""
        return None

    def notify(self, method: str, params: Wire, coalesce: str | None = None) -> None:
        """Nobody listens."""


@contextlib.asynccontextmanager
async def opened(root: Path, broadcast: Broadcast | None = None) -> AsyncIterator[Workspace]:
    """A workspace over a folder, closed at the end."""
    layout = Layout.open(state_folder())
    index, _ = await Index.open(layout.index_path(workspace_id(os.fsencode(root))))
    workspace = Workspace(str(root), layout, index, broadcast or Hearing(), 0o022)
    try:
        await workspace.begin()
        await workspace.tidied()
        yield workspace
    finally:
        await workspace.close()
