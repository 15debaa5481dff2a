"""Opens a workspace and answers its requests.

It is imported only after the socket answers, so that a client never waits for an import.
"""

import asyncio
import functools
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from resumed.daemon.handlers import HANDLERS
from resumed.daemon.refusals import refusal_of
from resumed.daemon.rpc.application import Broadcast, Handler, StatusFields
from resumed.daemon.rpc.connection import Client
from resumed.daemon.runtime import state_folder, workspace_id
from resumed.daemon.storage import disk
from resumed.daemon.storage.errors import StorageError, StreamBusy
from resumed.daemon.storage.index import Index
from resumed.daemon.storage.layout import Layout
from resumed.daemon.workspace import Workspace
from resumed.protocol.restore import Wire


class WorkspaceApplication:
    """A workspace behind the socket."""

    def __init__(self, workspace: Workspace, lock: int | None) -> None:
        self._workspace = workspace
        self._lock = lock

    @property
    def handlers(self) -> Mapping[str, Handler]:
        """A handler for each request, with the shell's failures turned into errors."""
        return {name: functools.partial(self._answer, handler) for name, handler in HANDLERS.items()}

    def busy(self) -> bool:
        """Whether a lease or a question keeps the daemon here."""
        return self._workspace.busy()

    def status_fields(self) -> StatusFields:
        """The workspace's part of the status."""
        return self._workspace.status_fields()

    async def close(self) -> None:
        """Finish and release everything."""
        await self._workspace.close()
        if self._lock is not None:
            os.close(self._lock)

    async def _answer(self, handler: Any, client: Client, params: Any) -> Wire:
        try:
            result: Wire = await handler(self._workspace, client, params)
        except (StorageError, ValueError) as error:
            refusal = refusal_of(error)
            if refusal is None:
                raise
            raise refusal from error
        return result


async def open_application(root: str, broadcast: Broadcast) -> WorkspaceApplication:
    """Open the workspace of this canonical root."""
    layout = await asyncio.to_thread(Layout.open, state_folder())
    path = Path(layout.index_path(workspace_id(os.fsencode(root))))
    # The socket's own lock is in the runtime folder, where another environment's daemon would not meet it.
    lock = None if layout.read_only else await asyncio.to_thread(_lock, path.with_name("daemon.lock"))
    index, note = await Index.open(path)
    workspace = Workspace(root, layout, index, broadcast)
    if note is not None:
        workspace.threads.notes[note] = None
    application = WorkspaceApplication(workspace, lock)
    try:
        await workspace.begin()
    except BaseException:
        await application.close()
        raise
    return application


def _lock(path: Path) -> int:
    disk.make_folder(path.parent)
    lock = disk.lock(path)
    if lock is None:
        raise StreamBusy("Another daemon serves this workspace from another runtime folder.")
    return lock
