"""Opens files that are files: reading a pipe, a socket or a device may never return."""

import errno
import io
import os
import stat
from pathlib import Path


def open_regular(path: str | Path, buffer: int = io.DEFAULT_BUFFER_SIZE) -> io.BufferedReader:
    """Open a regular file, or a link to one, for reading with a buffer of so many bytes.

    Raises `OSError`; for whatever else is there, one that says so, at once and without opening it."""
    # A device may act when it is opened, so it is looked at before, and once more in case it was replaced.
    _check(os.stat(path).st_mode, path)
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        _check(os.fstat(descriptor).st_mode, path)
    except OSError:
        os.close(descriptor)
        raise
    return io.BufferedReader(io.FileIO(descriptor), buffer)


def _check(mode: int, path: str | Path) -> None:
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "it is no regular file", str(path))
