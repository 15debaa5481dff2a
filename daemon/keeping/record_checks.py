"""Checks of every record: each line, each file, and whether what belongs together is there.

Read-only. Blocks. Of a record that somebody is writing, the end is not judged.
"""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from resumed.daemon.keeping.belongings import FOREIGN
from resumed.daemon.keeping.findings import Finding
from resumed.daemon.scanning import thread_of
from resumed.daemon.storage import disk
from resumed.daemon.storage.damage import Damage
from resumed.daemon.storage.layout import STREAM_KINDS, Layout
from resumed.daemon.storage.quarantine import is_copied
from resumed.daemon.storage.reader import Reading
from resumed.daemon.storage.segments import segment_files, segment_path
from resumed.restore.events import SCHEMA_VERSION
from resumed.restore.events.journal import RestoreClosed, RestorePlanned
from resumed.restore.events.session import (
    EntryAdded,
    OperationBegun,
    SessionEnded,
    SessionMeta,
    TurnStarted,
    WorktreeBound,
)
from resumed.restore.events.thread import SessionLinked
from resumed.restore.wording import count

_KINDS = {
    "firstLine": "record.firstLine",
    "badLine": "record.badLine",
    "gap": "record.missing",
    "duplicate": "record.order",
    "chain": "record.segment",
}
_GOING_ON = (EntryAdded, OperationBegun, RestoreClosed, RestorePlanned, SessionEnded, TurnStarted)


class Seen(msgspec.Struct, kw_only=True):
    """What was seen of all records: the contents that they name, which runs threads link, whose runs are
    there, which work trees runs were in, which records are empty, and what is wrong with those in which there
    is nothing but a torn line."""

    contents: set[str] = set()
    links: dict[str, set[str]] = {}
    runs: dict[str, str] = {}
    worktrees: set[str] = set()
    empty: dict[str, Path] = {}
    torn: dict[str, Finding] = {}


def records(layout: Layout, seen: Seen) -> Iterator[Finding]:
    """Read every record of the folder."""
    read: set[Path] = set()
    for kind in STREAM_KINDS:
        first: dict[str, Path] = {}
        for stream, path in layout.first_files(kind):
            if stream in first:
                sentence = "The same run is in two places: it was on its way from one to the other."
                yield Finding(kind="record.twoPlaces", path=str(path), sentence=sentence, stream=stream)
                read.update(file.path for file in segment_files(path))
                continue
            first[stream] = path
            yield from _record(layout, stream, path, seen, read)
    yield from _orphans(layout, read)
    yield from _related(layout, seen)


def _record(layout: Layout, stream: str, path: Path, seen: Seen, read: set[Path]) -> Iterator[Finding]:
    try:
        reading = Reading(path)
        files = {file.path.name: file for file in reading.files}
        read.update(file.path for file in files.values())
        for event in reading:
            seen.contents.update(event.blobs)
            match event.payload:
                case SessionLinked(session_id=session) if event.src.ref != FOREIGN:
                    seen.links.setdefault(stream.partition(":")[2], set()).add(session)
                case SessionMeta(worktree_id=str(worktree)) | WorktreeBound(worktree_id=str(worktree)):
                    seen.worktrees.add(worktree)
    except OSError as error:
        read.add(path)
        sentence = f"It can't be read: {error.strerror or error}."
        yield Finding(kind="record.unreadable", path=str(path), sentence=sentence, stream=stream)
        return
    if stream.startswith("session:") and reading.seq:
        seen.runs[stream.partition(":")[2]] = thread_of(path)
    newest = max(file.version for file in files.values())
    if newest > SCHEMA_VERSION:
        sentence = f"It was written by a newer version (schema {newest})."
        yield Finding(kind="record.newer", path=str(path), sentence=sentence, stream=stream)
    for damage in reading.damage:
        file = files[damage.file]
        kind = "record.segment" if _at_head(damage, file.number) else _KINDS[damage.kind]
        where = f"{damage.sentence} (at byte {damage.offset})"
        yield Finding(kind=kind, path=str(file.path), sentence=where, stream=stream)
    if disk.is_locked(layout.stream_lock_path(stream)):
        return
    for loose in reading.trailing:
        source = files[loose.file].path
        if loose.torn and not is_copied(layout.quarantine, loose):
            sentence = f"Its last line is cut off after {count(loose.length, 'byte')}."
            torn = Finding(kind="record.tornTail", path=str(source), sentence=sentence, stream=stream)
            if reading.seq:
                yield torn
            else:
                seen.torn[stream] = torn
    if not reading.seq and not any(file.path.stat().st_size for file in files.values()):
        seen.empty[stream] = path


def _at_head(damage: Damage, number: int) -> bool:
    """Whether events are missing right before a later file of a record."""
    return damage.kind == "gap" and number > 0 and damage.offset == 0


def _orphans(layout: Layout, read: set[Path]) -> Iterator[Finding]:
    for path in sorted(layout.stream_files()):
        if path.name.startswith(".") or path in read or not path.exists():
            continue
        first = segment_path(path.with_name(path.name.split(".")[0] + ".jsonl"), 0)
        sentence = f"It continues {first.name}, which is not there."
        if first.exists():
            sentence = "It has the name of no record of ours."
        yield Finding(kind="record.orphan", path=str(path), sentence=sentence)


def _related(layout: Layout, seen: Seen) -> Iterator[Finding]:
    for thread, sessions in seen.links.items():
        for session in sorted(sessions - seen.runs.keys()):
            how = _how_lost(layout, seen, f"session:{session}")
            if how:
                sentence = f"It has a run {session} whose record is {how}."
                yield Finding(kind="run.missing", path=str(layout.thread_path(thread)), sentence=sentence)
    # A run that was on its way to a conversation when its start was cut off is the first of none.
    resumed = {thread for session, thread in seen.runs.items() if thread and _went_on(layout, session)}
    for thread in sorted(resumed):
        how = _how_lost(layout, seen, f"thread:{thread}")
        if how:
            sentence = f"It is {how}, and runs of it are there."
            yield Finding(kind="thread.missing", path=str(layout.thread_path(thread)), sentence=sentence)
    yield from _empty(seen, {f"thread:{thread}" for thread in resumed})


def _how_lost(layout: Layout, seen: Seen, stream: str) -> str:
    if layout.find_stream(stream) is None:
        return "gone"
    if stream in seen.empty:
        return "empty"
    return "not readable any more" if stream in seen.torn else ""


def _empty(seen: Seen, told: set[str]) -> Iterator[Finding]:
    """Records in which nothing is. One that others speak of held something once."""
    told |= {f"session:{session}" for sessions in seen.links.values() for session in sessions}
    yield from (torn for stream, torn in seen.torn.items() if stream not in told)
    for stream, path in seen.empty.items():
        if stream.partition(":")[2] in seen.worktrees:
            sentence = "It is empty, and runs were in the work tree that it described."
            yield Finding(kind="worktree.lost", path=str(path), sentence=sentence, stream=stream)
        elif stream not in told:
            sentence = "It is empty: it was made, and nothing was written."
            yield Finding(kind="record.empty", path=str(path), sentence=sentence, stream=stream)


def _went_on(layout: Layout, session: str) -> bool:
    """Whether more is on record of a run than that it was started."""
    first = layout.find_stream(f"session:{session}")
    return first is not None and any(isinstance(event.payload, _GOING_ON) for event in Reading(first))
