"""Removes for good what is kept of a thread; an agent's own files are never touched.

What is to be removed is on record before the first of it goes. From then on nobody shows the thread, and
whoever comes next finishes: the person, the next start, or whoever takes the thread's lease.
"""

import asyncio
import contextlib
import logging
import re
from pathlib import Path

import msgspec

from resumed.daemon.failpoints import passage
from resumed.daemon.keeping.belongings import Belongings, belongings
from resumed.daemon.keeping.forgetting import Others, forget_elsewhere, others, remove_strangers
from resumed.daemon.leases import Leases
from resumed.daemon.ports.clock import Clock
from resumed.daemon.storage import collection, disk, purges
from resumed.daemon.storage.blob_rows import milliseconds
from resumed.daemon.storage.blobs import SPARED_SECONDS, Blobs
from resumed.daemon.storage.collection import NotCollected, Removed
from resumed.daemon.storage.errors import StorageError, StorageFailed, StreamBusy
from resumed.daemon.storage.layout import Layout
from resumed.daemon.storage.purges import Purge
from resumed.daemon.storage.reader import Reading
from resumed.daemon.threads import Store, Threads
from resumed.daemon.uninterrupted import uninterrupted
from resumed.protocol.daemon import ClientInfo
from resumed.protocol.errors import ResumedError
from resumed.protocol.keeping import ThreadPurgeResult

OURSELVES = ClientInfo(name="resumed, tidying up")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")

_log = logging.getLogger(__name__)


class _Done(msgspec.Struct, kw_only=True):
    """What one purge has removed."""

    files: int = 0
    bytes: int = 0
    contents: Removed = Removed()
    notes: list[str] = []


