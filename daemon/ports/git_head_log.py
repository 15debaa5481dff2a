"""Tells from the log of a work tree's HEAD which restore made the work tree, and which moved HEAD last.

Git writes into each line who moved HEAD; the commands of a restore give its id for that. A log can be
switched off, and is kept elsewhere by repositories with other references than files.
"""

import os
import re

from resumed.daemon.ports.git_command import MOVER
from resumed.daemon.ports.regular import open_regular
from resumed.restore.probes import HeadLogSeen

_LINE = re.compile(rb"[0-9a-f]{40,64} (?P<now>[0-9a-f]{40,64}) (?P<name>[^<\n]*) <(?P<email>[^>\n]*)> ")
_END_BYTES = 1 << 16


def head_log(git_dir: str) -> HeadLogSeen:
    """Read the two ends of HEAD's log. Raises `OSError`."""
    first, last = _ends(git_dir)
    return HeadLogSeen(begun_by=_mover(first), moved_by=_mover(last))


def last_commit(git_dir: str) -> str | None:
    """Where HEAD came to be last, by its log. Raises `OSError`."""
    found = _LINE.match(_ends(git_dir)[1])
    return os.fsdecode(found["now"]) if found is not None else None


def _ends(git_dir: str) -> tuple[bytes, bytes]:
    """The first and the last line; both empty where there is no log."""
    try:
        with open_regular(os.path.join(git_dir, "logs", "HEAD")) as log:
            first = log.readline(_END_BYTES)
            log.seek(max(0, os.fstat(log.fileno()).st_size - _END_BYTES))
            end = log.read(_END_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return b"", b""
    return first, end.rstrip(b"\n").rpartition(b"\n")[2]


def _mover(line: bytes) -> str | None:
    """The restore that a line names, empty for anybody else; `None` for what is no line."""
    found = _LINE.match(line)
    if found is None:
        return None
    return os.fsdecode(found["email"]) if os.fsdecode(found["name"]) == MOVER else ""
