"""The index: pages, look-ups, whole transactions, and a damaged file that is never passed off as empty."""

import asyncio
import contextlib
import errno
import os
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiosqlite
import msgspec
import pytest

from resumed.daemon.storage import index as index_module
from resumed.daemon.storage.errors import CursorRefused, IndexDamaged, IndexFailed
from resumed.daemon.storage.index import Index
from resumed.daemon.storage.rows import Counts, FileCursor, PageRequest, RecordedPlace, ThreadRow
from tests.support.streams import program_environment


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "workspaces" / "w" / "index-v1.db"


@pytest.fixture
async def index(path: Path) -> AsyncIterator[Index]:
    opened, note = await Index.open(path)
    assert note is None
    yield opened
    await opened.close()


def row(number: int, **changed: Any) -> ThreadRow:
    made = ThreadRow(
        thread_id=f"{number:08x}-0000-4000-8000-000000000000",
        name=f"Thread {number}",
        agent="codex",
        root="/home/kim/shop",
        state="idle",
        created_at="2026-01-01T00:00:00.000Z",
        last_active_at=f"2026-01-01T00:{number // 2:02}:00.000Z",
        source="own",
    )
    return msgspec.structs.replace(made, **changed)


def file(path: str, thread_id: str = "t") -> FileCursor:
    return FileCursor(
        path=path,
        device=1,
        inode=2**64 - 1,
        size=10,
        mtime_ns=11,
        thread_id=thread_id,
        head=b"\x00\xff",
    )


async def all_pages(index: Index, request: PageRequest) -> list[ThreadRow]:
    rows: list[ThreadRow] = []
    while True:
        page = await index.page(request)
        assert len(page.rows) <= request.limit
        rows += page.rows
        if page.next_cursor is None:
            return rows
        assert len(page.rows) == request.limit
        request = msgspec.structs.replace(request, cursor=page.next_cursor)


async def test_a_row_comes_back_as_it_was_and_is_replaced(index: Index) -> None:
    whole = row(
        1,
        name="caf\udce9 \U0001f600",
        root="/srv/caf\udce9",
        source="/x/\udcff.jsonl",
        branch="fix/\udcfe",
        sha="ab",
        origin="host/x",
        runs=3,
        archived=True,
        damaged=True,
        native_id="n",
        forked_from="f",
    )
    await index.put_rows([whole, row(2)])
    assert await index.row(whole.thread_id) == whole
    await index.put_rows([row(1)])
    assert await index.row(whole.thread_id) == row(1)
    assert await index.row("none") is None


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 50])
async def test_pages_are_complete_ordered_and_without_repeats(index: Index, limit: int) -> None:
    await index.put_rows(row(number) for number in range(7))
    rows = await all_pages(index, PageRequest(limit=limit))
    assert [thread.thread_id for thread in rows] == [
        row(number).thread_id for number in (6, 5, 4, 3, 2, 1, 0)
    ]


async def test_a_page_goes_on_behind_its_cursor_whatever_came_meanwhile(index: Index) -> None:
    await index.put_rows(row(number) for number in range(6))
    first = await index.page(PageRequest(limit=2))
    await index.put_rows([row(99, last_active_at="2027-01-01T00:00:00.000Z")])
    await index.drop_rows([first.rows[1].thread_id])
    second = await index.page(PageRequest(limit=2, cursor=first.next_cursor))
    assert [thread.name for thread in second.rows] == ["Thread 3", "Thread 2"]


async def test_archived_rows_and_other_folders_are_apart(index: Index) -> None:
    roots = ["/a", "/a/b", "/a.x", "/a0", "/ab", "/", "/a/caf\udce9/x", "/A"]
    await index.put_rows(row(number, root=root) for number, root in enumerate(roots))
    await index.put_rows([row(50, root="/a", archived=True)])

    async def found(*asked: str) -> set[str]:
        return {thread.root for thread in await all_pages(index, PageRequest(limit=3, roots=asked))}

    assert await found("/a") == {"/a", "/a/b", "/a/caf\udce9/x"}
    assert await found("/a/caf\udce9", "/ab") == {"/a/caf\udce9/x", "/ab"}
    assert await found("/a/") == {"/a", "/a/b", "/a/caf\udce9/x"}
    assert await found("/") == set(roots)
    assert await found() == set()
    assert len(await all_pages(index, PageRequest())) == len(roots)
    archived = await index.page(PageRequest(archived=True))
    assert [thread.thread_id for thread in archived.rows] == [row(50).thread_id]


