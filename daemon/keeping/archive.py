"""Puts threads away and brings them back.

The event in the thread's stream decides; where the files of its runs lie follows. A kill in between is
mended by the next start, and a run is read the same from either place.
"""

import asyncio
import contextlib
import logging
import os
from collections.abc import Iterable
from pathlib import Path

from resumed.daemon.freezing import ensure_thread, own_event
from resumed.daemon.keeping.belongings import belongings
from resumed.daemon.leases import Leases
from resumed.daemon.storage import disk, moving
from resumed.daemon.storage.errors import StorageError, StorageFailed, StreamBusy
from resumed.daemon.storage.layout import Layout
from resumed.daemon.storage.rows import FileCursor
from resumed.daemon.threads import Store, Threads
from resumed.daemon.uninterrupted import uninterrupted
from resumed.protocol.daemon import ClientInfo
from resumed.protocol.errors import ResumedError
from resumed.protocol.keeping import ThreadArchiveResult
from resumed.restore.events.thread import ThreadPatched

OURSELVES = ClientInfo(name="resumed, tidying up")

_log = logging.getLogger(__name__)


class Archive:
    """The threads of one workspace that are put away, and those that are not."""

    def __init__(self, threads: Threads, leases: Leases, store: Store) -> None:
        self._threads = threads
        self._leases = leases
        self._index = store.index
        self._streams = store.streams
        self._layout = store.layout

    async def move(self, thread: str, client: ClientInfo, *, archived: bool) -> ThreadArchiveResult:
        """Put a thread away or bring it back. The agent's own file stays where it is.

        Raises `ResumedError` (`threadBusy` while anybody has it), `StorageFailed`: what is on record
        stays, and doing it again is safe."""
        row = await self._threads.find(thread)
        return await uninterrupted(self._move(row.thread_id, client, archived))

    async def tidy(self) -> None:
        """Move what a kill left where it was. A thread that somebody has is left for the next start."""
        away = await self._index.archived_ids()
        for thread_id, archived in _misplaced(self._layout, await self._index.files(), away).items():
            with contextlib.suppress(ResumedError):
                try:
                    async with self._leases.held(thread_id, OURSELVES):
                        await uninterrupted(self._settle(thread_id, archived))
                except StorageError as error:
                    _log.warning("the runs of thread %s were not moved: %s", thread_id, error)

    async def _move(self, thread_id: str, client: ClientInfo, archived: bool) -> ThreadArchiveResult:
        writing = self._leases.writing(thread_id, client, self._streams)
        async with self._leases.turn(thread_id), writing as stream:
            built = await self._threads.built(thread_id)
            agents = (await self._threads.source(thread_id)).archived
            before = agents if built.lifecycle.archived is None else built.lifecycle.archived
            if before != archived:
                # What is put away is neither pinned nor waiting for a time.
                cleared = {"pinned": False, "snoozed": False} if archived else {}
                patch = ThreadPatched(fields={"archived": archived, **cleared})
                await ensure_thread(self._streams, built.record)
                await self._streams.append(stream, own_event(patch, "archive"))
            await self._settle(thread_id, archived)
        return ThreadArchiveResult(
            thread_id=thread_id,
            name=built.record.name,
            archived=archived,
            changed=before != archived,
            depends_on=built.record.depends_on,
        )

    async def _settle(self, thread_id: str, archived: bool) -> None:
        """Move the files of the thread's runs. Its lease is held."""
        own = await asyncio.to_thread(belongings, self._layout, thread_id)
        for session_id in own.sessions:
            await self._streams.release(f"session:{session_id}")
            await asyncio.to_thread(self._settle_run, session_id, archived)

    def _settle_run(self, session_id: str, archived: bool) -> None:
        try:
            lock = disk.lock(self._layout.stream_lock_path(f"session:{session_id}"))
            if lock is None:
                raise StreamBusy("Another process is writing a run of this conversation.")
            try:
                moving.settle(self._layout, session_id, archived=archived)
            finally:
                os.close(lock)
        except OSError as error:
            raise StorageFailed(
                f"Not every file of the conversation could be moved: {error.strerror}."
            ) from error


def _misplaced(layout: Layout, files: Iterable[FileCursor], away: frozenset[str]) -> dict[str, bool]:
    """Threads with a run that is not where those of a thread that is put away (`True`), or is not, belong."""
    runs = [file for file in files if not file.head and Path(file.path).name.startswith("rollout-")]
    archived = str(layout.archived_sessions)
    return {
        run.thread_id: run.thread_id in away
        for run in runs
        if (os.path.dirname(run.path) == archived) != (run.thread_id in away)
    }
