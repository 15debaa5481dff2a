"""The derived index of one workspace: rows, file cursors, fold checkpoints.

One opener. Nothing is migrated: another schema is another file. A file that can't be trusted is set
aside and an empty index takes its place, at opening with a note and later with `IndexDamaged`; a
caller then fills it from the streams.
"""

import asyncio
import contextlib
import os
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import aiosqlite

from resumed.daemon.storage.database import CORRUPT, create_private, error_code, journaled, set_aside
from resumed.daemon.storage.errors import IndexDamaged, IndexFailed
from resumed.daemon.storage.layout import INDEX_VERSION
from resumed.daemon.storage.rows import (
    CHECKPOINT_COLUMNS,
    FILE_COLUMNS,
    SCHEMA,
    THREAD_COLUMNS,
    Checkpoint,
    Counts,
    FileCursor,
    Page,
    PageRequest,
    RecordedPlace,
    SqlValue,
    ThreadRow,
    checkpoint_values,
    file_cursor,
    file_values,
    next_cursor,
    pack,
    parse_cursor,
    recorded_place,
    thread_row,
    thread_values,
)

MAX_PAGE = 1000
MAX_MATCHES = 100
AT_ONCE = 200
"""Rows that are made into values on the event loop; more of them would keep it from turning."""

BUSY_SECONDS = 1.0

_NOT_OURS = CORRUPT | {sqlite3.SQLITE_ERROR}
_THREAD_VALUES = f"INTO threads ({THREAD_COLUMNS}, folded_name) VALUES ({'?, ' * 16}?)"
_PUT_THREAD = f"INSERT OR REPLACE {_THREAD_VALUES}"
_PUT_NEW_THREAD = f"INSERT {_THREAD_VALUES} ON CONFLICT (thread_id) DO NOTHING"
_PUT_FILE = f"INSERT OR REPLACE INTO files ({FILE_COLUMNS}) VALUES ({'?, ' * 6}?)"
_PUT_CHECKPOINT = f"INSERT OR REPLACE INTO checkpoints ({CHECKPOINT_COLUMNS}) VALUES (?, ?, ?, ?)"
_COUNTS = """SELECT (SELECT count(*) FROM threads), (SELECT count(*) FROM threads WHERE archived),
    (SELECT count(*) FROM files), (SELECT count(*) FROM checkpoints)"""
_MATCHING = f"""SELECT {THREAD_COLUMNS} FROM threads
    WHERE substr(thread_id, 1, length(:id)) = :id OR instr(folded_name, :name)
    ORDER BY CASE WHEN thread_id = :id THEN 0 WHEN folded_name = :name THEN 1
        WHEN instr(folded_name, :name) THEN 3 ELSE 2 END, last_active_at DESC, thread_id DESC
    LIMIT {MAX_MATCHES}"""

Parameters = Sequence[SqlValue] | Mapping[str, SqlValue]
Value = TypeVar("Value")


class _Statement(NamedTuple):
    """A statement for each of some values; `columns` makes parameters of one, on the thread that writes."""

    sql: str
    values: Sequence[Any]
    columns: Callable[[Any], Sequence[SqlValue]] = tuple


