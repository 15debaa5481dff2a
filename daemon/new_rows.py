"""Makes the rows of threads that the index does not know yet, many in one transaction.

An index that is made anew has thousands of them; the lists show what there is after each transaction.
"""

import asyncio
import itertools
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Sequence

import msgspec

from resumed.daemon import records, thread_rows
from resumed.daemon.storage import purges
from resumed.daemon.storage.errors import IndexDamaged, IndexFailed
from resumed.daemon.storage.index import Index
from resumed.daemon.storage.layout import Layout
from resumed.daemon.storage.rows import Checkpoint, FileCursor, ThreadRow
from resumed.daemon.storage.stores import StreamReader, StreamStore

AT_ONCE = 64
EVENTS_AT_ONCE = 4096
"""Threads, and events of them, that are read before their rows are written."""

_LOG = logging.getLogger(__name__)


class Unlisted(msgspec.Struct, frozen=True):
    """A thread without a row, and the files that are read for it."""

    source: records.Source
    read: Sequence[FileCursor]


class Place(msgspec.Struct, frozen=True):
    """Where rows are made and written. `forgotten` are the threads that were removed for good meanwhile."""

    index: Index
    layout: Layout
    streams: StreamStore
    forgotten: set[str]


class Made(msgspec.Struct, frozen=True, kw_only=True):
    """What was made of one: its row (`None`: nothing is on record of it) and the checkpoint of its fold.
    `failed`: it could not be folded, or not be written."""

    of: Unlisted
    row: ThreadRow | None = None
    checkpoint: bytes | None = None
    failed: bool = False


async def put(
    place: Place, unlisted: Iterable[Unlisted], now: Callable[[], str]
) -> AsyncIterator[list[Made]]:
    """Make rows and write them; yields what was made of some of the threads after it is written. One that
    is being removed, or was meanwhile, is left out. The threads are asked for as they are due.

    Raises `IndexDamaged`."""
    coming, due = iter(unlisted), list[Unlisted]()
    glance = place.streams.glance()
    while due := [*due, *itertools.islice(coming, AT_ONCE - len(due))]:
        taken, made = await asyncio.to_thread(_make, place.layout, place.streams, glance, due)
        del due[:taken]
        # Whoever forgets one after this comes after this writing, too.
        made = [one for one in made if one.of.source.thread_id not in place.forgotten]
        try:
            await place.index.put_new_rows(
                [one.row for one in made if one.row is not None],
                [cursor for one in made if not one.failed for cursor in one.of.read],
                [_checkpoint(one.of, one.checkpoint, now()) for one in made if one.checkpoint is not None],
            )
        except IndexDamaged:
            raise
        except IndexFailed:
            _LOG.exception("%d rows could not be written.", len(made))
            made = [Made(of=one.of, failed=True) for one in made]
        yield made


def _make(
    layout: Layout, streams: StreamStore, glance: StreamReader, unlisted: Sequence[Unlisted]
) -> tuple[int, list[Made]]:
    """Make the rows of these, or of the first of them if they have much on record; returns how many were
    taken. Blocks."""
    made: list[Made] = []
    taken = events = 0
    while taken < len(unlisted) and events < EVENTS_AT_ONCE:
        one = unlisted[taken]
        taken += 1
        try:
            built = records.build(glance, one.source, None)
            if built.record.damage:
                # A file may have come, or have been moved, since the glance: only a look of its own tells.
                built = records.build(streams, one.source, None)
        except Exception:  # whatever its record holds, the other threads are listed
            _LOG.exception("The row of %s could not be made.", one.source.thread_id)
            made.append(Made(of=one, failed=True))
            continue
        events += built.record.events_read
        if purges.is_begun(layout, one.source.thread_id):
            # Only after reading: what was read meanwhile may be a part of it.
            _LOG.info("The row of %s is not made: it is being removed.", one.source.thread_id)
            continue
        is_nothing = not built.record.events_read and not built.record.damage
        row = None if is_nothing else thread_rows.row_of_record(built, one.source, None)
        made.append(Made(of=one, row=row, checkpoint=built.checkpoint))
    return taken, made


def _checkpoint(one: Unlisted, body: bytes, now: str) -> Checkpoint:
    thread_id = one.source.thread_id
    return Checkpoint(key=thread_id, thread_id=thread_id, saved_at=now, body=body)
