"""The repairs that lose no byte which may be the only copy of something. Each takes the lock of what it
touches first, and leaves alone what somebody holds. Blocks."""

import contextlib
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from resumed.daemon.keeping.findings import Finding
from resumed.daemon.keeping.leftover_checks import process_runs
from resumed.daemon.storage import disk
from resumed.daemon.storage.database import set_aside
from resumed.daemon.storage.layout import Layout
from resumed.daemon.storage.quarantine import copy_aside
from resumed.daemon.storage.reader import Reading

Repair = Callable[[Layout, Finding], bool]


def repair(layout: Layout, finding: Finding) -> bool:
    """Whether what was found is mended now. Raises `OSError`."""
    mend = _REPAIRS.get(finding.kind)
    return mend is not None and mend(layout, finding)


@contextlib.contextmanager
def _holding(lock: Path) -> Iterator[bool]:
    """Whether nobody has the lock, which is then held for as long as the block runs."""
    descriptor = disk.lock(lock)
    try:
        yield descriptor is not None
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _make_private(layout: Layout, finding: Finding) -> bool:
    path = Path(finding.path)
    path.chmod(stat.S_IMODE(path.lstat().st_mode) & 0o700)
    return True


def _copy_torn(layout: Layout, finding: Finding) -> bool:
    first = layout.find_stream(finding.stream)
    with _holding(layout.stream_lock_path(finding.stream)) as free:
        if not free or first is None:
            return False
        reading = Reading(first)
        for _ in reading:
            pass
        for loose in reading.trailing:
            if loose.torn:
                copy_aside(layout.quarantine, Path(finding.path), loose)
    return True


def _remove_empty(layout: Layout, finding: Finding) -> bool:
    with _holding(layout.stream_lock_path(finding.stream)) as free:
        path = Path(finding.path)
        if not free or path.stat().st_size:
            return False
        _unlink(path)
    return True


def _set_index_aside(layout: Layout, finding: Finding) -> bool:
    path = Path(finding.path)
    with _holding(layout.workspace_lock_path(path.parent.name)) as free:
        if free:
            set_aside(path, path.parent)
            disk.sync_folder(path.parent)
    return free


def _remove_leftover(layout: Layout, finding: Finding) -> bool:
    # Whoever has opened a file before it is removed would lock what is not there any more.
    if process_runs(layout):
        return False
    _unlink(Path(finding.path))
    return True


def _remove_socket(layout: Layout, finding: Finding) -> bool:
    path = Path(finding.path)
    with _holding(path.with_suffix(".lock")) as free:
        if free:
            path.unlink(missing_ok=True)
    return free


def _unlink(path: Path) -> None:
    path.unlink(missing_ok=True)
    disk.sync_folder(path.parent)


_REPAIRS: dict[str, Repair] = {
    "mode.folder": _make_private,
    "mode.file": _make_private,
    "record.tornTail": _copy_torn,
    "record.empty": _remove_empty,
    "index.corrupt": _set_index_aside,
    "leftover.staged": _remove_leftover,
    "leftover.lock": _remove_leftover,
    "leftover.socket": _remove_socket,
}