class Purger:
    """Removes threads of a state folder, as one workspace's daemon does."""

    def __init__(self, threads: Threads, leases: Leases, store: Store, blobs: Blobs, clock: Clock) -> None:
        self._threads = threads
        self._leases = leases
        self._layout = store.layout
        self._streams = store.streams
        self._blobs = blobs
        self._clock = clock

    async def purge(self, thread: str, client: ClientInfo) -> ThreadPurgeResult:
        """Remove a thread, or finish what was begun.

        Raises `ResumedError` (`threadBusy` while anybody has it) and `StorageFailed`: what was begun is
        then finished by doing it again."""
        self._layout.check_writable()
        row = await self._threads.find(thread)
        source = await self._threads.source(row.thread_id)
        done = await uninterrupted(self._purge(row.thread_id, client))
        return ThreadPurgeResult(
            thread_id=row.thread_id,
            name=row.name,
            files=done.files,
            bytes=done.bytes,
            contents=done.contents.removed,
            contents_shared=done.contents.needed,
            contents_later=len(done.contents.spared),
            depends_on=str(source.path) if source.path is not None else None,
            notes=tuple(done.notes),
        )

    async def finish(self, thread_id: str) -> None:
        """Finish the removal of a thread that was begun; its lease is held."""
        begun = await asyncio.to_thread(_begun, self._layout, thread_id)
        if begun is not None:
            await uninterrupted(self._remove(begun))

    async def tidy(self) -> None:
        """Finish every removal that was begun, and remove contents that could not be removed then."""
        begun = await asyncio.to_thread(purges.all_begun, self._layout)
        for thread_id in begun | await asyncio.to_thread(purges.staged, self._layout):
            try:
                with contextlib.suppress(ResumedError):
                    async with self._leases.held(thread_id, OURSELVES):
                        await asyncio.to_thread(purges.drop_staged, self._layout, thread_id)
                        await self.finish(thread_id)
            except StorageError as error:
                _log.warning("the removal of thread %s could not be finished: %s", thread_id, error)
        for left in await asyncio.to_thread(purges.contents_left, self._layout):
            with contextlib.suppress(StorageError):
                await self._remove_contents_left(left)

    async def _purge(self, thread_id: str, client: ClientInfo) -> _Done:
        async with self._leases.turn(thread_id), self._leases.held(thread_id, client):
            begun = await asyncio.to_thread(_begun, self._layout, thread_id)
            if begun is None:
                # A restore that was cut off may still have to be taken back.
                await self._leases.settle(thread_id)
                begun = await self._begin(thread_id)
            return await self._remove(begun)

    async def _begin(self, thread_id: str) -> Purge:
        own = await asyncio.to_thread(belongings, self._layout, thread_id)
        for stream in own.streams:
            await self._streams.release(stream)
            if await asyncio.to_thread(disk.is_locked, self._layout.stream_lock_path(stream)):
                raise StreamBusy("Another process is writing this conversation.")
        try:
            contents = await asyncio.to_thread(_named, self._layout, own)
            purge = Purge(thread_id=thread_id, sessions=own.sessions, contents=contents)
            await asyncio.to_thread(purges.begin, self._layout, purge)
        except OSError as error:
            raise StorageFailed(f"The conversation can't be removed: {error.strerror}.") from error
        passage("purge.begun")
        return purge

    async def _remove(self, purge: Purge) -> _Done:
        done = _Done()
        try:
            await asyncio.to_thread(_remove_files, self._layout, purge, done)
            passage("purge.files")
            workspace_id = self._threads.workspace_id
            with contextlib.ExitStack() as held:
                found = await asyncio.to_thread(held.enter_context, others(self._layout, workspace_id))
                await self._remove_contents(purge, found, done)
                passage("purge.contents")
                await forget_elsewhere(self._layout, found, purge.thread_id)
            own_index = self._layout.index_path(workspace_id)
            await asyncio.to_thread(remove_strangers, own_index)
            await self._threads.forget(purge.thread_id)
            passage("purge.indexes")
            await asyncio.to_thread(purges.end, self._layout, purge.thread_id)
        except OSError as error:
            raise StorageFailed(
                f"The conversation is removed, but not all of it yet: {error.strerror}."
            ) from error
        return done

    async def _remove_contents(self, purge: Purge, found: Others, done: _Done) -> None:
        now = milliseconds(self._clock.now())
        # Where nobody else is at work, nobody can be about to name one of them.
        alone = not found.served and self._leases.count <= 1
        before = now + 1 if alone else now - SPARED_SECONDS * 1000
        removed = await self._collect(purge.contents, before, done)
        if removed.spared:
            left = msgspec.structs.replace(purge, contents=removed.spared)
            await asyncio.to_thread(purges.leave_contents, self._layout, left)
        for aside in sorted(self._layout.quarantine.glob("blobs.db.corrupt-*")) if purge.contents else ():
            if not aside.name.endswith(("-wal", "-shm")):
                done.notes.append(f"A damaged file of kept contents may still hold parts of it: {aside}.")
        done.contents = removed

    async def _collect(self, contents: tuple[str, ...], before: int, done: _Done) -> Removed:
        """Remove contents; those that can't be removed now are spared, and a note says why."""
        try:
            removed = await collection.remove(self._blobs, self._layout, contents, before)
        except StorageFailed as failure:
            done.notes.append(f"Its contents are removed later. {failure.sentence}")
            return Removed(spared=contents)
        if isinstance(removed, NotCollected):
            done.notes.append(f"Its contents are removed later. {removed.sentence}")
            return Removed(spared=contents)
        return removed

    async def _remove_contents_left(self, left: Purge) -> None:
        before = milliseconds(self._clock.now()) - SPARED_SECONDS * 1000
        removed = await collection.remove(self._blobs, self._layout, left.contents, before)
        if isinstance(removed, Removed) and not removed.spared:
            await asyncio.to_thread(purges.contents_done, self._layout, left.thread_id)


def _begun(layout: Layout, thread_id: str) -> Purge | None:
    """The removal that was begun; where its record can't be read, one of what is left of the thread."""
    try:
        return purges.begun(layout, thread_id)
    except StorageFailed:
        own = belongings(layout, thread_id)
        return Purge(thread_id=thread_id, sessions=own.sessions, contents=_named(layout, own))


def _named(layout: Layout, own: Belongings) -> tuple[str, ...]:
    """The contents that the thread's events name. Blocks."""
    found: set[str] = set()
    for stream in own.streams:
        first = layout.find_stream(stream)
        for event in Reading(first) if first is not None else ():
            found.update(event.blobs)
    return tuple(sorted(found))


def _remove_files(layout: Layout, purge: Purge, done: _Done) -> None:
    """Remove every file that is named after the thread or one of its runs. Blocks."""
    ids = {purge.thread_id, *purge.sessions}
    touched: set[Path] = set()
    for path in _own_files(layout):
        if ids.isdisjoint(_UUID.findall(path.name)):
            continue
        done.bytes += path.lstat().st_size
        done.files += 1
        path.unlink()
        touched.add(path.parent)
        passage("purge.file")
    for folder in sorted(touched):
        disk.sync_folder(folder)


def _own_files(layout: Layout) -> list[Path]:
    """Every file that may be a thread's own: of streams, staged ones, and copies of their bytes."""
    found = [*layout.sessions.glob("*/*/*/*"), *layout.archived_sessions.glob("*")]
    return [*found, *(layout.home / "threads").glob("*"), *layout.quarantine.glob("*.torn")]
