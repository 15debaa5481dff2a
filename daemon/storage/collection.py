"""Removes contents that no event names, and gives their space back.

What an event may be about to name was touched a moment ago, and is spared. Collection does not begin
while anything that may name a content can't be read. It works in batches, each a transaction, and can
be killed anywhere: what is left to do is found again.
"""

import asyncio
import os
from collections.abc import Collection
from pathlib import Path

import msgspec

from resumed.daemon.failpoints import passage
from resumed.daemon.storage import blob_table, disk
from resumed.daemon.storage.appender import Now
from resumed.daemon.storage.blob_file import Work
from resumed.daemon.storage.blob_rows import digest_of, milliseconds
from resumed.daemon.storage.blob_table import Candidate
from resumed.daemon.storage.blobs import SPARED_SECONDS, Blobs
from resumed.daemon.storage.layout import STREAM_KINDS, Layout
from resumed.daemon.storage.reader import Reading
from resumed.restore.events import SCHEMA_VERSION

DAY_SECONDS = 24 * 3600
STEP_PAGES = 1024
"""Pages that one step gives back."""


class Collected(msgspec.Struct, frozen=True, kw_only=True):
    """What was done: contents removed and what they took, and what all others take, in bytes."""

    removed: int
    removed_bytes: int
    stored_bytes: int


class NotCollected(msgspec.Struct, frozen=True, kw_only=True):
    """Nothing was removed. `kind`: unreadable, damaged or newer (of the stream or file named), or busy:
    another process collects. `sentence` is for people."""

    kind: str
    stream: str
    sentence: str


class Removed(msgspec.Struct, frozen=True, kw_only=True):
    """What became of contents that were to be removed: how many are gone and the bytes that they took;
    how many an event still names; and which were spared, since an event may be about to name them."""

    removed: int = 0
    removed_bytes: int = 0
    needed: int = 0
    spared: tuple[str, ...] = ()


class Marks(msgspec.Struct, frozen=True):
    """The hashes, as 32 bytes each, of every content that an event names."""

    digests: frozenset[bytes]


async def collect(blobs: Blobs, layout: Layout, now: Now, cap_bytes: int = 0) -> Collected | NotCollected:
    """Remove contents that no event names, those touched longest ago first, until everything that is
    stored takes no more than `cap_bytes`; with 0 all of them. What an event names always stays, and what
    was touched within `SPARED_SECONDS`. Then give space back. `now` gives the time as RFC 3339.

    Raises `StateReadOnly`, or `StorageFailed` when the file of contents can't be used.
    """
    layout.check_writable()
    lock = await asyncio.to_thread(disk.lock, layout.collection_lock_path)
    if lock is None:
        return NotCollected(kind="busy", stream="", sentence="Another process collects kept contents now.")
    try:
        marks = await mark(layout)
        if isinstance(marks, NotCollected):
            return marks
        passage("collection.marked")
        collected = await sweep(blobs, marks, now, cap_bytes)
        await shrink(blobs)
        await asyncio.to_thread(os.utime, layout.collection_lock_path)
        return collected
    finally:
        os.close(lock)


def is_due(layout: Layout, now: Now) -> bool:
    """Whether any contents are kept here, and no process has collected for a day. Blocks."""
    if not layout.blobs_path.exists():
        return False
    try:
        collected_at = layout.collection_lock_path.stat().st_mtime * 1000
    except FileNotFoundError:
        return True
    return milliseconds(now()) - collected_at >= DAY_SECONDS * 1000


async def remove(blobs: Blobs, layout: Layout, names: Collection[str], before: int) -> Removed | NotCollected:
    """Remove those of the contents that no event names and that were not touched since `before`, in
    milliseconds since 1970. The caller knows that nobody is about to name one that was not.

    Raises as `collect`."""
    layout.check_writable()
    wanted = {digest for name in names if (digest := digest_of(name)) is not None}
    if not wanted:
        return Removed()
    lock = await asyncio.to_thread(disk.lock, layout.collection_lock_path)
    if lock is None:
        return NotCollected(kind="busy", stream="", sentence="Another process collects kept contents now.")
    try:
        marks = await mark(layout)
        if isinstance(marks, NotCollected):
            return marks
        due = sorted(wanted - marks.digests)
        removed: list[int] = []
        for start in range(0, len(due), blob_table.BATCH):
            removed += await blobs.file.write(_remove_before(due[start : start + blob_table.BATCH], before))
            passage("collection.removed")
        left = await blobs.file.read(lambda connection: blob_table.touched(connection, due))
        await shrink(blobs)
        return Removed(
            removed=len(removed),
            removed_bytes=sum(removed),
            needed=len(wanted) - len(due),
            spared=tuple(digest.hex() for digest in sorted(left)),
        )
    finally:
        os.close(lock)


