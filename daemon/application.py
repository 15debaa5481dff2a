"""Opens a workspace and answers its requests.

It is imported only after the socket answers, so that a client never waits for an import.
"""

import asyncio
import contextlib
import dataclasses
import functools
import logging
import os
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from resumed.daemon.handlers import HANDLERS
from resumed.daemon.refusals import refusal_of
from resumed.daemon.rpc.application import Broadcast, Handler, StatusFields
from resumed.daemon.rpc.connection import Client
from resumed.daemon.runtime import place_of, state_folder, workspace_id
from resumed.daemon.storage import disk, purges
from resumed.daemon.storage.errors import StateGone, StorageError, StorageFailed
from resumed.daemon.storage.index import Index
from resumed.daemon.storage.layout import Layout
from resumed.daemon.workspace import Workspace
from resumed.protocol.errors import ErrorCode, ResumedError
from resumed.protocol.restore import Wire

SERVED_ELSEWHERE = (
    "Another process serves this workspace, from another runtime folder; here it can only be read."
    " To write here, stop that one, or use its RESUMED_RUNTIME."
)
_REMOVAL_SECONDS = 10.0
_POLL_SECONDS = 0.02
_LOG = logging.getLogger(__name__)
_WRITING = frozenset(
    {"event/append", "turn/start", "turn/complete", "operation/begin", "operation/commit"}
    | {"thread/resume", "thread/name/set", "thread/archive", "thread/unarchive"}
    | {"thread/purge", "thread/import"}
)


class WorkspaceApplication:
    """A workspace behind the socket."""

    def __init__(self, workspace: Workspace, held: contextlib.ExitStack) -> None:
        self._workspace = workspace
        self._held = held

    @property
    def handlers(self) -> Mapping[str, Handler]:
        """A handler for each request, with the shell's failures turned into errors."""
        return {name: functools.partial(self._answer, name) for name in HANDLERS}

    def busy(self) -> bool:
        """Whether a lease or a question keeps the daemon here."""
        return self._workspace.busy()

    def outlived(self) -> bool:
        """Whether the state folder is not the one that was opened."""
        return bool(self._workspace.layout.gone())

    def status_fields(self) -> StatusFields:
        """The workspace's part of the status."""
        return self._workspace.status_fields()

    async def close(self) -> None:
        """Finish and release everything."""
        await self._workspace.close()
        self._held.close()

    async def cut_off(self, unfinished: tuple[str, ...]) -> None:
        """Let go while these requests still run: nothing is waited for, no clean end is recorded."""
        _LOG.warning("stopped in the middle of %s", ", ".join(unfinished))
        await self._workspace.abandon()
        self._held.close()

    async def _answer(self, method: str, client: Client, params: Any) -> Wire:
        try:
            result: Wire = await HANDLERS[method](self._workspace, client, params)
        except (StorageError, ValueError) as error:
            refusal = refusal_of(error)
            if refusal is None:
                raise
            if isinstance(error, StorageFailed | StateGone):
                self._workspace.failure = error.sentence
            raise refusal from error
        except ResumedError as refusal:
            if refusal.code is ErrorCode.STORAGE_FAILED:
                self._workspace.failure = refusal.sentence
            raise
        if method in _WRITING:
            self._workspace.failure = ""
        return result


async def open_application(root: str, broadcast: Broadcast, users_umask: int) -> WorkspaceApplication:
    """Open the workspace of this canonical root; git writes under `users_umask`."""
    layout = await asyncio.to_thread(Layout.open, state_folder())
    held = contextlib.ExitStack()
    try:
        claim = functools.partial(_claimed, layout, workspace_id(os.fsencode(root)), held)
        layout, path = await asyncio.to_thread(claim)
        index, note = await Index.open(path)
    except BaseException:
        held.close()
        raise
    workspace = Workspace(root, layout, index, broadcast, users_umask)
    workspace.leases.socket = str(place_of(Path(root)).socket)
    for sentence in (note, layout.reason if layout.read_only else None):
        if sentence:
            workspace.threads.notes[sentence] = None
    application = WorkspaceApplication(workspace, held)
    try:
        await workspace.begin()
    except BaseException:
        await application.close()
        raise
    return application


def _claimed(layout: Layout, identifier: str, held: contextlib.ExitStack) -> tuple[Layout, Path]:
    """The state folder as this process may use it, and where its index is: in there, locked; in a folder of
    its own when nothing may be written, for example since another process serves the workspace.

    The socket's own lock is in the runtime folder, where another environment's daemon would not meet it."""
    if not layout.read_only:
        path = layout.index_path(identifier)
        disk.make_folder(path.parent)
        lock = _lock(layout, identifier)
        if lock is not None:
            held.callback(os.close, lock)
            return layout, path
        layout = dataclasses.replace(layout, read_only=True, reason=SERVED_ELSEWHERE)
    return layout, Path(held.enter_context(tempfile.TemporaryDirectory(prefix="resumed-"))) / "index.db"


def _lock(layout: Layout, identifier: str) -> int | None:
    """Take the workspace's lock. Who removes a conversation for good holds it for a moment."""
    end = time.monotonic() + _REMOVAL_SECONDS
    while True:
        lock = disk.lock(layout.workspace_lock_path(identifier))
        if lock is not None or time.monotonic() > end or not purges.all_begun(layout):
            return lock
        time.sleep(_POLL_SECONDS)
