"""Finds what changed on disk since the index was written: agents' files and our own streams.

Blocking; runs on a worker thread. A file is looked into only when its identity, size or time differs,
or when it could not be read the last time. What is wrong with one file never hides another.
"""

import logging
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from resumed.daemon.agents.agent import Agent, ForeignHead, ForeignStore
from resumed.daemon.ports.regular import open_regular
from resumed.daemon.storage.layout import Layout
from resumed.daemon.storage.reader import Reading, is_sent
from resumed.daemon.storage.rows import FileCursor, ThreadRow
from resumed.protocol.ids import InvalidId, parse_uuid
from resumed.restore.events.session import SessionMeta

OWN = "own"
HEAD_BYTES = 1 << 16
_NEVER_THE_SAME = -1

_LOG = logging.getLogger(__name__)


class Scan(msgspec.Struct, kw_only=True):
    """What a scan found: rows and cursors of changed agents' files, threads whose own streams
    changed with the cursors of these, paths that are gone, notes for people, and further ones that hold
    until the next scan."""

    rows: list[ThreadRow] = []
    cursors: list[FileCursor] = []
    own_cursors: dict[str, list[FileCursor]] = {}
    gone: list[FileCursor] = []
    notes: list[str] = []
    notes_now: list[str] = []


class _FirstPayload(msgspec.Struct):
    thread_id: str = ""


class _FirstLine(msgspec.Struct):
    payload: _FirstPayload


_first_line = msgspec.json.Decoder(_FirstLine)
_head = msgspec.msgpack.Decoder(ForeignHead)


def scan(layout: Layout, agents: Iterable[Agent], known: dict[str, FileCursor]) -> Scan:
    """Compare every source with what is known of it."""
    found = Scan()
    present: set[str] = set()
    for agent in agents:
        if agent.store is None:
            continue
        for path in agent.store.files():
            present.add(str(path))
            _compare_foreign(found, agent, agent.store, path, known.get(str(path)))
    own_names: set[str] = set()
    for path in _own_files(layout):
        present.add(str(path))
        own_names.add(path.name)
        _compare_own(found, path, known.get(str(path)))
    for name, cursor in known.items():
        if name not in present and not _out_of_reach(Path(name)):
            _take_gone(found, cursor, own_names)
    return found


def head_of(cursor: FileCursor) -> ForeignHead | None:
    """The head that was remembered with a cursor of an agent's file."""
    return _head.decode(cursor.head) if cursor.head else None


def to_look_into_again(cursor: FileCursor) -> FileCursor:
    """The cursor of a file that the next scan finds changed, whatever is there."""
    return msgspec.structs.replace(cursor, size=_NEVER_THE_SAME)


def same_file(cursor: FileCursor, now: os.stat_result) -> bool:
    """Whether nothing shows that the file changed."""
    return (cursor.device, cursor.inode, cursor.size, cursor.mtime_ns) == (
        now.st_dev,
        now.st_ino,
        now.st_size,
        now.st_mtime_ns,
    )


def row_of_head(agent: str, head: ForeignHead) -> ThreadRow:
    """A thread's row as its agent's file alone tells it."""
    return ThreadRow(
        thread_id=head.thread_id,
        name=head.name or f"{agent} {head.created_at[:10]}",
        agent=agent,
        root=head.cwd,
        branch=head.branch,
        sha=head.sha,
        origin=head.origin,
        state=head.state,
        created_at=head.created_at,
        last_active_at=head.last_active_at,
        runs=1,
        archived=head.archived,
        damaged=head.damaged is not None,
        source=head.path,
        native_id=head.native_id,
        forked_from=head.forked_from,
    )


def damage_notes(cursors: Iterable[FileCursor]) -> dict[str, str]:
    """A sentence for people for each agent's file whose head is damaged, by its path."""
    heads = (head for cursor in cursors if (head := head_of(cursor)) is not None)
    return {
        head.path: f"The agent's file of “{head.name or Path(head.path).name}” is damaged: {head.damaged}"
        for head in heads
        if head.damaged
    }


