"""Tells from the log of a work tree's HEAD which restore made the work tree, and which moved HEAD last.

Git writes into each line who moved HEAD; the commands of a restore give its id for that. A log can be
switched off, and is kept elsewhere by repositories with other references than files.
"""

import os
import re

from resumed.daemon.ports.git_command import MOVER
from resumed.daemon.ports.regular import open_regular
from resumed.restore.probes import HeadLogSeen

_LINE = re.compile(
    rb"(?P<before>[0-9a-f]{40,64}) (?P<now>[0-9a-f]{40,64}) (?P<name>[^<\n]*) <(?P<email>[^>\n]*)> "
    rb"[^\t\n]*(?:\t(?P<message>.*))?"
)
_END_BYTES = 1 << 22


def head_log(git_dir: str) -> HeadLogSeen:
    """Who made the work tree, and who moved its HEAD last. Raises `OSError`.

    The log of a work tree that was made again goes on with that of the one before: the last line that
    comes from nowhere, and gives no reason, is the one that counts. With a reason it is a branch that was
    renamed, or that begins with a first commit."""
    lines = _read(git_dir)
    made = _made_at(lines)
    return HeadLogSeen(
        begun_by=None if made is None else _mover(lines[made]),
        moved_by=_mover(lines[-1]) if lines else None,
    )


def commits_since_made(git_dir: str) -> tuple[str, ...]:
    """Where HEAD has been since the work tree was made, each commit once. Raises `OSError`."""
    lines = _read(git_dir)
    since = lines[_made_at(lines) or 0 :]
    return tuple(dict.fromkeys(os.fsdecode(line["now"]) for line in since if line["now"].strip(b"0")))


def _made_at(lines: list[re.Match[bytes]]) -> int | None:
    begun = (n for n in range(len(lines) - 1, -1, -1) if not lines[n]["before"].strip(b"0"))
    return next((n for n in begun if not lines[n]["message"]), None)


def _read(git_dir: str) -> list[re.Match[bytes]]:
    return [found for line in _lines(git_dir) if (found := _LINE.match(line)) is not None]


def last_commit(git_dir: str) -> str | None:
    """Where HEAD came to be last, by its log. Raises `OSError`."""
    found = next((found for line in reversed(_lines(git_dir)) if (found := _LINE.match(line))), None)
    return os.fsdecode(found["now"]) if found is not None else None


def _lines(git_dir: str) -> list[bytes]:
    """The lines of the log, of a very long one those at its end; none where there is no log."""
    try:
        with open_regular(os.path.join(git_dir, "logs", "HEAD")) as log:
            log.seek(max(0, os.fstat(log.fileno()).st_size - _END_BYTES))
            return log.read(_END_BYTES).splitlines()
    except (FileNotFoundError, NotADirectoryError):
        return []


def _mover(line: re.Match[bytes]) -> str:
    """The restore that a line names, empty for anybody else."""
    return os.fsdecode(line["email"]) if os.fsdecode(line["name"]) == MOVER else ""
