"""Makes the indexes of all workspaces forget a thread, also of those that nobody serves now.

An index is derived from the streams and would lose the thread by itself, but its file would still hold
names and states until then.
"""

import asyncio
import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from resumed.daemon.storage import disk, purges
from resumed.daemon.storage.errors import IndexFailed
from resumed.daemon.storage.index import Index
from resumed.daemon.storage.layout import Layout

_JOURNALS = ("-wal", "-shm", "-journal")


class Others:
    """The workspaces besides this one. `held` are those that nobody serves, whose locks are held here
    until the block of `others` ends; `served` those that another process serves."""

    def __init__(self, held: tuple[str, ...], served: tuple[str, ...]) -> None:
        self.held = held
        self.served = served


@contextlib.contextmanager
def others(layout: Layout, workspace_id: str) -> Iterator[Others]:
    """Keep every other workspace that nobody serves from being served for as long as the block runs."""
    held, served = [], []
    with contextlib.ExitStack() as locks:
        for folder in layout.workspace_folders():
            if folder.name == workspace_id:
                continue
            lock = disk.lock(layout.workspace_lock_path(folder.name))
            if lock is None:
                served.append(folder.name)
            else:
                locks.callback(os.close, lock)
                held.append(folder.name)
        yield Others(tuple(held), tuple(served))


async def forget_elsewhere(layout: Layout, found: Others, thread_id: str) -> None:
    """Take the thread out of every other index; who serves one is told to. Raises `OSError`."""
    for workspace_id in found.served:
        await asyncio.to_thread(purges.tell_workspace, layout, workspace_id, thread_id)
    for workspace_id in found.held:
        current = layout.index_path(workspace_id)
        await asyncio.to_thread(remove_strangers, current)
        if current.exists() and not await _forgets(current, thread_id):
            await asyncio.to_thread(_remove, current)


def remove_strangers(current: Path) -> None:
    """Remove the indexes beside the current one that nobody can take a thread out of: those of other
    versions and those that were set aside as damaged. All of them are derived. Raises `OSError`."""
    for path in current.parent.glob("index-v*.db*"):
        if path.name not in {current.name, *(current.name + suffix for suffix in _JOURNALS)}:
            path.unlink(missing_ok=True)


async def _forgets(path: Path, thread_id: str) -> bool:
    """Whether the index could be made to forget the thread."""
    index = None
    try:
        index, note = await Index.open(path)
        await index.forget(thread_id)
    except IndexFailed:
        return False
    finally:
        if index is not None:
            await index.close()
    if note is not None:
        await asyncio.to_thread(remove_strangers, path)
    return True


def _remove(path: Path) -> None:
    for suffix in (*_JOURNALS, ""):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    disk.sync_folder(path.parent)