class Index:
    """An open index. Every call is one transaction; calls of any number of tasks take turns. `close`
    it always: its thread would keep the process alive.

    Calls raise `IndexFailed`, or `IndexDamaged` when the file could not be trusted any more: it is
    then set aside, and the index is empty. `generation` counts how often that happened."""

    def __init__(self, path: Path, connection: aiosqlite.Connection) -> None:
        self.generation = 0
        self._path = path
        self._connection = connection
        self._turn = asyncio.Lock()

    @classmethod
    async def open(cls, path: Path) -> tuple["Index", str | None]:
        """Open or create the index. When the file can't be trusted it is set aside, an empty one is
        created, and the note says so in one sentence."""
        try:
            return cls(path, await _connected(path)), None
        except IndexDamaged as damage:
            note = _give_up(path, damage)
            return cls(path, await _connected(path)), note

    async def close(self) -> None:
        """Finish the call that is under way and close the file."""
        async with self._turn:
            await self._connection.close()

    async def put_rows(self, rows: Iterable[ThreadRow], files: Iterable[FileCursor] = ()) -> None:
        """Insert or replace thread rows, together with how far their sources were read."""
        await self._write(
            _Statement(_PUT_THREAD, [*rows], thread_values), _Statement(_PUT_FILE, [*files], file_values)
        )

    async def put_new_rows(
        self, rows: Iterable[ThreadRow], files: Iterable[FileCursor], checkpoints: Iterable[Checkpoint]
    ) -> None:
        """Insert rows of threads that have none, with how far their sources were read and their fold
        checkpoints; a row that a thread has got meanwhile stays."""
        await self._write(
            _Statement(_PUT_NEW_THREAD, [*rows], thread_values),
            _Statement(_PUT_FILE, [*files], file_values),
            _Statement(_PUT_CHECKPOINT, [*checkpoints], checkpoint_values),
        )

    async def drop_rows(self, thread_ids: Iterable[str]) -> None:
        """Remove threads with their files and checkpoints; unknown ids do nothing."""
        ids = [(thread_id,) for thread_id in thread_ids]
        tables = ("threads", "files", "checkpoints")
        await self._write(*(_Statement(f"DELETE FROM {table} WHERE thread_id = ?", ids) for table in tables))

    async def forget(self, thread_id: str) -> None:
        """Remove a thread as `drop_rows` does, and every byte of it from the file."""
        await self.drop_rows([thread_id])
        # Free pages, and those of the journal, still hold what was in them.
        await asyncio.shield(asyncio.ensure_future(self._rewrite()))

    async def page(self, request: PageRequest) -> Page:
        """Return one page of rows, latest activity first. `limit` is kept within 1 and `MAX_PAGE`.

        Raises `CursorRefused` for a cursor that no page gave out.
        """
        limit = max(1, min(request.limit, MAX_PAGE))
        where, values = _conditions(request)
        sql = f"""SELECT {THREAD_COLUMNS} FROM threads WHERE {where}
            ORDER BY last_active_at DESC, thread_id DESC LIMIT ?"""
        rows = await self._read(sql, (*values, limit + 1), thread_row)
        more = len(rows) > limit
        return Page(rows[:limit], next_cursor(rows[limit - 1]) if more else None)

    async def row(self, thread_id: str) -> ThreadRow | None:
        """Return a thread's row."""
        sql = f"SELECT {THREAD_COLUMNS} FROM threads WHERE thread_id = ?"
        return _only(await self._read(sql, (thread_id,), thread_row))

    async def rows_matching(self, text: str) -> tuple[ThreadRow, ...]:
        """Return the rows whose id begins with `text` or whose name contains it, in any case.

        The whole id comes first, then the exact name, ids, parts of names; at most `MAX_MATCHES`.
        """
        folded = text.strip().casefold()
        if not folded:
            return ()
        plain = folded.encode("ascii", "replace").decode()
        return await self._read(_MATCHING, {"id": plain, "name": pack(folded)}, thread_row)

    async def files(self) -> tuple[FileCursor, ...]:
        """Return every file cursor."""
        return await self._read(f"SELECT {FILE_COLUMNS} FROM files", (), file_cursor)

    async def drop_files(self, paths: Iterable[str]) -> None:
        """Remove file cursors; unknown paths do nothing."""
        await self._write(_Statement("DELETE FROM files WHERE path = ?", [(pack(path),) for path in paths]))

    async def places(self) -> tuple[RecordedPlace, ...]:
        """Return where threads ran, each place once."""
        return await self._read("SELECT DISTINCT root, origin, sha FROM threads", (), recorded_place)

    async def rows_in_state(self, state: str) -> tuple[ThreadRow, ...]:
        """Return the rows of the threads in that state."""
        sql = f"SELECT {THREAD_COLUMNS} FROM threads WHERE state = ?"
        return await self._read(sql, (state,), thread_row)

    async def put_checkpoint(self, key: str, thread_id: str, saved_at: str, body: bytes) -> None:
        """Insert or replace a fold checkpoint."""
        await self._write(_Statement(_PUT_CHECKPOINT, [(key, thread_id, saved_at, body)]))

    async def thread_ids(self) -> frozenset[str]:
        """Return the ids of all threads."""
        return frozenset(await self._read("SELECT thread_id FROM threads", (), lambda values: str(values[0])))

    async def archived_ids(self) -> frozenset[str]:
        """Return the ids of the threads that were put away."""
        sql = "SELECT thread_id FROM threads WHERE archived"
        return frozenset(await self._read(sql, (), lambda values: str(values[0])))

    async def checkpoint(self, key: str) -> bytes | None:
        """Return a fold checkpoint's body."""
        return _only(await self._read("SELECT body FROM checkpoints WHERE key = ?", (key,), _first))

    async def counts(self) -> Counts:
        """Return how many of each there are."""
        (counts,) = await self._read(_COUNTS, (), _counts)
        return counts

    async def _read(
        self, sql: str, values: Parameters, make: Callable[[tuple[Any, ...]], Value]
    ) -> tuple[Value, ...]:
        # Shielded, as writing is: a cancelled caller must not leave a file half set aside.
        return await asyncio.shield(asyncio.ensure_future(self._fetch(sql, values, make)))

    async def _fetch(
        self, sql: str, values: Parameters, make: Callable[[tuple[Any, ...]], Value]
    ) -> tuple[Value, ...]:
        async with self._turn:
            try:
                rows = list(await self._connection.execute_fetchall(sql, values))
            except (sqlite3.Error, ValueError) as error:
                raise await self._settled(_failure(error)) from error
            try:
                if len(rows) <= AT_ONCE:
                    return _made(rows, make)
                return await asyncio.to_thread(_made, rows, make)
            except (UnicodeDecodeError, AttributeError, TypeError) as error:
                damage = IndexDamaged("The index holds what was never written to it.")
                raise await self._settled(damage) from error

    async def _write(self, *statements: _Statement) -> None:
        # Shielded: a cancelled caller must not leave a transaction open for the next one to join.
        await asyncio.shield(asyncio.ensure_future(self._transaction(statements)))

    async def _transaction(self, statements: Sequence[_Statement]) -> None:
        async with self._turn:
            try:
                await self._connection.execute("BEGIN IMMEDIATE")
                for sql, values, columns in statements:
                    if values:
                        await self._connection.executemany(sql, map(columns, values))
                await self._connection.commit()
            except BaseException as error:
                with contextlib.suppress(sqlite3.Error, ValueError):
                    await self._connection.rollback()
                if not isinstance(error, (sqlite3.Error, ValueError, OverflowError)):
                    raise
                raise await self._settled(_failure(error)) from error

    async def _rewrite(self) -> None:
        async with self._turn:
            try:
                for statement in ("VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)"):
                    await self._connection.execute_fetchall(statement)
            except (sqlite3.Error, ValueError) as error:
                raise await self._settled(_failure(error)) from error

    async def _settled(self, failure: IndexFailed) -> IndexFailed:
        """The failure to raise; a damaged file is set aside first. The caller has its turn."""
        if not isinstance(failure, IndexDamaged):
            return failure
        await self._connection.close()
        try:
            note = _give_up(self._path, failure)
            self._connection = await _connected(self._path)
        except IndexFailed as worse:
            return IndexFailed(worse.sentence)
        self.generation += 1
        return IndexDamaged(note)


