"""The file of kept contents: its settings, its journal, and what becomes of a damaged one."""

import contextlib
import os
import sqlite3
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import aiosqlite
import pytest

from resumed.daemon.storage import blob_file
from resumed.daemon.storage.blob_file import FileDamaged
from resumed.daemon.storage.blob_rows import BlobFound, BlobMissing
from resumed.daemon.storage.blobs import Blobs
from resumed.daemon.storage.errors import StateReadOnly, StorageFailed
from resumed.daemon.storage.layout import Layout
from tests.support.blobs import ask, check_whole, kept, names, put
from tests.support.clock import FakeClock


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return Layout.open(tmp_path / "state")


@contextlib.asynccontextmanager
async def losing(layout: Layout, said: list[str]) -> AsyncIterator[Blobs]:
    blobs = Blobs(layout, FakeClock().now, said.append)
    try:
        yield blobs
    finally:
        await blobs.close()


async def pragmas(blobs: Blobs) -> list[object]:
    names = ("journal_mode", "synchronous", "auto_vacuum", "journal_size_limit")
    return [(await blobs.file.outside(f"PRAGMA {name}"))[0][0] for name in names]


async def test_it_is_private_and_every_commit_is_synced(layout: Layout) -> None:
    async with kept(layout, FakeClock()) as blobs:
        assert not layout.blobs_path.exists()
        await blobs.put(b"x")
        assert await pragmas(blobs) == ["wal", 2, 2, blob_file.JOURNAL_BYTES]
        files = sorted(layout.home.glob("blobs.db*"))
        assert [path.name for path in files] == ["blobs.db", "blobs.db-shm", "blobs.db-wal"]
        assert {path.stat().st_mode & 0o777 for path in files} == {0o600}


async def test_where_memory_cannot_be_shared_another_journal_does(layout: Layout) -> None:
    layout.blobs_path.with_name("blobs.db-shm").mkdir()
    async with kept(layout, FakeClock()) as blobs:
        name = await put(blobs, b"x")
        assert (await pragmas(blobs))[:3] == ["truncate", 2, 2]
        assert await blobs.get(name) == BlobFound(b"x")
    async with kept(layout, FakeClock()) as blobs:
        assert await blobs.get(name) == BlobFound(b"x")


def overwritten(path: Path) -> None:
    path.write_bytes(b"this is no database" * 1000)


def other_schema(path: Path) -> None:
    path.unlink()
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE blobs (x)")


