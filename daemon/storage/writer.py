"""The one writer of a stream for any number of tasks: group commit on a thread of its own.

Whatever waits when the disk is free goes out with one write and one sync. An append returns only
after the sync, and `last_durable` moves only then. The event loop never waits for the disk.
"""

import asyncio
import queue
import threading
from collections.abc import Callable
from typing import NamedTuple, TypeVarTuple

from resumed.daemon.storage.appender import Appended, Appender, Group, Outcome
from resumed.daemon.storage.errors import StorageFailed

QUEUE_LIMIT = 1024
"""Appends that may wait; more of them wait in line before they are taken in."""

_GROUP_LIMIT = 256

Told = TypeVarTuple("Told")


class _Submission(NamedTuple):
    group: Group
    done: "asyncio.Future[tuple[Appended, ...]]"


class Writer:
    """Appends to one stream. Made inside a running event loop, and used from that loop. `last_durable`
    and `begun` are the appender's, as far as this loop has been told."""

    def __init__(self, appender: Appender) -> None:
        self._appender = appender
        self._loop = asyncio.get_running_loop()
        self._queue: queue.SimpleQueue[_Submission | None] = queue.SimpleQueue()
        self._room = asyncio.Semaphore(QUEUE_LIMIT)
        self._closed = False
        self._ended: asyncio.Future[None] = self._loop.create_future()
        self.last_durable = appender.seq
        self.begun = appender.begun
        threading.Thread(target=self._run, name="stream-writer", daemon=True).start()

    def knows(self, event_id: str) -> bool:
        """Tell whether an event of this id is durable."""
        return self._appender.knows(event_id)

    async def append(self, group: Group) -> tuple[Appended, ...]:
        """Append the events in order, contiguously, all or none; return when they are durable.

        Raises `EventConflict`, `EventRefused` or `StorageFailed`; none of the events is then on
        record under an acknowledged number, and sending them again is safe.
        """
        await self._room.acquire()
        if self._closed:
            self._room.release()
            raise StorageFailed("The stream is closed.")
        done: asyncio.Future[tuple[Appended, ...]] = self._loop.create_future()
        self._queue.put(_Submission(group, done))
        return await done

    async def close(self) -> None:
        """Take in nothing more, finish what waits, close the file and give up the lock."""
        if not self._closed:
            self._closed = True
            self._queue.put(None)
        await asyncio.shield(self._ended)

    def _run(self) -> None:
        open_ = True
        while open_:
            batch, open_ = self._batch()
            try:
                outcomes = self._appender.commit([submission.group for submission in batch])
            except Exception as error:  # whatever it is, nobody may wait for ever
                outcomes = [StorageFailed(f"Appending failed: {error!r}.") for _ in batch]
            reached = self._appender.seq, self._appender.begun
            if batch and not self._tell(self._settle, batch, outcomes, *reached):
                break
        self._appender.close()
        self._tell(self._ended.set_result, None)

    def _batch(self) -> tuple[list[_Submission], bool]:
        batch: list[_Submission] = []
        submission = self._queue.get()
        while submission is not None:
            batch.append(submission)
            if len(batch) == _GROUP_LIMIT:
                break
            try:
                submission = self._queue.get_nowait()
            except queue.Empty:
                return batch, True
        return batch, submission is not None

    def _tell(self, callback: Callable[[*Told], None], *told: *Told) -> bool:
        try:
            self._loop.call_soon_threadsafe(callback, *told)
        except RuntimeError:  # the loop is closed: there is nobody left to tell
            return False
        return True

    def _settle(
        self, batch: list[_Submission], outcomes: list[Outcome], last_durable: int, begun: bool
    ) -> None:
        self.last_durable, self.begun = last_durable, begun
        for submission, outcome in zip(batch, outcomes, strict=True):
            self._room.release()
            if submission.done.done():
                continue
            if isinstance(outcome, Exception):
                submission.done.set_exception(outcome)
            else:
                submission.done.set_result(outcome)
