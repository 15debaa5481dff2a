"""Named points at which a test can kill the process, to prove that a crash there loses nothing.

Armed by the environment variable `RESUMED_FAILPOINT=<name>:<n>`, read once, when this module is
first imported: the process sends itself SIGKILL at its n-th passage of the point. Unarmed, a passage
costs one comparison.
"""

import itertools
import os
import signal
from collections.abc import Iterator
from typing import NamedTuple

FAILPOINTS: dict[str, str] = {
    "stream.create": "a stream's file exists and is empty",
    "stream.declare": "a torn tail is copied to quarantine, the stream does not say so yet",
    "stream.write": "a group of events is numbered and encoded, nothing of it is written",
    "stream.sync": "a group of events is written, the disk has not confirmed it",
    "stream.acknowledge": "a group of events is durable, nobody has been told",
    "blob.commit": "a group of contents is written, its transaction is open",
    "blob.acknowledge": "a group of contents is durable, nobody has been told",
    "collection.marked": "collection knows what is needed, nothing is removed",
    "collection.remove": "a batch of contents is removed in an open transaction",
    "collection.removed": "a batch of contents is removed, its space is not given back",
    "collection.shrink": "a part of the space has been given back",
    "git": "git is about to change a repository, or has just ended by itself",
    "removal": "a work tree that a restore made is being taken away, between two parts of that",
    "registration": "what git kept of a work tree is about to be put back, or has just been",
    "moving.place": "a file of a run is in the other place too, not all of them are",
    "moving.placed": "a whole run is in both places",
    "moving.remove": "a run's first file is removed from the place that it left, others are not",
    "purge.begun": "a thread is on record as removed, all of it is still there",
    "purge.file": "a file of a thread that is being removed is gone, others are not",
    "purge.files": "all files of a thread that is being removed are gone, contents and index rows are not",
    "purge.contents": "its contents are gone too",
    "purge.indexes": "everything of it is gone, it is still on record as being removed",
    "import.contents": "a conversation from a file is checked and its contents are kept, it is not taken in",
    "import.decided": "a conversation from a file is taken in, none of its streams is in its place",
    "import.place": "a stream of a conversation from a file is in its place, others are not",
    "import.placed": "all streams of a conversation from a file are in their places",
    "journal": "a restore is about to write to, or has just written, its journal",
}


class Armed(NamedTuple):
    """One point that kills: `passages` yields the ordinal of each passage, `fatal` is the last one."""

    name: str
    fatal: int
    passages: Iterator[int]


def parse(setting: str) -> Armed | None:
    """Read a setting `<name>:<n>`; an empty one arms nothing.

    Raises `ValueError` for a name that is not in `FAILPOINTS` and for an `n` below 1, since a crash
    test with a misspelt point would pass without a crash.
    """
    if not setting:
        return None
    name, _, ordinal = setting.rpartition(":")
    if name not in FAILPOINTS or not ordinal.isascii() or not ordinal.isdecimal() or int(ordinal) < 1:
        raise ValueError(f"RESUMED_FAILPOINT must be <name>:<n>, with a name of {', '.join(FAILPOINTS)}")
    return Armed(name, int(ordinal), itertools.count(1))


_armed = parse(os.environ.get("RESUMED_FAILPOINT", ""))


def passage(name: str) -> None:
    """Count one passage of a point; at the fatal one the process is gone. Any thread may call it."""
    if _armed is not None and _armed.name == name and next(_armed.passages) == _armed.fatal:
        os.kill(os.getpid(), signal.SIGKILL)
