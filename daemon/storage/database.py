"""What every SQLite file here needs: made for the owner alone, opened with a journal that the file system
can keep, told apart when damaged, set aside.

A damaged file is never deleted: a person may still get something out of it.
"""

import contextlib
import os
import sqlite3
from pathlib import Path

import aiosqlite

from resumed.daemon.storage import disk

CORRUPT = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


def create_private(path: Path) -> None:
    """Create the file for the owner alone, as its journal files will be; one that exists is kept."""
    disk.make_folder(path.parent)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, disk.FILE_MODE))
    path.chmod(disk.FILE_MODE)


async def journaled(path: Path, busy_seconds: float, *settings: str) -> aiosqlite.Connection:
    """Open with a write-ahead log, or with a plain journal where the file system can't share the memory
    that a log needs. `settings` are pragmas to be set before. Transactions are begun by the caller.

    Raises `sqlite3.Error`; nothing is open then."""
    return await _with_log(path, busy_seconds, settings) or await _without_log(path, busy_seconds)


def error_code(error: Exception) -> int:
    """SQLite's primary code of an error; 0 for one that has none."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def set_aside(path: Path, folder: Path) -> Path:
    """Move a closed database with its journal files into `folder`, as `<name>.corrupt-<n>`; return the
    new path. Raises `OSError`."""
    disk.make_folder(folder)
    number = 1
    while (aside := folder / f"{path.name}.corrupt-{number}").exists():
        number += 1
    for suffix in ("-wal", "-shm", ""):
        with contextlib.suppress(FileNotFoundError):
            path.with_name(path.name + suffix).replace(aside.with_name(aside.name + suffix))
    return aside


async def _with_log(
    path: Path, busy_seconds: float, settings: tuple[str, ...]
) -> aiosqlite.Connection | None:
    connection = await _plain(path, busy_seconds)
    try:
        for setting in settings:
            await connection.execute(f"PRAGMA {setting}")
        rows = await connection.execute_fetchall("PRAGMA journal_mode = WAL")
        await connection.execute("BEGIN IMMEDIATE")
        await connection.execute("ROLLBACK")
        if [tuple(row) for row in rows] == [("wal",)]:
            return connection
    except sqlite3.OperationalError as error:
        if error_code(error) == sqlite3.SQLITE_BUSY:
            await connection.close()
            raise
    except BaseException:
        await connection.close()
        raise
    await connection.close()
    return None


async def _without_log(path: Path, busy_seconds: float) -> aiosqlite.Connection:
    connection = await _plain(path, busy_seconds)
    try:
        # Nobody else may look while the log is given up, since that too would need shared memory.
        for setting in ("locking_mode = EXCLUSIVE", "journal_mode = TRUNCATE", "locking_mode = NORMAL"):
            await connection.execute_fetchall(f"PRAGMA {setting}")
    except BaseException:
        await connection.close()
        raise
    return connection


async def _plain(path: Path, busy_seconds: float) -> aiosqlite.Connection:
    return await aiosqlite.connect(path, timeout=busy_seconds, isolation_level=None)
