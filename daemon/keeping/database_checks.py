"""Checks of the indexes and of the kept contents. Read-only. Blocks."""

import os
from collections.abc import Iterator
from pathlib import Path

from resumed.daemon.keeping.findings import Finding
from resumed.daemon.storage import database_check, purges
from resumed.daemon.storage.database_check import Corrupt, Newer
from resumed.daemon.storage.layout import Layout
from resumed.daemon.storage.rows import FileCursor
from resumed.restore.wording import count


def indexes(layout: Layout) -> Iterator[Finding]:
    """Whether each workspace's index is there, whole, and as far as the records."""
    for folder in layout.workspace_folders():
        path = layout.index_path(folder.name)
        try:
            found = database_check.index(path)
        except FileNotFoundError:
            yield Finding(kind="index.absent", path=str(path), sentence="It is not there.")
            continue
        if isinstance(found, Corrupt):
            sentence = f"It can't be relied on: {found.reason}."
            yield Finding(kind="index.corrupt", path=str(path), sentence=sentence)
            continue
        yield from _compared(layout, path, found)


def contents(layout: Layout, named: set[str]) -> Iterator[Finding]:
    """Whether every content that a record names is there and is the one that was kept."""
    path = layout.blobs_path
    try:
        found = database_check.contents(path, sorted(named))
    except FileNotFoundError:
        if named:
            sentence = f"It is not there, and records name {count(len(named), 'content')} of it."
            yield Finding(kind="contents.missing", path=str(path), sentence=sentence)
        return
    if isinstance(found, Newer):
        yield Finding(kind="contents.newer", path=str(path), sentence="It was written by a newer version.")
    elif isinstance(found, Corrupt):
        sentence = f"It can't be relied on: {found.reason}."
        yield Finding(kind="contents.corrupt", path=str(path), sentence=sentence)
    else:
        for name in found.missing:
            sentence = f"The content {name[:12]}, which a record names, is not there."
            yield Finding(kind="contents.missing", path=str(path), sentence=sentence)
        for sentence in found.damaged.values():
            yield Finding(kind="contents.damaged", path=str(path), sentence=sentence)


def _compared(layout: Layout, index: Path, cursors: tuple[FileCursor, ...]) -> Iterator[Finding]:
    """What the index knows of our own files, beside what is there."""
    # What was removed for good, and the process that serves the workspace has yet to forget.
    removed = purges.to_forget(layout, index.parent.name)
    known = {cursor.path: cursor for cursor in cursors if not cursor.head and cursor.thread_id not in removed}
    present = {str(path): path.stat().st_size for path in _listed(layout)}
    names = {os.path.basename(path) for path in present}
    for path, cursor in sorted(known.items()):
        if path in present and present[path] < cursor.size:
            sentence = f"It had {count(cursor.size, 'byte')}; what is there has {present[path]}."
            yield Finding(kind="index.ahead", path=path, sentence=sentence)
        elif path not in present and os.path.basename(path) not in names:
            sentence = "It had been written and is gone."
            yield Finding(kind="index.ahead", path=path, sentence=sentence)
    behind = sum(path not in known or known[path].size < size for path, size in present.items())
    if behind:
        sentence = f"It has not read {behind} of {count(len(present), 'record')} to the end."
        yield Finding(kind="index.behind", path=str(index), sentence=sentence)


def _listed(layout: Layout) -> Iterator[Path]:
    """The files that an index reads."""
    yield from layout.sessions.glob("*/*/*/rollout-*.jsonl")
    yield from layout.archived_sessions.glob("rollout-*.jsonl")
    yield from (layout.home / "threads").glob("*.jsonl")
