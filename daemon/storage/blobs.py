"""Contents by their hash, durable before any event may name them.

A content is acknowledged only after the disk confirmed it. What is damaged or gone is told as the value
of that one content; wrong bytes are never given back.
"""

import asyncio
import contextlib
import sqlite3
from collections.abc import Callable, Collection
from typing import NamedTuple

from resumed.daemon.failpoints import passage
from resumed.daemon.storage import blob_table
from resumed.daemon.storage.appender import Now
from resumed.daemon.storage.blob_file import BlobFile, read_only
from resumed.daemon.storage.blob_rows import (
    BlobDamaged,
    BlobFound,
    BlobMissing,
    BlobTooLarge,
    Packed,
    Stored,
    damaged,
    digest_of,
    milliseconds,
    pack,
    unpack,
)
from resumed.daemon.storage.layout import Layout
from resumed.daemon.uninterrupted import uninterrupted

MAX_BLOB_BYTES = 64 << 20
SPARED_SECONDS = 24 * 3600
"""Collection spares what was touched within this time."""

_SMALL_BYTES = 1 << 20
_SMALL_LIMIT = 64
_GROUP_LIMIT = 64


class _Waiting(NamedTuple):
    packed: Packed
    done: "asyncio.Future[None]"


class Blobs:
    """The kept contents of a state folder, for any number of tasks and processes. `now` gives the time
    as RFC 3339; `say` is told in one sentence when all contents were lost; a content has at most `limit`
    bytes. The file is opened at the first use."""

    def __init__(
        self, layout: Layout, now: Now, say: Callable[[str], None], limit: int = MAX_BLOB_BYTES
    ) -> None:
        self.file = BlobFile(layout, say)
        self._layout = layout
        self._now = now
        self._limit = limit
        self._waiting: list[_Waiting] = []
        self._committing: asyncio.Task[None] | None = None
        # At most one large content is in work at a time, so that memory stays bounded.
        self._small = asyncio.Semaphore(_SMALL_LIMIT)
        self._large = asyncio.Semaphore(1)

    async def put(self, data: bytes) -> str | BlobTooLarge:
        """Store a content; return its name, the SHA-256 of `data` as 64 hexadecimal digits, when it is
        durable. One that is there is only touched. Tasks that put at the same time share a commit.

        Raises `StorageFailed` (a full disk, say; nothing of it is left) or `StateReadOnly`.
        """
        self._layout.check_writable()
        if len(data) > self._limit:
            return BlobTooLarge(len(data), self._limit)
        return await uninterrupted(self._put(data))

    async def get(self, sha256: str) -> BlobFound | BlobMissing | BlobDamaged:
        """Give back a content, verified against its name and size. Raises `StorageFailed` when the file
        of all contents can't be used at all."""
        digest = digest_of(sha256)
        if digest is None:
            return BlobMissing()
        if self._layout.read_only:
            return await asyncio.to_thread(self._get_read_only, digest)
        row = await self.file.read(lambda connection: blob_table.row(connection, digest))
        if not isinstance(row, tuple):
            return row
        return await asyncio.to_thread(unpack, digest, *row)

    async def absent(self, names: Collection[str]) -> tuple[str, ...]:
        """Return which of the contents are not durable here, and keep collection away from the others
        for at least half of the time that it spares: an event that names them is about to be appended.

        Raises `StorageFailed` or `StateReadOnly`.
        """
        self._layout.check_writable()
        wanted = {name: digest for name in names if (digest := digest_of(name)) is not None}
        at = milliseconds(self._now())
        found = await self.file.read(lambda connection: blob_table.touched(connection, wanted.values()))
        due = [digest for digest, before in found.items() if before < at - SPARED_SECONDS * 500]
        present = set(found).difference(due)
        if due:
            # Looked up again in the transaction that touches: collection may have come in between.
            present |= await self.file.write(lambda connection: blob_table.touch(connection, due, at))
        return tuple(name for name in dict.fromkeys(names) if wanted.get(name) not in present)

    async def close(self) -> None:
        """Finish what is being committed and close the file. Always close: see `BlobFile`."""
        while self._committing is not None:
            await asyncio.wait({self._committing})
        await self.file.close()

    async def _put(self, data: bytes) -> str:
        async with self._large if len(data) > _SMALL_BYTES else self._small:
            packed = await asyncio.to_thread(pack, data)
            waiting = _Waiting(packed, asyncio.get_running_loop().create_future())
            self._waiting.append(waiting)
            if self._committing is None:
                self._committing = asyncio.create_task(self._commit_waiting())
            await waiting.done
        return packed.digest.hex()

    async def _commit_waiting(self) -> None:
        try:
            while self._waiting:
                group, self._waiting = self._waiting[:_GROUP_LIMIT], self._waiting[_GROUP_LIMIT:]
                await self._commit(group)
        finally:
            self._committing = None

    async def _commit(self, group: list[_Waiting]) -> None:
        contents = list({waiting.packed.digest: waiting.packed for waiting in group}.values())
        try:
            # Compared outside the transaction, which a damaged page of one content would end for all.
            found = await self.file.read(lambda connection: blob_table.compared(connection, contents))
            at = milliseconds(self._now())
            await self.file.write(lambda connection: blob_table.store(connection, contents, found, at))
            passage("blob.acknowledge")
        except Exception as error:  # whatever it is, nobody may wait for ever
            for waiting in group:
                waiting.done.set_exception(error)
            return
        for waiting in group:
            waiting.done.set_result(None)

    def _get_read_only(self, digest: bytes) -> BlobFound | BlobMissing | BlobDamaged:
        try:
            with contextlib.closing(read_only(self.file.path)) as connection:
                found = connection.execute(blob_table.FIND, (digest,)).fetchone()
                if found is None:
                    return BlobMissing()
                stored = Stored(*found)
                data = connection.execute(blob_table.READ, (stored.content,))
                return unpack(digest, stored, next(data, (None,))[0])
        except FileNotFoundError:
            return BlobMissing()
        except (sqlite3.Error, OSError) as error:
            return damaged(digest, f"the file of kept contents can't be read ({error})")
