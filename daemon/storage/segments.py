"""The files of one stream: `<stem>.jsonl`, then `<stem>.1.jsonl`, `<stem>.2.jsonl` and so on.

A later file begins with a `segment` event that says through which event the files before it count.
What stands behind that point in them was never acknowledged, and is passed over without complaint.
"""

import os
import re
from pathlib import Path

import msgspec

from resumed.daemon.ports.regular import open_regular
from resumed.daemon.storage.codec import MAX_LINE_BYTES, BadLine, decode
from resumed.restore.events import SCHEMA_VERSION
from resumed.restore.events.journal import Segment
from resumed.restore.events.session import SessionMeta
from resumed.restore.events.thread import ThreadMeta
from resumed.restore.events.worktree import WorktreeMeta

_FIRST = "jsonl"
_LATER = re.compile(r"([1-9][0-9]*)\.jsonl")


class SegmentFile(msgspec.Struct, frozen=True, kw_only=True):
    """One file of a stream. `through` is the last `seq` that counts in it (`None`: all of them),
    `head` its first line when that is a `segment`, `version` the schema it was begun under."""

    path: Path
    number: int
    version: int
    head: Segment | None = None
    through: int | None = None


class Listing:
    """Which files each stream has, by their names. A folder is listed when it is first asked about, and then
    remembered: thousands of streams cost one listing of each folder. What is made in it afterwards may not be
    seen, as if it had been looked at before; so ask one of your own where all that there is must count.

    Numbers are not to be guessed from one file to the next: the one between may be lost, or never was."""

    def __init__(self) -> None:
        self._folders: dict[Path, dict[str, list[int]]] = {}

    def numbers(self, first: Path) -> list[int]:
        """Return the numbers of a stream's files, lowest first, given its first file."""
        folder = self._folders.get(first.parent)
        if folder is None or 0 not in folder.get(first.stem, ()):
            # One whose first file is not known may have come, or have been moved here, since.
            folder = self._folders[first.parent] = _numbers(first.parent)
        return sorted(folder.get(first.stem, ()))

    def forget(self, folder: Path) -> None:
        """List this folder anew when it is next asked about."""
        self._folders.pop(folder, None)


def segment_path(first: Path, number: int) -> Path:
    """Return the path of a stream's n-th file, given its first."""
    return first if number == 0 else first.with_name(f"{first.stem}.{number}.jsonl")


def segment_files(first: Path, listing: Listing | None = None) -> tuple[SegmentFile, ...]:
    """Return the existing files of a stream in order, given its first; of those in `listing`, if given."""
    listing = listing or Listing()
    files: list[SegmentFile] = []
    through: int | None = None
    for number in reversed(listing.numbers(first)):
        path = segment_path(first, number)
        try:
            version, head = _head(path)
        except FileNotFoundError:
            listing.forget(first.parent)
            raise
        files.append(
            SegmentFile(path=path, number=number, version=version, head=head, through=through),
        )
        if head is not None and (through is None or head.prev_seq < through):
            through = head.prev_seq
    return tuple(reversed(files))


def _numbers(folder: Path) -> dict[str, list[int]]:
    """The numbers of the files of every stream in a folder, by the name that they share."""
    found: dict[str, list[int]] = {}
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return found
    for name in names:
        stem, _, rest = name.partition(".")
        if rest == _FIRST:
            found.setdefault(stem, []).append(0)
        elif match := _LATER.fullmatch(rest):
            found.setdefault(stem, []).append(int(match[1]))
    return found


def _head(path: Path) -> tuple[int, Segment | None]:
    with open_regular(path) as file:
        line = file.readline(MAX_LINE_BYTES)
    event = decode(line)
    if isinstance(event, BadLine):
        return SCHEMA_VERSION, None
    match event.payload:
        case Segment() as head:
            return head.schema_version, head
        case SessionMeta() | ThreadMeta() | WorktreeMeta() as meta:
            return meta.schema_version, None
        case _:
            return SCHEMA_VERSION, None