def _give_up(path: Path, damage: IndexDamaged) -> str:
    """Set a closed index aside; return what to tell people. Raises `IndexFailed`."""
    try:
        aside = set_aside(path, path.parent)
    except OSError as error:
        raise IndexFailed(f"{damage.sentence} It can't be set aside ({error}).") from error
    return f"{damage.sentence} It is being rebuilt. The old file is kept as {aside.name}."


async def _connected(path: Path) -> aiosqlite.Connection:
    try:
        create_private(path)
        connection = await journaled(path, BUSY_SECONDS)
    except (sqlite3.Error, OSError) as error:
        damaged = error_code(error) in _NOT_OURS or _is_blocked(path)
        refusal = IndexDamaged if damaged else IndexFailed
        raise refusal(f"The index could not be opened ({error}).") from error
    try:
        await connection.execute("PRAGMA synchronous = NORMAL")
        await _check_schema(connection)
    except sqlite3.Error as error:
        await connection.close()
        if error_code(error) in _NOT_OURS or _is_blocked(path):
            raise IndexDamaged(f"The index could not be read ({error}).") from error
        raise _failure(error) from error
    except BaseException:
        await connection.close()
        raise
    return connection


def _is_blocked(path: Path) -> bool:
    """Whether something stands in the place of the index, or of a journal file, that can't be used. A
    disk that is full or fails for a moment is no reason to set a good index aside."""
    places = [path.with_name(path.name + suffix) for suffix in ("", "-wal", "-shm")]
    return any(
        os.path.lexists(place) and not (place.is_file() and os.access(place, os.R_OK | os.W_OK))
        for place in places
    )