def thread_of(path: Path) -> str:
    """The thread a stream file belongs to, empty if that can't be told: by its first line; by its name for
    a thread's own; for a later file of a run, or one that begins with a torn line, by what the run's stream
    begins with."""
    try:
        with open_regular(path) as source:
            thread_id = _first_line.decode(source.readline(HEAD_BYTES)).payload.thread_id
        return parse_uuid(thread_id)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError, InvalidId):
        pass
    stem = path.name.split(".")[0]
    try:
        return parse_uuid(stem)
    except InvalidId:
        pass
    try:
        whole = Reading(path.with_name(f"{stem}.jsonl"))
        first = next((event for event in whole if is_sent(event)), None)
        return parse_uuid(first.payload.thread_id) if first and isinstance(first.payload, SessionMeta) else ""
    except (OSError, InvalidId):
        return ""


def _compare_foreign(
    found: Scan, agent: Agent, store: ForeignStore, path: Path, cursor: FileCursor | None
) -> None:
    now = _stat(path)
    if now is None or (cursor is not None and same_file(cursor, now)):
        return
    if cursor is None and not stat.S_ISREG(now.st_mode):
        odd = f"{path.name} among the sessions of {agent.name} is no regular file; it was passed over."
        found.notes_now.append(odd)
        return
    try:
        head = store.head(path)
        if head is None:
            return
        head = _with_remembered(head, head_of(cursor) if cursor is not None else None)
        read = _cursor(path, now, head.thread_id, head)
    except Exception:  # other people's files hold what nobody thought of
        _LOG.exception("The beginning of %a could not be read.", str(path))
        found.notes.append(f"A session file of {agent.name} could not be read and is not listed.")
        return
    found.rows.append(row_of_head(agent.name, head))
    found.cursors.append(read)


def _with_remembered(head: ForeignHead, before: ForeignHead | None) -> ForeignHead:
    """What a file said before that cannot be read, or has lost its beginning, still says who and where
    its thread is."""
    is_lost = head.unread or (head.damaged is not None and not head.cwd)
    if not is_lost or before is None or before.thread_id != head.thread_id:
        return head
    return msgspec.structs.replace(
        before, path=head.path, archived=head.archived, damaged=head.damaged, unread=head.unread
    )


def _take_gone(found: Scan, cursor: FileCursor, own_names: set[str]) -> None:
    found.gone.append(cursor)
    # A run that was put away, or brought back, is found under its name in the other place.
    if not cursor.head and Path(cursor.path).name not in own_names:
        found.own_cursors.setdefault(cursor.thread_id, [])
        found.notes.append("A record of ours that had been written is gone.")


def _compare_own(found: Scan, path: Path, cursor: FileCursor | None) -> None:
    now = _stat(path)
    if now is None or (cursor is not None and same_file(cursor, now)):
        return
    if cursor is not None and now.st_size < cursor.size:
        found.notes.append("A record of ours is shorter than it was: what had been written is missing.")
    thread_id = cursor.thread_id if cursor is not None else thread_of(path)
    if not thread_id and _holds_events(path):
        told = f"{path.name} is of no conversation that can be told: its first line is damaged."
        found.notes_now.append(told)
    if thread_id:
        found.own_cursors.setdefault(thread_id, []).append(_cursor(path, now, thread_id, None))


def _holds_events(path: Path) -> bool:
    """Whether something that was sent is in the stream: a start that was cut off holds nothing."""
    try:
        whole = Reading(path.with_name(f"{path.name.split('.')[0]}.jsonl"))
        return any(is_sent(event) for event in whole)
    except OSError:
        return False


def _own_files(layout: Layout) -> Iterator[Path]:
    yield from (layout.home / "sessions").glob("*/*/*/rollout-*.jsonl")
    yield from (layout.home / "archived_sessions").glob("rollout-*.jsonl")
    yield from (layout.home / "threads").glob("*.jsonl")


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None


def _out_of_reach(path: Path) -> bool:
    """Whether it cannot be told that the file is gone: a folder above it is closed, the disk fails."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return False


def _cursor(path: Path, now: os.stat_result, thread_id: str, head: ForeignHead | None) -> FileCursor:
    cursor = FileCursor(
        path=str(path),
        device=now.st_dev,
        inode=now.st_ino,
        size=now.st_size,
        mtime_ns=now.st_mtime_ns,
        thread_id=thread_id,
        head=msgspec.msgpack.encode(head) if head is not None else b"",
    )
    return to_look_into_again(cursor) if head is not None and head.unread else cursor