async def mark(layout: Layout) -> Marks | NotCollected:
    """Read every stream, archived ones too, for what its events name."""
    digests: set[bytes] = set()
    read: set[Path] = set()
    before = await asyncio.to_thread(lambda: sorted(layout.stream_files()))
    # Again until nothing is new: one that is archived meanwhile may have been between two places.
    while unread := await asyncio.to_thread(_streams_besides, layout, read):
        for stream, path in unread:
            refusal = await asyncio.to_thread(_mark_stream, stream, path, digests)
            if isinstance(refusal, NotCollected):
                return refusal
            read |= {path, *refusal}
    for path in before:
        # What it continues is gone, say. One that came meanwhile names nothing that is not spared.
        if path not in read and path.exists():
            return _refused("unreadable", path.name, "is not part of a stream that can be read")
    return Marks(frozenset(digests))


async def sweep(blobs: Blobs, marks: Marks, now: Now, cap_bytes: int) -> Collected:
    """Remove what is not marked and was not touched, batch by batch. A content that is touched while
    this runs stays: each removal looks again, in its own transaction."""
    stored = await blobs.file.read(blob_table.stored_bytes)
    cutoff = _cutoff(now)
    removed: list[int] = []
    last = Candidate(-(1 << 62), b"", 0)
    while stored > cap_bytes:
        batch = await blobs.file.read(_untouched(cutoff, last))
        if not batch:
            break
        last = batch[-1]
        due = _over_cap(batch, marks, stored - cap_bytes)
        if due:
            gone = await blobs.file.write(_remove(due, now, cutoff))
            passage("collection.removed")
            removed += gone
            stored -= sum(gone)
    return Collected(removed=len(removed), removed_bytes=sum(removed), stored_bytes=stored)


async def shrink(blobs: Blobs) -> None:
    """Give free pages back to the file system, in steps that keep nobody waiting for long."""
    while True:
        ((free,),) = await blobs.file.outside("PRAGMA freelist_count")
        if not free:
            break
        await blobs.file.outside(f"PRAGMA incremental_vacuum({STEP_PAGES})")
        passage("collection.shrink")
        ((left,),) = await blobs.file.outside("PRAGMA freelist_count")
        if left == free:
            break
    await blobs.file.outside("PRAGMA wal_checkpoint(TRUNCATE)")


def _untouched(cutoff: int, last: Candidate) -> Work[list[Candidate]]:
    return lambda connection: blob_table.untouched(connection, cutoff, last)


def _remove(digests: list[bytes], now: Now, cutoff: int) -> Work[list[int]]:
    # Read again when the transaction is open and nobody can touch anything: a clock that was set back in
    # between must not make what was touched since look old.
    return lambda connection: blob_table.remove(connection, digests, min(cutoff, _cutoff(now)))


def _remove_before(digests: list[bytes], before: int) -> Work[list[int]]:
    return lambda connection: blob_table.remove(connection, digests, before)


def _cutoff(now: Now) -> int:
    return milliseconds(now()) - SPARED_SECONDS * 1000


def _over_cap(batch: list[Candidate], marks: Marks, over: int) -> list[bytes]:
    due: list[bytes] = []
    for candidate in batch:
        if over <= 0:
            break
        if candidate.digest not in marks.digests:
            due.append(candidate.digest)
            over -= candidate.stored
    return due


def _streams_besides(layout: Layout, read: set[Path]) -> list[tuple[str, Path]]:
    found = [entry for kind in STREAM_KINDS for entry in layout.first_files(kind)]
    return [(stream, path) for stream, path in found if path not in read]


def _mark_stream(stream: str, path: Path, digests: set[bytes]) -> NotCollected | list[Path]:
    """Take in what the events of one stream name, and return its files; or say why it can't be relied on."""
    try:
        reading = Reading(path)
        if any(file.version > SCHEMA_VERSION for file in reading.files):
            return _refused("newer", stream, "was written by a newer version")
        for event in reading:
            digests.update(digest for name in event.blobs if (digest := digest_of(name)) is not None)
    except FileNotFoundError:
        return []  # it is in another place now, and found there by the next look
    except OSError as error:
        return _refused("unreadable", stream, f"can't be read ({error.strerror})")
    if reading.damage:
        return _refused("damaged", stream, f"is damaged: {reading.damage[0].sentence}")
    return [file.path for file in reading.files]


def _refused(kind: str, stream: str, reason: str) -> NotCollected:
    sentence = f"No kept content was removed: {stream} {reason.rstrip('.')}."
    return NotCollected(kind=kind, stream=stream, sentence=sentence)