async def test_limits_are_kept_and_strange_cursors_refused(index: Index) -> None:
    await index.put_rows([row(1), row(2)])
    assert len((await index.page(PageRequest(limit=0))).rows) == 1
    assert len((await index.page(PageRequest(limit=10**9))).rows) == 2
    with pytest.raises(CursorRefused):
        await index.page(PageRequest(cursor="x"))


async def test_a_thread_is_found_by_id_prefix_or_part_of_its_name(index: Index) -> None:
    await index.put_rows(
        [
            row(0xABC, name="Fix payment rounding"),
            row(0xDEF, name="fix PAYMENT"),
            row(0x1, name="ÉCLAIR 100%"),
            row(0x2, name="00000001"),
        ]
    )

    async def found(text: str) -> list[str]:
        return [thread.name for thread in await index.rows_matching(text)]

    assert await found("00000aBc") == ["Fix payment rounding"]
    assert await found(row(0xDEF).thread_id) == ["fix PAYMENT"]
    assert await found("Fix Payment") == ["fix PAYMENT", "Fix payment rounding"]
    assert await found("ROUND") == ["Fix payment rounding"]
    assert await found("éclair") == ["ÉCLAIR 100%"]
    assert await found("%") == ["ÉCLAIR 100%"]
    assert await found("00000001") == ["00000001", "ÉCLAIR 100%"]
    assert await found("_") == []
    assert await found("  ") == []
    assert await found("\udc80") == []


async def test_rows_and_files_move_together(index: Index, path: Path) -> None:
    await index.put_rows([row(1)], files=[file("/x/caf\udce9")])
    assert await index.files() == (file("/x/caf\udce9"),)
    unfit = msgspec.structs.replace(file("/y"), size=2**80)
    with pytest.raises(IndexFailed):
        await index.put_rows([row(2)], files=[unfit])
    assert await index.row(row(2).thread_id) is None
    assert await index.files() == (file("/x/caf\udce9"),)
    await index.put_rows([], [msgspec.structs.replace(file("/x/caf\udce9"), size=20), file("/y")])
    assert [known.size for known in await index.files()] == [20, 10]
    await index.drop_files(["/y", "/nowhere"])
    await index.close()
    again, note = await Index.open(path)
    assert note is None
    assert await again.row(row(1).thread_id) == row(1)
    assert len(await again.files()) == 1
    await again.close()


async def test_places_are_told_once_each(index: Index) -> None:
    await index.put_rows(
        [row(1, origin="o", sha="a"), row(2, origin="o", sha="a"), row(3, origin="o", sha="b"), row(4)]
    )
    root = row(1).root
    assert set(await index.places()) == {
        RecordedPlace(root, "o", "a"), RecordedPlace(root, "o", "b"), RecordedPlace(root, None, None),
    }  # fmt: skip
    assert len(await index.places()) == 3


async def test_rows_are_found_by_their_state(index: Index) -> None:
    unfinished = row(2, state="unfinished")
    await index.put_rows([row(1, state="idle"), unfinished, row(3, state="interrupted")])
    assert await index.rows_in_state("unfinished") == (unfinished,)
    assert await index.rows_in_state("running") == ()


async def test_checkpoints_and_counts(index: Index) -> None:
    assert await index.checkpoint("k") is None
    await index.put_checkpoint("k", row(1).thread_id, "2026", b"one")
    await index.put_checkpoint("k", row(1).thread_id, "2027", b"\x00two")
    await index.put_checkpoint("other", row(2).thread_id, "2027", b"")
    assert await index.checkpoint("k") == b"\x00two"
    await index.put_rows([row(1), row(2, archived=True)], [file("/x", row(1).thread_id), file("/y")])
    assert await index.counts() == Counts(threads=2, archived=1, files=2, checkpoints=2)
    await index.drop_rows([row(1).thread_id, "none"])
    assert await index.counts() == Counts(threads=1, archived=1, files=1, checkpoints=1)
    assert await index.checkpoint("other") == b""


