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

_NUMBER = re.compile(r"\.(\d+)\.jsonl")


class SegmentFile(msgspec.Struct, frozen=True, kw_only=True):
    """One file of a stream. `through` is the last `seq` that counts in it (`None`: all of them),
    `head` its first line when that is a `segment`, `version` the schema it was begun under."""

    path: Path
    number: int
    version: int
    head: Segment | None = None
    through: int | None = None


def segment_path(first: Path, number: int) -> Path:
    """Return the path of a stream's n-th file, given its first."""
    return first if number == 0 else first.with_name(f"{first.stem}.{number}.jsonl")


def segment_files(first: Path) -> tuple[SegmentFile, ...]:
    """Return the existing files of a stream in order, given its first."""
    files: list[SegmentFile] = []
    through: int | None = None
    for number in sorted(_numbers(first), reverse=True):
        path = segment_path(first, number)
        version, head = _head(path)
        files.append(
            SegmentFile(path=path, number=number, version=version, head=head, through=through),
        )
        if head is not None and (through is None or head.prev_seq < through):
            through = head.prev_seq
    return tuple(reversed(files))


def _numbers(first: Path) -> list[int]:
    numbers = [0] if first.exists() else []
    try:
        names = os.listdir(first.parent)
    except FileNotFoundError:
        return numbers
    for name in names:
        if name.startswith(first.stem):
            match = _NUMBER.fullmatch(name, len(first.stem))
            if match and int(match[1]) > 0:
                numbers.append(int(match[1]))
    return numbers


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
