"""What is asked of the tables of `blobs.db` and written to them, inside a transaction of the caller.

SQLite's errors come out as they are, except those of one content's bytes: they are that content's.
"""

import sqlite3
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import aiosqlite

from resumed.daemon.failpoints import passage
from resumed.daemon.storage.blob_rows import BlobDamaged, BlobMissing, Packed, Stored, damaged
from resumed.daemon.storage.database import CORRUPT, error_code

FIND = "SELECT size, codec, content FROM blobs WHERE sha256 = ?"
READ = "SELECT data FROM contents WHERE id = ?"
BATCH = 128
"""Contents that collection looks at, and removes, at a time."""

_PUT_ROW = """INSERT OR REPLACE INTO blobs (sha256, size, codec, stored, content, touched_at)
    VALUES (?, ?, ?, ?, ?, ?)"""
_TOUCH = "UPDATE blobs SET touched_at = ? WHERE sha256 = ?"
_UNTOUCHED = """SELECT touched_at, sha256, stored FROM blobs
    WHERE touched_at < ? AND (touched_at, sha256) > (?, ?) ORDER BY touched_at, sha256 LIMIT ?"""
_ONE_UNREADABLE = CORRUPT | {sqlite3.SQLITE_IOERR}


class Found(NamedTuple):
    """A content that is there, compared with the bytes that are put: `whole`, `others`, or `unreadable`,
    whose damaged pages are left alone for ever."""

    row: Stored
    state: str


class Candidate(NamedTuple):
    """A content that collection may remove if nothing names it; `stored` is what it takes, in bytes."""

    touched_at: int
    digest: bytes
    stored: int


async def row(
    connection: aiosqlite.Connection, digest: bytes
) -> tuple[Stored, object] | BlobMissing | BlobDamaged:
    """A content's row and its bytes. Damage of its bytes alone is that content's, not the file's."""
    for found in await connection.execute_fetchall(FIND, (digest,)):
        stored = Stored(*found)
        try:
            rows = await connection.execute_fetchall(READ, (stored.content,))
        except sqlite3.Error as error:
            if error_code(error) in _ONE_UNREADABLE:
                return damaged(digest, f"its bytes can't be read ({error})")
            raise
        return stored, next((data for (data,) in rows), None)
    return BlobMissing()


async def compared(connection: aiosqlite.Connection, contents: Sequence[Packed]) -> dict[bytes, Found]:
    """Look which of the contents are there, and whether with these very bytes."""
    known = await _known(connection, [packed.digest for packed in contents])
    return {
        packed.digest: Found(known[packed.digest], await _state(connection, known[packed.digest], packed))
        for packed in contents
        if packed.digest in known
    }


async def store(
    connection: aiosqlite.Connection, contents: Sequence[Packed], found: dict[bytes, Found], at: int
) -> None:
    """Insert what is new, touch what was found whole or came since, and put whole bytes in the place of
    damaged ones."""
    known = await _known(connection, [packed.digest for packed in contents])
    still = {digest: before for digest, before in found.items() if known.get(digest) == before.row}
    whole = [(at, digest) for digest in known if digest not in still or still[digest].state == "whole"]
    replaced = [(before.row.content,) for before in still.values() if before.state == "others"]
    await connection.executemany(_TOUCH, whole)
    touched_digests = {digest for _, digest in whole}
    ((last,),) = await connection.execute_fetchall("SELECT coalesce(max(id), 0) FROM contents")
    fresh = [packed for packed in contents if packed.digest not in touched_digests]
    numbered = list(enumerate(fresh, last + 1))
    await connection.executemany(
        "INSERT INTO contents (id, data) VALUES (?, ?)",
        [(number, packed.data) for number, packed in numbered],
    )
    rows = [
        (packed.digest, packed.size, packed.codec, len(packed.data), number, at)
        for number, packed in numbered
    ]
    await connection.executemany(_PUT_ROW, rows)
    await connection.executemany("DELETE FROM contents WHERE id = ?", replaced)
    passage("blob.commit")


async def _known(connection: aiosqlite.Connection, digests: Sequence[bytes]) -> dict[bytes, Stored]:
    marks = ", ".join("?" * len(digests))
    rows = await connection.execute_fetchall(
        f"SELECT sha256, size, codec, content FROM blobs WHERE sha256 IN ({marks})", digests
    )
    return {digest: Stored(*stored) for digest, *stored in rows}


async def _state(connection: aiosqlite.Connection, row: Stored, packed: Packed) -> str:
    if (row.size, row.codec) != (packed.size, packed.codec):
        return "others"
    try:
        rows = await connection.execute_fetchall(
            "SELECT data = ? FROM contents WHERE id = ?", (packed.data, row.content)
        )
    except sqlite3.Error as error:
        if error_code(error) in _ONE_UNREADABLE:
            return "unreadable"
        raise
    return "whole" if [tuple(same) for same in rows] == [(1,)] else "others"


async def touched(connection: aiosqlite.Connection, digests: Iterable[bytes]) -> dict[bytes, int]:
    """When each of these contents was touched last; those that are not there are left out."""
    found: dict[bytes, int] = {}
    for digest in digests:
        for (at,) in await connection.execute_fetchall(
            "SELECT touched_at FROM blobs WHERE sha256 = ?", (digest,)
        ):
            found[digest] = at
    return found


async def touch(connection: aiosqlite.Connection, digests: Sequence[bytes], at: int) -> set[bytes]:
    """Touch these contents; return those that are there."""
    await connection.executemany(_TOUCH, [(at, digest) for digest in digests])
    return set(await touched(connection, digests))


async def untouched(connection: aiosqlite.Connection, before: int, after: Candidate) -> list[Candidate]:
    """A batch of the contents last touched before `before`, those touched longest ago first, behind the
    one of the batch before."""
    rows = await connection.execute_fetchall(_UNTOUCHED, (before, after.touched_at, after.digest, BATCH))
    return [Candidate(*found) for found in rows]


async def stored_bytes(connection: aiosqlite.Connection) -> int:
    """What all contents take, compressed."""
    ((total,),) = await connection.execute_fetchall("SELECT coalesce(sum(stored), 0) FROM blobs")
    return int(total)


async def remove(connection: aiosqlite.Connection, digests: Sequence[bytes], before: int) -> list[int]:
    """Remove those of the contents that are still untouched since `before`; return the bytes of each."""
    removed: list[int] = []
    for digest in digests:
        rows = await connection.execute_fetchall(
            "SELECT stored, content FROM blobs WHERE sha256 = ? AND touched_at < ?", (digest, before)
        )
        for stored, content in rows:
            await connection.execute("DELETE FROM contents WHERE id = ?", (content,))
            await connection.execute("DELETE FROM blobs WHERE sha256 = ?", (digest,))
            removed.append(stored)
    passage("collection.remove")
    return removed
