"""The file `blobs.db` itself: opened, used in whole transactions, set aside when it is damaged.

Every workspace's daemon writes the same file. Whoever finds it damaged as a whole moves it to the
quarantine and begins a new one; the others notice by the file's identity, before they acknowledge.
"""

import asyncio
import contextlib
import os
import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

import aiosqlite

from resumed.daemon.storage import disk
from resumed.daemon.storage.blob_rows import COLUMNS, SCHEMA, SCHEMA_VERSION
from resumed.daemon.storage.database import CORRUPT, create_private, error_code, journaled, set_aside
from resumed.daemon.storage.errors import StateReadOnly, StorageFailed
from resumed.daemon.storage.layout import Layout
from resumed.daemon.uninterrupted import uninterrupted

BUSY_SECONDS = 10.0
JOURNAL_BYTES = 4 << 20
"""What a journal may keep of the disk after it was needed."""

_ATTEMPTS = 3
_DURABLE = ("synchronous = FULL", "fullfsync = ON", "checkpoint_fullfsync = ON")

Result = TypeVar("Result")
Work = Callable[[aiosqlite.Connection], Awaitable[Result]]


class FileDamaged(Exception):
    """The whole file can't be trusted; the argument says why in a few words."""


class BlobFile:
    """Opened at its first use. `say` is told in one sentence when the file was set aside. `close` it
    always: its thread would keep the process alive."""

    def __init__(self, layout: Layout, say: Callable[[str], None]) -> None:
        self.path = layout.blobs_path
        self._layout = layout
        self._say = say
        self._connection: aiosqlite.Connection | None = None
        self._identity = (0, 0)
        self._turn = asyncio.Lock()
        self._closed = False

    async def write(self, work: Work[Result]) -> Result:
        """Run `work` in a transaction of its own; when this returns, its changes are durable. It may be
        run again, on a new file, when the first one is found to be damaged.

        Raises `StorageFailed`: nothing of it was stored. Raises `StateReadOnly`.
        """
        self._layout.check_writable()
        return await uninterrupted(self._run(_committed, work))

    async def read(self, work: Work[Result]) -> Result:
        """Run `work` on one state of the file. Raises `StorageFailed`."""
        return await uninterrupted(self._run(_looked, work))

    async def outside(self, statement: str) -> list[tuple[object, ...]]:
        """Run a statement that SQLite refuses inside a transaction; return its rows.

        Raises `StorageFailed`."""
        return await uninterrupted(self._outside(statement))

    async def close(self) -> None:
        """Finish what is under way and close the file; nothing can be done with it any more."""
        async with self._turn:
            self._closed = True
            await self._let_go()

    async def _run(
        self,
        transaction: Callable[[aiosqlite.Connection, Work[Result]], Awaitable[Result]],
        work: Work[Result],
    ) -> Result:
        async with self._turn:
            for _ in range(_ATTEMPTS):
                connection = await self._current()
                try:
                    result = await transaction(connection, work)
                except FileDamaged as damage:
                    await self._give_up(damage)
                    continue
                if self._is_current():
                    return result
            raise StorageFailed("Kept contents can't be stored: their file is damaged again and again.")

    async def _outside(self, statement: str) -> list[tuple[object, ...]]:
        async with self._turn:
            connection = await self._current()
            try:
                return [tuple(row) for row in await connection.execute_fetchall(statement)]
            except sqlite3.Error as error:
                raise _failed(error) from error

    async def _current(self) -> aiosqlite.Connection:
        """The open file. The caller has its turn."""
        if self._closed:
            raise StorageFailed("The kept contents are closed.")
        if self._connection is not None and self._is_current():
            return self._connection
        await self._let_go()
        for _ in range(_ATTEMPTS):
            try:
                return await self._opened()
            except FileDamaged as damage:
                await self._give_up(damage)
            except OSError as error:
                raise StorageFailed(f"Kept contents can't be opened: {error.strerror}.") from error
        raise StorageFailed("Kept contents can't be opened: their file is damaged again and again.")

    async def _opened(self) -> aiosqlite.Connection:
        # Locked, so that nobody sets aside what is half made.
        with contextlib.ExitStack() as held:
            await asyncio.to_thread(held.enter_context, disk.locked(self._layout.blobs_lock_path))
            new = not self.path.exists()
            create_private(self.path)
            if new:
                disk.sync_folder(self.path.parent)
            self._identity = _identity(self.path)
            self._connection = await _connected(self.path)
            return self._connection

    async def _give_up(self, damage: FileDamaged) -> None:
        """Set the damaged file aside, unless another process has done so. The caller has its turn."""
        await self._let_go()
        try:
            with contextlib.ExitStack() as held:
                await asyncio.to_thread(held.enter_context, disk.locked(self._layout.blobs_lock_path))
                if not self._is_current():
                    return
                aside = set_aside(self.path, self._layout.quarantine)
                disk.sync_folder(self._layout.quarantine)
                disk.sync_folder(self.path.parent)
        except OSError as error:
            raise StorageFailed(f"Kept contents are damaged and can't be set aside: {error}.") from error
        self._say(
            f"The file of kept contents was damaged ({damage}); what it held is missing now. It is kept"
            f" as {aside.name} in the quarantine folder."
        )

    def _is_current(self) -> bool:
        try:
            return _identity(self.path) == self._identity
        except OSError:
            return False

    async def _let_go(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            # A damaged file may refuse even that; nothing of it is needed any more.
            with contextlib.suppress(sqlite3.Error):
                await connection.close()


def read_only(path: Path) -> sqlite3.Connection:
    """Open the file of a state folder that may not be written, without making any file beside it.

    Raises `FileNotFoundError` or `sqlite3.Error`; blocks. Without a journal file nobody writes, and a
    file that is said not to change needs none.
    """
    path.stat()
    journal = path.with_name(path.name + "-wal")
    options = "mode=ro" if journal.exists() and journal.stat().st_size else "mode=ro&immutable=1"
    address = f"file:{quote(os.fsencode(path))}?{options}"
    return sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS)


