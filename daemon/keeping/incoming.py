"""The conversation that is being taken in from a file: staged, then decided, then in its places.

One process at a time, by a lock. `new` is what is being checked and counts for nothing; a kill leaves it
for the next one to remove. Once it is `decided` it is brought to its places, by whoever comes next. What is
`done` is only to be removed. Everything here blocks and raises `OSError`.
"""

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from resumed.daemon.failpoints import passage
from resumed.daemon.keeping.manifest import QUARANTINE, SESSIONS, THREADS
from resumed.daemon.storage import disk
from resumed.daemon.storage.layout import Layout
from resumed.daemon.storage.reader import Reading
from resumed.restore.events.thread import ThreadPatched

_PARTS = (QUARANTINE, SESSIONS, THREADS)


class ImportBusy(Exception):
    """Another process is taking in a conversation."""


@contextlib.contextmanager
def taking_in(layout: Layout) -> Iterator[Path]:
    """Be the one that takes in a conversation; yields an empty folder to stage it in. What a killed process
    had decided is in its places then. Raises `ImportBusy`."""
    lock = disk.lock(layout.importing_lock_path)
    if lock is None:
        raise ImportBusy
    try:
        finish(layout)
        new = layout.importing / "new"
        try:
            for folder in _PARTS:
                disk.make_folder(new / folder)
            yield new
        finally:
            _remove(new)
    finally:
        os.close(lock)


def tidy(layout: Layout) -> None:
    """Finish what a killed process had decided, and remove what it had not."""
    # Without the lock where there is nothing to do, so as not to stand in anybody's way.
    if not any((layout.importing / name).exists() for name in ("new", "decided", "done")):
        return
    lock = disk.lock(layout.importing_lock_path)
    if lock is None:
        return
    try:
        finish(layout)
    finally:
        os.close(lock)


def decide(layout: Layout) -> None:
    """Take in what is staged: durable when this returns, whatever happens then."""
    new = layout.importing / "new"
    for folder in (*(new / part for part in _PARTS), new):
        disk.sync_folder(folder)
    new.rename(layout.importing / "decided")
    disk.sync_folder(layout.importing)
    passage("import.decided")


def finish(layout: Layout) -> None:
    """Bring what was decided to its places, the thread's own first file last: that makes it a thread."""
    decided, done = layout.importing / "decided", layout.importing / "done"
    _remove(done)
    _remove(layout.importing / "new")
    if not decided.is_dir():
        return
    is_archived = archived(decided / THREADS)
    for part in _PARTS:
        for path in sorted((decided / part).iterdir(), key=_first_last):
            _place(path, _folder(layout, part, path.name, is_archived=is_archived) / path.name)
            passage("import.place")
    passage("import.placed")
    decided.rename(done)
    disk.sync_folder(layout.importing)
    _remove(done)


def archived(threads: Path) -> bool:
    """Whether the thread whose stream is in this folder is put away."""
    for first in (path for path in threads.iterdir() if path.name.count(".") == 1):
        patches = [
            event.payload.fields for event in Reading(first) if isinstance(event.payload, ThreadPatched)
        ]
        said = [fields["archived"] for fields in patches if isinstance(fields.get("archived"), bool)]
        return bool(said and said[-1])
    return False


def _first_last(path: Path) -> tuple[int, str]:
    return -path.name.count("."), path.name


def _folder(layout: Layout, part: str, name: str, *, is_archived: bool) -> Path:
    if part != SESSIONS:
        return layout.home / part
    if is_archived:
        return layout.archived_sessions
    year, month, day = name.removeprefix("rollout-")[:10].split("-")
    return layout.sessions / year / month / day


def _place(path: Path, target: Path) -> None:
    disk.make_folder(target.parent)
    if not (target.exists() and begins_with(target, path)):
        disk.place(path, target)
    disk.sync_folders(target.parent, _home_of(path))


def begins_with(path: Path, beginning: Path) -> bool:
    """Whether a file begins with all the bytes of another one."""
    with open(path, "rb") as whole, open(beginning, "rb") as part:
        while expected := part.read(1 << 20):
            if whole.read(len(expected)) != expected:
                return False
    return True


def _home_of(path: Path) -> Path:
    # <home>/importing/decided/<part>/<name>
    return path.parents[3]


def _remove(folder: Path) -> None:
    if folder.is_dir():
        shutil.rmtree(folder)
        disk.sync_folder(folder.parent)
