"""Indexes of other workspaces forget a thread, or their process is told to; what cannot be mended goes."""

import os
from pathlib import Path

import pytest

from resumed.daemon.keeping.forgetting import forget_elsewhere, others
from resumed.daemon.storage import disk, purges
from resumed.daemon.storage.index import Index
from resumed.daemon.storage.layout import Layout
from resumed.daemon.storage.rows import ThreadRow
from tests.support.streams import THREAD_ID, TS

OURS, FREE, SERVED = "0" * 32, "1" * 32, "2" * 32
PHRASE = "the secret plan of the walrus"


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return Layout.open(tmp_path / "state")


async def with_row(path: Path) -> None:
    """An index that has held several versions of a thread's row."""
    index, _ = await Index.open(path)
    for number in range(40):
        name = f"{PHRASE} {number}" * 50
        await index.put_rows(
            [
                ThreadRow(
                    thread_id=THREAD_ID, name=name, agent="mender", root="/", state="idle",
                    created_at=TS, last_active_at=TS, source="own",
                )
            ]
        )  # fmt: skip
        await index.put_checkpoint(f"{THREAD_ID}{number}", THREAD_ID, TS, name.encode())
    await index.close()


def holding(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.is_file() and PHRASE.encode() in path.read_bytes()]


async def test_one_that_nobody_serves_holds_no_byte_of_it_after(layout: Layout) -> None:
    path = layout.index_path(FREE)
    await with_row(path)
    assert holding(path.parent)
    for stranger in ("index-v1.db", "index-v9.db-wal", "index-v2.db.corrupt-1"):
        (path.parent / stranger).write_bytes(PHRASE.encode())
    with others(layout, OURS) as found:
        assert (found.held, found.served) == ((FREE,), ())
        await forget_elsewhere(layout, found, THREAD_ID)
        assert disk.is_locked(layout.workspace_lock_path(FREE))
    assert holding(path.parent) == []
    assert not disk.is_locked(layout.workspace_lock_path(FREE))
    assert path.exists()


async def test_one_that_is_damaged_goes_with_what_was_set_aside_of_it(layout: Layout) -> None:
    path = layout.index_path(FREE)
    await with_row(path)
    path.write_bytes(b"garbage" * 1000 + PHRASE.encode())
    with others(layout, OURS) as found:
        await forget_elsewhere(layout, found, THREAD_ID)
    assert holding(path.parent) == []
    index, note = await Index.open(path)
    await index.close()
    assert note is None


async def test_who_serves_one_is_told_and_ours_is_left_alone(layout: Layout) -> None:
    for workspace in (OURS, SERVED):
        await with_row(layout.index_path(workspace))
    lock = disk.lock(layout.workspace_lock_path(SERVED))
    assert lock is not None
    with others(layout, OURS) as found:
        assert (found.held, found.served) == ((), (SERVED,))
        await forget_elsewhere(layout, found, THREAD_ID)
    os.close(lock)
    assert purges.to_forget(layout, SERVED) == {THREAD_ID}
    assert purges.to_forget(layout, OURS) == frozenset()
    assert holding(layout.index_path(OURS).parent)