def first_table_lost(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(2 * 4096)
        file.write(b"\xff" * (path.stat().st_size - 2 * 4096))


def renamed_column(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("ALTER TABLE contents RENAME COLUMN data TO bytes")


@pytest.mark.parametrize("damage", [overwritten, other_schema, first_table_lost, renamed_column])
async def test_a_damaged_file_is_kept_aside_and_everything_is_missing_and_said(
    layout: Layout, damage: Callable[[Path], None]
) -> None:
    async with kept(layout, FakeClock()) as blobs:
        name = await put(blobs, b"lost")
    damage(layout.blobs_path)
    whole = layout.blobs_path.read_bytes()
    said: list[str] = []
    async with losing(layout, said) as blobs:
        assert await blobs.get(name) == BlobMissing()
        (sentence,) = said
        assert sentence.startswith("The file of kept contents was damaged (")
        assert "blobs.db.corrupt-1 in the quarantine folder." in sentence
        # Its header counts openings.
        assert (layout.quarantine / "blobs.db.corrupt-1").read_bytes()[100:] == whole[100:]
        assert await put(blobs, b"lost") == name
        assert await blobs.get(name) == BlobFound(b"lost")
    async with kept(layout, FakeClock()) as blobs:
        assert await blobs.get(name) == BlobFound(b"lost")
    check_whole(layout)


async def test_damage_met_by_a_put_is_set_aside_and_the_put_is_durable(layout: Layout) -> None:
    async with kept(layout, FakeClock()) as blobs:
        lost = await put(blobs, b"lost")
    said: list[str] = []
    async with losing(layout, said) as blobs:
        assert await blobs.get(lost) == BlobFound(b"lost")
        first_table_lost(layout.blobs_path)
        name = await put(blobs, b"put")
    assert len(said) == 1
    assert names(layout) == {name}


async def test_a_file_that_another_process_set_aside_is_left_before_anything_is_acknowledged(
    layout: Layout,
) -> None:
    said: list[str] = []
    async with kept(layout, FakeClock()) as other:
        old = await put(other, b"old")
        aside = layout.quarantine / "blobs.db.corrupt-1"

        async def set_aside_and_write(connection: aiosqlite.Connection) -> None:
            if not aside.exists():
                layout.quarantine.mkdir(exist_ok=True)
                layout.blobs_path.rename(aside)
                async with losing(layout, said) as first:
                    await first.put(b"first")
            await connection.execute("INSERT INTO contents (data) VALUES (x'00')")

        await other.file.write(set_aside_and_write)
        assert len(ask(layout, "SELECT * FROM contents")) == 2
        assert await other.get(old) == BlobMissing()
        again = await put(other, b"old")
        assert again in names(layout)
    assert said == []


async def test_only_one_of_two_sets_a_damaged_file_aside(layout: Layout) -> None:
    said: list[str] = []
    async with losing(layout, said) as first, losing(layout, said) as second:
        await first.put(b"x")
        met: list[str] = []

        async def found_by_first(connection: aiosqlite.Connection) -> None:
            if "first" not in met:
                met.append("first")
                raise FileDamaged("seen by the first")

        async def found_by_both(connection: aiosqlite.Connection) -> None:
            if "second" not in met:
                met.append("second")
                await first.file.write(found_by_first)
                raise FileDamaged("seen by the second")

        await second.file.read(found_by_both)
        name = await put(first, b"z")
        assert await second.get(name) == BlobFound(b"z")
    assert len(said) == 1
    assert "seen by the first" in said[0]
    assert [path.name for path in layout.quarantine.glob("*.corrupt-?")] == ["blobs.db.corrupt-1"]


async def test_a_newer_file_is_neither_written_nor_set_aside(layout: Layout) -> None:
    async with kept(layout, FakeClock()) as blobs:
        await blobs.put(b"x")
    ask(layout, "PRAGMA user_version = 2")
    async with kept(layout, FakeClock()) as blobs:
        with pytest.raises(StateReadOnly, match="newer version"):
            await blobs.put(b"y")
    assert not layout.quarantine.exists()


async def test_a_busy_file_fails_and_is_not_taken_for_a_damaged_one(
    layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blob_file, "BUSY_SECONDS", 0.01)
    async with kept(layout, FakeClock()) as blobs:
        name = await put(blobs, b"x")
        with contextlib.closing(sqlite3.connect(layout.blobs_path, isolation_level=None)) as holder:
            holder.execute("BEGIN IMMEDIATE")
            with pytest.raises(StorageFailed, match="locked"):
                await blobs.put(b"y")
            assert await blobs.get(name) == BlobFound(b"x")
            holder.execute("ROLLBACK")
        await blobs.put(b"y")


async def test_a_folder_in_its_place_fails_and_stays(layout: Layout) -> None:
    layout.blobs_path.mkdir()
    async with kept(layout, FakeClock()) as blobs:
        with pytest.raises(StorageFailed, match="can't be opened"):
            await blobs.get("0" * 64)
    assert layout.blobs_path.is_dir()


async def test_a_surprise_inside_a_transaction_leaves_nothing_of_it(layout: Layout) -> None:
    async def surprised(connection: aiosqlite.Connection) -> None:
        await connection.execute("INSERT INTO contents (data) VALUES (x'00')")
        raise KeyError("surprise")

    async with kept(layout, FakeClock()) as blobs:
        with pytest.raises(KeyError):
            await blobs.file.write(surprised)
        await blobs.put(os.urandom(10))
    check_whole(layout)
