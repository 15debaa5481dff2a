"""Moves the files of a run between the folders of days and the archive, killable at any point.

At every moment one of the two places holds the whole stream: that of the days while its first file is
there, else the archive. That one is read, and what the other holds is what a killed move left.
"""

import re
from collections.abc import Iterable
from pathlib import Path

from resumed.daemon.failpoints import passage
from resumed.daemon.storage import disk
from resumed.daemon.storage.layout import Layout
from resumed.daemon.storage.segments import segment_files

_DAY = re.compile(r"rollout-(\d{4})-(\d{2})-(\d{2})T")


def settle(layout: Layout, session_id: str, *, archived: bool) -> bool:
    """Bring a run's files to where they belong; returns whether anything was there to be done.

    The caller holds the thread's lease and the lock of the stream. Raises `OSError`; blocks.
    """
    first = layout.find_stream(f"session:{session_id}")
    if first is None:
        return False
    away = layout.archived_sessions / first.name
    day = _day_path(layout, first)
    target, other = (away, day) if archived else (day, away)
    moved = first != target
    if moved:
        _place(first, target)
        disk.sync_folders(target.parent, layout.home)
        passage("moving.placed")
    return _remove(other) or moved


def _day_path(layout: Layout, first: Path) -> Path:
    """Where the run is when it is not put away: the folder that it is in, or that of its day."""
    match = _DAY.match(first.name)
    if first.parent != layout.archived_sessions or match is None:
        return first
    return layout.sessions.joinpath(*match.groups(), first.name)


def _place(first: Path, target: Path) -> None:
    """Put every file in the other place, the first one last: it makes that place the whole one."""
    disk.make_folder(target.parent)
    files = {file.path.name: file.path for file in segment_files(first)}
    _unlink(path for path in _files(target) if path.name not in files)
    for path in sorted(files.values(), key=lambda path: path == first):
        disk.place(path, target.with_name(path.name))
        disk.sync_folder(target.parent)
        passage("moving.place")


def _remove(first: Path) -> bool:
    """Remove what is at a place; its first file before all others, durably, since while that is there the
    place counts as the whole one."""
    files = _files(first)
    if not files:
        return False
    _unlink(path for path in files if path == first)
    disk.sync_folder(first.parent)
    passage("moving.remove")
    _unlink(path for path in files if path != first)
    disk.sync_folder(first.parent)
    return True


def _files(first: Path) -> list[Path]:
    # Also those behind a first file that is gone.
    return [file.path for file in segment_files(first)]


def _unlink(paths: Iterable[Path]) -> None:
    for path in paths:
        path.unlink(missing_ok=True)
