"""What the index holds, as values, and how they become SQLite columns.

Text that may come from a file system or an agent is stored as bytes, surrogates included: it need
not be valid Unicode. Nothing in a row is the truth; all of it can be made again from streams and files.
"""

import base64
import binascii
from typing import Any

import msgspec

from resumed.daemon.storage.errors import CursorRefused

SqlValue = str | int | bytes | None


class ThreadRow(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A thread as a list shows it. `source` is `own` or the path of the agent's file; `runs` counts
    sessions; times are RFC 3339 in UTC with milliseconds, so that text order is time order."""

    thread_id: str
    name: str
    agent: str
    root: str
    state: str
    created_at: str
    last_active_at: str
    source: str
    branch: str | None = None
    sha: str | None = None
    origin: str | None = None
    runs: int = 0
    archived: bool = False
    damaged: bool = False
    native_id: str | None = None
    forked_from: str | None = None


class FileCursor(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """How far an agent's file was read: its identity then, and `head`, what its reader remembers."""

    path: str
    device: int
    inode: int
    size: int
    mtime_ns: int
    thread_id: str
    head: bytes


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True):
    """A fold put aside under a key; `saved_at` is RFC 3339 in UTC."""

    key: str
    thread_id: str
    saved_at: str
    body: bytes


class RecordedPlace(msgspec.Struct, frozen=True):
    """Where a thread ran, as recorded: its folder, and the repository and commit there."""

    root: str
    origin: str | None
    sha: str | None


class PageRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Which rows: `roots` are folders, each with all below it (`None`: everywhere); `cursor` is the
    `next_cursor` of the page before."""

    limit: int = 50
    cursor: str | None = None
    archived: bool = False
    roots: tuple[str, ...] | None = None


class Page(msgspec.Struct, frozen=True):
    """Rows by `last_active_at`, latest first; `next_cursor` is `None` on the last page."""

    rows: tuple[ThreadRow, ...]
    next_cursor: str | None


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """How many of each the index holds."""

    threads: int
    archived: int
    files: int
    checkpoints: int


SCHEMA = (
    """CREATE TABLE threads (
        thread_id TEXT PRIMARY KEY, name BLOB NOT NULL, agent BLOB NOT NULL, root BLOB NOT NULL,
        state TEXT NOT NULL, created_at TEXT NOT NULL, last_active_at TEXT NOT NULL, source BLOB NOT NULL,
        branch BLOB, sha BLOB, origin BLOB, runs INTEGER NOT NULL, archived INTEGER NOT NULL,
        damaged INTEGER NOT NULL, native_id BLOB, forked_from TEXT, folded_name BLOB NOT NULL
    ) WITHOUT ROWID""",
    "CREATE INDEX threads_by_activity ON threads (archived, last_active_at, thread_id)",
    """CREATE TABLE files (
        path BLOB PRIMARY KEY, device INTEGER NOT NULL, inode INTEGER NOT NULL, size INTEGER NOT NULL,
        mtime_ns INTEGER NOT NULL, thread_id TEXT NOT NULL, head BLOB NOT NULL
    )""",
    """CREATE TABLE checkpoints (
        key TEXT PRIMARY KEY, thread_id TEXT NOT NULL, saved_at TEXT NOT NULL, body BLOB NOT NULL
    )""",
    "CREATE INDEX checkpoints_by_thread ON checkpoints (thread_id)",
)

THREAD_COLUMNS = (
    "thread_id, name, agent, root, state, created_at, last_active_at, source, branch, sha, origin, runs,"
    " archived, damaged, native_id, forked_from"
)
FILE_COLUMNS = "path, device, inode, size, mtime_ns, thread_id, head"
CHECKPOINT_COLUMNS = "key, thread_id, saved_at, body"

_HIGH_BIT = 1 << 63


def thread_values(row: ThreadRow) -> tuple[SqlValue, ...]:
    """Return a row's columns, `THREAD_COLUMNS` and then the name as it is searched."""
    return (
        row.thread_id,
        pack(row.name),
        pack(row.agent),
        pack(row.root),
        row.state,
        row.created_at,
        row.last_active_at,
        pack(row.source),
        _pack_optional(row.branch),
        _pack_optional(row.sha),
        _pack_optional(row.origin),
        row.runs,
        row.archived,
        row.damaged,
        _pack_optional(row.native_id),
        row.forked_from,
        pack(row.name.casefold()),
    )


def thread_row(values: tuple[Any, ...]) -> ThreadRow:
    """Make a row of the columns `THREAD_COLUMNS`."""
    return ThreadRow(
        thread_id=values[0],
        name=unpack(values[1]),
        agent=unpack(values[2]),
        root=unpack(values[3]),
        state=values[4],
        created_at=values[5],
        last_active_at=values[6],
        source=unpack(values[7]),
        branch=_unpack_optional(values[8]),
        sha=_unpack_optional(values[9]),
        origin=_unpack_optional(values[10]),
        runs=values[11],
        archived=bool(values[12]),
        damaged=bool(values[13]),
        native_id=_unpack_optional(values[14]),
        forked_from=values[15],
    )


def file_values(file: FileCursor) -> tuple[SqlValue, ...]:
    """Return a file cursor's columns, `FILE_COLUMNS`."""
    identity = (_signed(file.device), _signed(file.inode))
    return (pack(file.path), *identity, file.size, file.mtime_ns, file.thread_id, file.head)


def file_cursor(values: tuple[Any, ...]) -> FileCursor:
    """Make a file cursor of the columns `FILE_COLUMNS`."""
    return FileCursor(
        path=unpack(values[0]),
        device=values[1] % (2 * _HIGH_BIT),
        inode=values[2] % (2 * _HIGH_BIT),
        size=values[3],
        mtime_ns=values[4],
        thread_id=values[5],
        head=values[6],
    )


def checkpoint_values(checkpoint: Checkpoint) -> tuple[SqlValue, ...]:
    """Return a checkpoint's columns, `CHECKPOINT_COLUMNS`."""
    return checkpoint.key, checkpoint.thread_id, checkpoint.saved_at, checkpoint.body


def recorded_place(values: tuple[Any, ...]) -> RecordedPlace:
    """Make a recorded place of the columns `root`, `origin` and `sha`."""
    root, origin, sha = values
    return RecordedPlace(unpack(root), _unpack_optional(origin), _unpack_optional(sha))


def next_cursor(row: ThreadRow) -> str:
    """Return the opaque cursor of the rows after this one."""
    return base64.urlsafe_b64encode(msgspec.json.encode((row.last_active_at, row.thread_id))).decode()


def parse_cursor(cursor: str) -> tuple[str, str]:
    """Return `last_active_at` and `thread_id` of the row that a page goes on after."""
    try:
        return msgspec.json.decode(base64.b64decode(cursor, b"-_", validate=True), type=tuple[str, str])
    except (ValueError, binascii.Error, msgspec.DecodeError):
        raise CursorRefused("The cursor is not one of this list; begin without one.") from None


def pack(text: str) -> bytes:
    """Return text as bytes, whatever surrogates it holds."""
    return text.encode("utf-8", "surrogatepass")


def unpack(stored: bytes) -> str:
    """Return the text that `pack` was given."""
    return stored.decode("utf-8", "surrogatepass")


def _pack_optional(text: str | None) -> bytes | None:
    return None if text is None else pack(text)


def _unpack_optional(stored: bytes | None) -> str | None:
    return None if stored is None else unpack(stored)


def _signed(number: int) -> int:
    """SQLite's integers are signed; device and inode numbers may use all 64 bits."""
    return number - 2 * _HIGH_BIT if number >= _HIGH_BIT else number