async def _check_schema(connection: aiosqlite.Connection) -> None:
    """Create the schema in an empty file; raise when the file holds anything else."""
    (version,) = _only(await connection.execute_fetchall("PRAGMA user_version")) or (0,)
    (objects,) = _only(await connection.execute_fetchall("SELECT count(*) FROM sqlite_master")) or (0,)
    if (version, objects) == (0, 0):
        script = ";".join(("BEGIN", *SCHEMA, f"PRAGMA user_version = {INDEX_VERSION}", "COMMIT"))
        await connection.executescript(script)
        return
    if version != INDEX_VERSION:
        raise IndexDamaged("The index has another schema.")
    for columns, table in _TABLES.items():
        await connection.execute_fetchall(f"SELECT {columns} FROM {table} LIMIT 0")
    if [row[0] for row in await connection.execute_fetchall("PRAGMA quick_check(1)")] != ["ok"]:
        raise IndexDamaged("The index is corrupt.")


_TABLES = {
    f"{THREAD_COLUMNS}, folded_name": "threads",
    FILE_COLUMNS: "files",
    CHECKPOINT_COLUMNS: "checkpoints",
}


def _conditions(request: PageRequest) -> tuple[str, list[SqlValue]]:
    where = "archived = ?"
    values: list[SqlValue] = [request.archived]
    if request.cursor is not None:
        where += " AND (last_active_at, thread_id) < (?, ?)"
        values += parse_cursor(request.cursor)
    if request.roots is not None:
        # Below a folder is what sorts between its name with "/" and with "0", the next character.
        inside = " OR ".join("root = ? OR (root > ? AND root < ?)" for _ in request.roots) or "0"
        where += f" AND ({inside})"
        for root in request.roots:
            folder = pack(root.rstrip("/"))
            values += (folder or b"/", folder + b"/", folder + b"0")
    return where, values


def _made(rows: Sequence[sqlite3.Row], make: Callable[[tuple[Any, ...]], Value]) -> tuple[Value, ...]:
    return tuple(make(tuple(row)) for row in rows)


def _first(values: tuple[Any, ...]) -> bytes:
    return bytes(values[0])


def _counts(values: tuple[Any, ...]) -> Counts:
    threads, archived, files, checkpoints = values
    return Counts(threads=threads, archived=archived, files=files, checkpoints=checkpoints)


def _only(values: Iterable[Value]) -> Value | None:
    return next(iter(values), None)


def _failure(error: Exception) -> IndexFailed:
    sentence = f"The index could not be used ({error})."
    return IndexDamaged(sentence) if error_code(error) in CORRUPT else IndexFailed(sentence)