async def _connected(path: Path) -> aiosqlite.Connection:
    connection: aiosqlite.Connection | None = None
    try:
        # Before the journal's mode, which writes the first page.
        connection = await journaled(path, BUSY_SECONDS, "auto_vacuum = INCREMENTAL")
        for setting in (*_DURABLE, "secure_delete = ON"):
            await connection.execute(f"PRAGMA {setting}")
        await connection.execute_fetchall(f"PRAGMA journal_size_limit = {JOURNAL_BYTES}")
        await _committed(connection, _check_schema)
    except BaseException as error:
        if connection is not None:
            await connection.close()
        if isinstance(error, sqlite3.Error):
            raise _damage(error) or _failed(error) from error
        raise
    return connection


async def _check_schema(connection: aiosqlite.Connection) -> None:
    """Create the schema in an empty file; raise when the file holds another one."""
    ((version,),) = await connection.execute_fetchall("PRAGMA user_version")
    ((objects,),) = await connection.execute_fetchall("SELECT count(*) FROM sqlite_master")
    if (version, objects) == (0, 0):
        for statement in (*SCHEMA, f"PRAGMA user_version = {SCHEMA_VERSION}"):
            await connection.execute(statement)
        return
    if version > SCHEMA_VERSION:
        raise StateReadOnly("The kept contents were written by a newer version.")
    if version != SCHEMA_VERSION:
        raise FileDamaged("it is not a file of kept contents")
    for table, columns in COLUMNS.items():
        try:
            await connection.execute_fetchall(f"SELECT {columns} FROM {table} LIMIT 0")
        except sqlite3.OperationalError as error:
            raise FileDamaged(str(error)) from error


async def _committed(connection: aiosqlite.Connection, work: Work[Result]) -> Result:
    try:
        await connection.execute("BEGIN IMMEDIATE")
        result = await work(connection)
        await connection.execute("COMMIT")
    except (sqlite3.Error, OverflowError, ValueError) as error:
        await _roll_back(connection)
        # What a full disk was asked for goes back to it.
        with contextlib.suppress(sqlite3.Error, ValueError):
            await connection.execute_fetchall("PRAGMA wal_checkpoint(TRUNCATE)")
        raise _damage(error) or _failed(error) from error
    except BaseException:
        await _roll_back(connection)
        raise
    return result


async def _looked(connection: aiosqlite.Connection, work: Work[Result]) -> Result:
    # Never committed: SQLite refuses that once it has met a damaged page, although work went on without it.
    try:
        await connection.execute("BEGIN")
        return await work(connection)
    except (sqlite3.Error, OverflowError, ValueError) as error:
        raise _damage(error) or _failed(error) from error
    finally:
        await _roll_back(connection)


async def _roll_back(connection: aiosqlite.Connection) -> None:
    with contextlib.suppress(sqlite3.Error, ValueError):
        if connection.in_transaction:
            await connection.execute("ROLLBACK")


def _identity(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_dev, found.st_ino


def _damage(error: Exception) -> FileDamaged | None:
    return FileDamaged(str(error)) if error_code(error) in CORRUPT else None


def _failed(error: Exception) -> StorageFailed:
    return StorageFailed(f"Kept contents can't be stored or read: {error}.")
