"""What every SQLite file here needs: made for the owner alone, told apart when damaged, set aside.

A damaged file is never deleted: a person may still get something out of it.
"""

import contextlib
import os
import sqlite3
from pathlib import Path

from resumed.daemon.storage import disk

CORRUPT = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


def create_private(path: Path) -> None:
    """Create the file for the owner alone, as its journal files will be; one that exists is kept."""
    disk.make_folder(path.parent)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, disk.FILE_MODE))
    path.chmod(disk.FILE_MODE)


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