async def test_a_cancelled_write_is_whole_and_later_ones_stand_alone(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = aiosqlite.Connection.executemany
    writing: list[asyncio.Task[None]] = []

    async def cancelling(self: aiosqlite.Connection, sql: str, rows: Any) -> aiosqlite.Cursor:
        cursor = await original(self, sql, rows)
        writing[0].cancel()
        return cursor

    with monkeypatch.context() as patched:
        patched.setattr(aiosqlite.Connection, "executemany", cancelling)
        writing.append(asyncio.create_task(index.put_rows([row(1)], [file("/x")])))
        with pytest.raises(asyncio.CancelledError):
            await writing[0]
        await index.counts()
    await index.put_rows([row(2)])
    assert await index.counts() == Counts(threads=2, archived=0, files=1, checkpoints=0)


async def test_tasks_take_turns(index: Index) -> None:
    async def fail() -> None:
        with pytest.raises(IndexFailed):
            await index.put_rows([row(5000)], [msgspec.structs.replace(file("/y"), size=2**80)])

    await asyncio.gather(*(job for n in range(30) for job in (index.put_rows([row(n)]), fail())))
    assert (await index.counts()).threads == 30


async def test_files_are_for_the_owner_alone(index: Index, path: Path) -> None:
    await index.put_rows([row(1)])
    modes = {entry.name: entry.stat().st_mode & 0o777 for entry in path.parent.iterdir()}
    assert modes == {path.name: 0o600, f"{path.name}-wal": 0o600, f"{path.name}-shm": 0o600}
    assert path.parent.stat().st_mode & 0o777 == 0o700


async def filled(path: Path, threads: int = 200) -> bytes:
    index, _ = await Index.open(path)
    await index.put_rows(row(number) for number in range(threads))
    await index.close()
    return path.read_bytes()


def other_schema(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE threads (thread_id)")
    connection.close()


def later_version(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 7")
    connection.close()


def lost_column(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("ALTER TABLE threads DROP COLUMN sha")
    connection.close()


@pytest.mark.parametrize(
    "damage", ["garbage", "head", "middle", "cut", "folder", "version", "column", "other"]
)
async def test_a_file_that_cannot_be_trusted_is_set_aside_and_said(path: Path, damage: str) -> None:
    whole = await filled(path)
    if damage == "garbage":
        path.write_bytes(os.urandom(5000))
    elif damage == "head":
        path.write_bytes(b"\0" * 100 + whole[100:])
    elif damage == "middle":
        path.write_bytes(whole[:8192] + b"\xaa" * 4096 + whole[12288:])
    elif damage == "cut":
        path.write_bytes(whole[: len(whole) // 2])
    elif damage == "version":
        later_version(path)
    elif damage == "column":
        lost_column(path)
    else:
        path.unlink()
        if damage == "folder":
            path.mkdir()
        else:
            other_schema(path)
    index, note = await Index.open(path)
    assert note is not None
    assert "It is being rebuilt. The old file is kept as index-v1.db.corrupt-1." in note
    assert (await index.counts()).threads == 0
    await index.put_rows([row(1)])
    assert (await index.counts()).threads == 1
    await index.close()
    assert path.with_name("index-v1.db.corrupt-1").exists()
    path.write_bytes(b"garbage" * 100)
    index, note = await Index.open(path)
    await index.close()
    assert path.with_name("index-v1.db.corrupt-2").read_bytes() == b"garbage" * 100


async def test_an_emptied_or_missing_file_is_created_and_says_so(path: Path) -> None:
    await filled(path)
    path.write_bytes(b"")
    index, note = await Index.open(path)
    assert (note, (await index.counts()).threads) == (None, 0)
    await index.close()


async def test_no_single_damaged_page_is_ever_an_empty_list(path: Path) -> None:
    whole = await filled(path, threads=60)
    for page in range(len(whole) // 4096):
        for content in (b"\0" * 4096, b"\xff" * 4096):
            path.write_bytes(whole[: page * 4096] + content + whole[(page + 1) * 4096 :])
            index, note = await Index.open(path)
            if note is None:
                with contextlib.suppress(IndexDamaged):
                    assert len((await index.page(PageRequest(limit=100))).rows) == 60, page
            await index.close()


async def test_damage_met_later_is_set_aside_and_told(path: Path) -> None:
    await filled(path)
    connection = sqlite3.connect(path)
    connection.execute("UPDATE threads SET name = CAST('text, not bytes' AS TEXT)")
    connection.commit()
    connection.close()
    index, note = await Index.open(path)
    assert note is None
    with pytest.raises(IndexDamaged) as told:
        await index.page(PageRequest())
    assert "It is being rebuilt. The old file is kept as index-v1.db.corrupt-1." in told.value.sentence
    assert (index.generation, (await index.counts()).threads) == (1, 0)
    await index.put_rows([row(1)])
    await index.close()
    index, note = await Index.open(path)
    assert (note, (await index.counts()).threads) == (None, 1)
    await index.close()


async def test_a_reader_that_goes_away_leaves_a_whole_index_behind(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await filled(path)
    index, _ = await Index.open(path)
    reading: list[asyncio.Task[Any]] = []

    async def cancelling(self: aiosqlite.Connection, sql: str, values: Any) -> Any:
        reading[0].cancel()
        raise sqlite3.DatabaseError("database disk image is malformed")

    monkeypatch.setattr(index_module, "error_code", lambda error: sqlite3.SQLITE_CORRUPT)
    with monkeypatch.context() as patched:
        patched.setattr(aiosqlite.Connection, "execute_fetchall", cancelling)
        reading.append(asyncio.create_task(index.counts()))
        with pytest.raises(asyncio.CancelledError):
            await reading[0]
    assert (await index.counts()).threads == 0
    assert index.generation == 1
    await index.close()


async def test_an_index_that_cannot_be_set_aside_fails(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    await filled(path)
    connection = sqlite3.connect(path)
    connection.execute("UPDATE threads SET name = CAST('text, not bytes' AS TEXT)")
    connection.commit()
    connection.close()
    index, _ = await Index.open(path)

    def refuse(path: Path, folder: Path) -> Path:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(index_module, "set_aside", refuse)
    with pytest.raises(IndexFailed, match="can't be set aside") as failed:
        await index.page(PageRequest())
    assert not isinstance(failed.value, IndexDamaged)
    await index.close()


async def test_an_index_that_a_full_disk_keeps_from_opening_is_not_set_aside(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = await filled(path)

    def refuse(path: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(index_module, "create_private", refuse)
    with pytest.raises(IndexFailed) as failed:
        await Index.open(path)
    assert not isinstance(failed.value, IndexDamaged)
    assert path.read_bytes() == whole
    monkeypatch.undo()
    index, note = await Index.open(path)
    assert note is None
    await index.close()


async def test_a_folder_in_the_place_of_a_journal_file_is_set_aside_with_the_index(path: Path) -> None:
    await filled(path)
    path.with_name(path.name + "-wal").mkdir()
    index, note = await Index.open(path)
    assert note is not None
    await index.put_rows([row(1)])
    await index.close()


async def test_a_busy_file_is_not_taken_for_a_corrupt_one(path: Path) -> None:
    whole = await filled(path)
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("PRAGMA locking_mode = EXCLUSIVE")
    holder.execute("BEGIN EXCLUSIVE")
    with pytest.raises(IndexFailed) as raised:
        await Index.open(path)
    assert not isinstance(raised.value, IndexDamaged)
    holder.execute("ROLLBACK")
    holder.close()
    assert [entry.name for entry in path.parent.iterdir() if "corrupt" in entry.name] == []
    assert len(whole) == path.stat().st_size


def test_a_failed_opening_does_not_keep_the_process_alive(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    program = (
        "import asyncio, pathlib, sys\nfrom resumed.daemon.storage.index import Index\n"
        "try:\n    asyncio.run(Index.open(pathlib.Path(sys.argv[1])))\n"
        "except Exception as error:\n    print(type(error).__name__)\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "file" / "index-v1.db")]
    done = subprocess.run(command, env=program_environment(), capture_output=True, timeout=60, check=True)
    assert done.stdout == b"IndexFailed\n"
