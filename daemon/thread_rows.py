"""What a list shows of a thread, made of its record; and which of an agent's files is the thread's."""

import os
from collections.abc import Iterable

import msgspec

from resumed.daemon import records, scanning
from resumed.daemon.storage.layout import session_id_of
from resumed.daemon.storage.rows import FileCursor, ThreadRow
from resumed.daemon.views import state_word


def agents_file(files: Iterable[FileCursor]) -> FileCursor | None:
    """The agent's file of a thread that has these files; of several the one the agent would take: not
    archived, newest."""
    own = [cursor for cursor in files if cursor.head]
    return max(own, key=lambda cursor: (not is_archived(cursor), cursor.mtime_ns, cursor.path), default=None)


def own_sessions(files: Iterable[FileCursor]) -> tuple[str, ...]:
    """The runs that files of ours are of, which say that they are of one thread; the oldest first."""
    names = sorted(os.path.basename(cursor.path) for cursor in files if not cursor.head)
    return tuple(dict.fromkeys(session for name in names if (session := session_id_of(name)) is not None))


def is_archived(cursor: FileCursor) -> bool:
    """Whether the agent has put the conversation of this file away."""
    head = scanning.head_of(cursor)
    return head is not None and head.archived


def row_of_record(built: records.Built, source: records.Source, before: ThreadRow | None) -> ThreadRow:
    """A thread's row as its record tells it; `before` is the row until now. What only a file said that
    cannot be read now stays as it was listed."""
    record, place = built.record, built.record.states["worktree"]
    if before is not None and not record.events_read:
        return msgspec.structs.replace(before, damaged=True)
    row = ThreadRow(
        thread_id=record.thread_id,
        name=record.name,
        agent=record.agent,
        root=place.root,
        branch=place.branch,
        sha=place.sha,
        origin=place.origin,
        state=state_word(record),
        created_at=record.created_at,
        last_active_at=record.last_active_at,
        runs=sum(run.started for run in record.runs),
        archived=source.archived if built.lifecycle.archived is None else built.lifecycle.archived,
        damaged=bool(record.events_damaged),
        source=str(source.path) if source.path else source.listed_at or scanning.OWN,
        native_id=record.native_id,
        forked_from=record.forked_from,
    )
    if not built.unread or before is None:
        return row
    if not row.root:
        row = msgspec.structs.replace(
            row, root=before.root, branch=before.branch, sha=before.sha, origin=before.origin
        )
    last_active_at = max(row.last_active_at, before.last_active_at)
    return msgspec.structs.replace(row, last_active_at=last_active_at, runs=max(row.runs, before.runs))
