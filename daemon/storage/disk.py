"""The few file operations that durability rests on.

A write that is short, or a sync that fails, is an `OSError` here: the caller must give that file up,
because reading it back shows the page cache and proves nothing about the disk.
"""

import contextlib
import errno
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

FILE_MODE = 0o600
FOLDER_MODE = 0o700

_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS, errno.EXDEV)
_COPIED_AT_ONCE = 1 << 20

_full_sync = getattr(fcntl, "F_FULLFSYNC", None)


def sync(descriptor: int) -> None:
    """Wait until a file's data is on the disk. macOS needs its own call: its fsync stops at the drive."""
    if _full_sync is not None:
        fcntl.fcntl(descriptor, _full_sync)
    else:
        os.fdatasync(descriptor)


def sync_folder(folder: str | Path) -> None:
    """Make the names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_folders(folder: Path, top: Path) -> None:
    """Make a folder's names durable, and the folder itself and those above it up to `top`.

    A process that was killed may have created any of them without getting to that."""
    for each in (folder, *folder.parents):
        sync_folder(each)
        if each == top:
            return


def write(descriptor: int, data: bytes | bytearray) -> None:
    """Write all of `data` with one call; a short write raises, and leaves part of it in the file."""
    written = os.write(descriptor, data)
    if written != len(data):
        raise OSError(errno.ENOSPC, f"{written} of {len(data)} bytes were written")


def make_folder(folder: Path) -> None:
    """Create a folder and what is missing above it, for the owner alone, durably."""
    if folder.is_dir():
        return
    make_folder(folder.parent)
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=FOLDER_MODE)
        folder.chmod(FOLDER_MODE)
        sync_folder(folder.parent)


def create(path: Path) -> int:
    """Create a file for appending and return its descriptor; raises `FileExistsError`."""
    make_folder(path.parent)
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL, FILE_MODE)
    try:
        os.fchmod(descriptor, FILE_MODE)
        sync_folder(path.parent)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def replace(path: Path, data: bytes) -> None:
    """Make `data` the content of a file, durably: all of it or none of it is ever seen.

    One at a time for each path: what a killed one has staged is taken away by the next.
    """
    make_folder(path.parent)
    staged = path.with_name(f".{path.name}.staged")
    staged.unlink(missing_ok=True)
    descriptor = create(staged)
    try:
        write(descriptor, data)
        sync(descriptor)
        staged.replace(path)
    except OSError:
        staged.unlink(missing_ok=True)
        raise
    finally:
        os.close(descriptor)
    sync_folder(path.parent)


def place(source: Path, target: Path) -> None:
    """Let `target` be the same file as `source`, or a copy of it where the file system has no links; whatever
    file was there is replaced. Durable once the caller has synced the folder.

    Nobody may write to `source` meanwhile; one at a time for each target.
    """
    staged = target.with_name(f".{target.name}.staged")
    staged.unlink(missing_ok=True)
    try:
        os.link(source, staged)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        _copy(source, staged)
    if target.exists() and target.samefile(staged):
        # Renaming a file to another name of its own does nothing, and would leave both.
        staged.unlink()
    else:
        staged.replace(target)


def lock(path: Path) -> int | None:
    """Take the exclusive lock on a lock file; `None` when someone holds it (this process included).

    The lock ends with the descriptor, so a killed holder never blocks. Lock files are not removed: a
    lock on a removed file would guard nothing.
    """
    descriptor = _lock_file(path)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def is_locked(path: Path) -> bool:
    """Whether someone holds the exclusive lock of a lock file (this process included). Only looks;
    what isn't there or can't be looked at is not held."""
    try:
        # Not blocking: what stands there may be a pipe.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return False


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock on a lock file, waiting for it; for short sections only."""
    descriptor = _lock_file(path)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _copy(source: Path, target: Path) -> None:
    descriptor = create(target)
    try:
        with open(source, "rb") as file:
            while chunk := file.read(_COPIED_AT_ONCE):
                write(descriptor, chunk)
        sync(descriptor)
    finally:
        os.close(descriptor)


def _lock_file(path: Path) -> int:
    make_folder(path.parent)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, FILE_MODE)
    os.fchmod(descriptor, FILE_MODE)
    return descriptor
