"""Looks whether a database of ours is whole, without writing a byte or making a file beside it. Blocks."""

import contextlib
import sqlite3
from collections.abc import Iterable
from pathlib import Path

import msgspec

from resumed.daemon.storage import blob_table
from resumed.daemon.storage.blob_file import read_only
from resumed.daemon.storage.blob_rows import COLUMNS, SCHEMA_VERSION, BlobDamaged, Stored, digest_of, unpack
from resumed.daemon.storage.layout import INDEX_VERSION
from resumed.daemon.storage.rows import (
    CHECKPOINT_COLUMNS,
    FILE_COLUMNS,
    THREAD_COLUMNS,
    FileCursor,
    file_cursor,
)

_INDEX_TABLES = {"threads": THREAD_COLUMNS, "files": FILE_COLUMNS, "checkpoints": CHECKPOINT_COLUMNS}


class Corrupt(msgspec.Struct, frozen=True):
    """The whole file can't be relied on, for this reason in a few words."""

    reason: str


class Newer(msgspec.Struct, frozen=True):
    """The file was written by a newer version."""


class Contents(msgspec.Struct, frozen=True, kw_only=True):
    """Of the contents that were asked for: those that are not there, and why others can't be given back."""

    missing: tuple[str, ...]
    damaged: dict[str, str]


def index(path: Path) -> tuple[FileCursor, ...] | Corrupt:
    """How far an index says that files were read. Raises `FileNotFoundError`."""
    try:
        with contextlib.closing(read_only(path)) as connection:
            if problem := _problem(connection, _INDEX_TABLES):
                return Corrupt(problem)
            if connection.execute("PRAGMA user_version").fetchone() != (INDEX_VERSION,):
                return Corrupt("it has another schema")
            rows = connection.execute(f"SELECT {FILE_COLUMNS} FROM files").fetchall()
            return tuple(file_cursor(row) for row in rows)
    except (sqlite3.Error, UnicodeDecodeError, AttributeError, TypeError) as error:
        return Corrupt(str(error))


def contents(path: Path, names: Iterable[str]) -> Contents | Corrupt | Newer:
    """Look for contents and verify each. Raises `FileNotFoundError`."""
    try:
        with contextlib.closing(read_only(path)) as connection:
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if version > SCHEMA_VERSION:
                return Newer()
            if problem := _problem(connection, COLUMNS):
                return Corrupt(problem)
            return _verified(connection, names)
    except sqlite3.Error as error:
        return Corrupt(str(error))


def _problem(connection: sqlite3.Connection, tables: dict[str, str]) -> str:
    for table, columns in tables.items():
        connection.execute(f"SELECT {columns} FROM {table} LIMIT 0")
    (told,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    return "" if told == "ok" else str(told)


def _verified(connection: sqlite3.Connection, names: Iterable[str]) -> Contents:
    missing: list[str] = []
    damaged: dict[str, str] = {}
    for name in names:
        digest = digest_of(name)
        row = None if digest is None else connection.execute(blob_table.FIND, (digest,)).fetchone()
        if digest is None or row is None:
            missing.append(name)
            continue
        stored = Stored(*row)
        data = connection.execute(blob_table.READ, (stored.content,)).fetchone() or (None,)
        found = unpack(digest, stored, data[0])
        if isinstance(found, BlobDamaged):
            damaged[name] = found.sentence
    return Contents(missing=tuple(missing), damaged=damaged)
