"""What a restore read of an agent's own file: noted in its run, and compared by every later reading.

Such a file only ever grows. One that is gone, cannot be read, lost its end or begins with other bytes
is told in one sentence; it may have been moved or compressed. Offsets count uncompressed bytes.
"""

import os
from pathlib import Path

from resumed.daemon.agents.agent import ForeignStore
from resumed.daemon.agents.reading import PREFIX_MADE, ForeignReading, reason_of
from resumed.restore.events.session import Ingested
from resumed.restore.wording import short_path


def ingested(path: Path, store: ForeignStore, offset: int, skipped_lines: int) -> Ingested:
    """The note that the file was read through `offset`. Raises `OSError`; blocks."""
    found = path.stat()
    return Ingested(
        path=str(path),
        device=found.st_dev,
        inode=found.st_ino,
        offset=offset,
        prefix_hash=store.read(path).prefix_hash(offset),
        skipped_lines=skipped_lines,
        translator_version=store.translator_version,
    )


def furthest(before: Ingested | None, after: Ingested) -> Ingested:
    """Of two notes the one that counts: that of the longer part, of equal ones the later."""
    return after if before is None or after.offset >= before.offset else before


def missing(path: str, error: OSError | None) -> str:
    """The sentence for a file that is not there (no error), or cannot be read to its end."""
    if error is None or isinstance(error, FileNotFoundError | NotADirectoryError):
        told = "is gone"
    else:
        told = f"cannot be read: {reason_of(error)}"
    named = f" ({_short(path)})" if path else ""
    return f"The agent's own file{named} {told}. What only that file held is missing."


def nothing_in(path: str) -> str:
    """The sentence for a file that can be read and holds nothing of a conversation."""
    return f"The agent's own file ({_short(path)}) holds nothing that can be read."


def changed(path: Path, reading: ForeignReading, before: Ingested) -> str | None:
    """The sentence for a file, just read to its end, that no longer begins with what was read before;
    `None` if it does. Raises `OSError`."""
    named = f"The agent's own file ({_short(str(path))})"
    if reading.offset < before.offset:
        there = f"{reading.offset} of {before.offset} bytes are there"
        return f"{named} is shorter than it was: {there}. The rest is missing."
    comparable = before.prefix_hash.startswith(PREFIX_MADE)
    if not comparable or reading.prefix_hash(before.offset) == before.prefix_hash:
        return None
    others = f"its first {before.offset} bytes are others"
    return (
        f"{named} is not the one that was read before: {others}. What only the earlier one held is missing."
    )


def _short(path: str) -> str:
    home = os.path.expanduser("~")
    return short_path(path, home, os.path.realpath(home))
