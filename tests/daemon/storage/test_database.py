"""Opening a database: with a log where its memory can be shared, with another journal elsewhere."""

import sqlite3
from pathlib import Path

import aiosqlite
import pytest

from resumed.daemon.storage.database import journaled
from resumed.daemon.storage.index import Index
from resumed.daemon.storage.rows import ThreadRow

ROW = ThreadRow(
    thread_id="11111111-1111-4111-8111-111111111111",
    name="Shop",
    agent="codex",
    root="/home/kim/shop",
    state="idle",
    created_at="2026-01-01T00:00:00.000Z",
    last_active_at="2026-01-01T00:00:00.000Z",
    source="own",
)


async def mode(connection: aiosqlite.Connection) -> object:
    ((name,),) = await connection.execute_fetchall("PRAGMA journal_mode")
    await connection.close()
    return name


async def test_a_log_is_used_and_where_its_memory_cannot_be_shared_another_journal(tmp_path: Path) -> None:
    assert await mode(await journaled(tmp_path / "a.db", 1.0)) == "wal"
    (tmp_path / "a.db-shm").mkdir()
    assert await mode(await journaled(tmp_path / "a.db", 1.0)) == "truncate"
    (tmp_path / "b.db-shm").mkdir()
    assert await mode(await journaled(tmp_path / "b.db", 1.0)) == "truncate"


async def test_an_index_is_kept_where_a_log_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    path.with_name("index.db-shm").mkdir()
    for _ in range(2):
        index, note = await Index.open(path)
        assert note is None
        await index.put_rows([ROW])
        assert (await index.counts()).threads == 1
        await index.close()
    path.with_name("index.db-shm").rmdir()
    index, note = await Index.open(path)
    assert (note, (await index.counts()).threads) == (None, 1)
    await index.close()


async def test_what_is_no_database_leaves_nothing_open(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    path.write_bytes(b"this is no database" * 100)
    with pytest.raises(sqlite3.DatabaseError):
        await journaled(path, 1.0)
