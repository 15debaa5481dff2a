"""The tables of kept contents: batches of what is untouched, and removal that looks again."""

from pathlib import Path

import pytest

from resumed.daemon.storage import blob_table
from resumed.daemon.storage.blob_rows import milliseconds, pack
from resumed.daemon.storage.blob_table import Candidate
from resumed.daemon.storage.layout import Layout
from tests.support.blobs import ask, check_whole, kept, names, put
from tests.support.clock import FakeClock

BEGIN = Candidate(-1, b"", 0)


async def test_batches_go_through_everything_untouched_once_oldest_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blob_table, "BATCH", 3)
    layout, clock = Layout.open(tmp_path), FakeClock()
    async with kept(layout, clock) as blobs:
        for number in range(8):
            await blobs.put(b"%d" % number)
            clock.advance(number % 2)
        before, last, seen = milliseconds(clock.now()), BEGIN, list[Candidate]()
        while batch := await blobs.file.read(
            lambda connection, last=last: blob_table.untouched(connection, before, last)  # type: ignore[misc]  # bound now
        ):
            assert len(batch) <= 3
            seen += batch
            last = batch[-1]
    assert seen == sorted(seen)
    assert {candidate.digest.hex() for candidate in seen} == names(layout)


async def test_removal_leaves_what_was_touched_since(tmp_path: Path) -> None:
    layout, clock = Layout.open(tmp_path), FakeClock()
    async with kept(layout, clock) as blobs:
        old = await put(blobs, b"old")
        clock.advance(1)
        new = await put(blobs, b"new")
        digests = [bytes.fromhex(name) for name in (old, new, "0" * 64)]
        removed = await blobs.file.write(
            lambda connection: blob_table.remove(connection, digests, milliseconds(clock.now()))
        )
        assert removed == [3]
        assert await blobs.file.read(blob_table.stored_bytes) == 3
    assert names(layout) == {new}
    check_whole(layout)


async def test_what_another_process_put_since_the_comparison_is_touched_and_not_put_twice(
    tmp_path: Path,
) -> None:
    layout, clock = Layout.open(tmp_path), FakeClock()
    contents = [pack(b"same")]
    async with kept(layout, clock) as blobs:
        found = await blobs.file.read(lambda connection: blob_table.compared(connection, contents))
        assert found == {}
        await blobs.put(b"same")
        await blobs.file.write(lambda connection: blob_table.store(connection, contents, found, 7))
    assert ask(layout, "SELECT touched_at FROM blobs") == [(7,)]
    check_whole(layout)


async def test_what_was_removed_since_the_comparison_is_stored_again(tmp_path: Path) -> None:
    layout, clock = Layout.open(tmp_path), FakeClock()
    contents = [pack(b"same")]
    async with kept(layout, clock) as blobs:
        await blobs.put(b"same")
        found = await blobs.file.read(lambda connection: blob_table.compared(connection, contents))
        ask(layout, "DELETE FROM blobs")
        ask(layout, "DELETE FROM contents")
        await blobs.file.write(lambda connection: blob_table.store(connection, contents, found, 7))
        assert len(names(layout)) == 1
    check_whole(layout)
