"""The leases this daemon holds, and what a client is told when somebody else holds one."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Awaitable, Callable

from resumed.daemon.ports import processes
from resumed.daemon.ports.clock import Clock
from resumed.daemon.rpc.queues import KeyedQueues
from resumed.daemon.storage.layout import Layout
from resumed.daemon.storage.lease import Lease, LeaseHolder, acquire
from resumed.daemon.storage.stores import StreamStore
from resumed.daemon.uninterrupted import uninterrupted
from resumed.protocol.daemon import ClientInfo
from resumed.protocol.errors import ErrorCode, Holder, ResumedError

Taking = asyncio.Future[Lease | LeaseHolder]


Settle = Callable[[str], Awaitable[None]]


class Leases:
    """Takes and gives back leases of threads. `count` is how many are held here now. `settle` brings a
    thread whose lease was taken into order (a restore that was killed) before it is written to. `socket`
    is where others may ask this daemon to let one go."""

    def __init__(self, layout: Layout, clock: Clock) -> None:
        self.count = 0
        self._layout = layout
        self._clock = clock
        self._turns = KeyedQueues()
        self.settle: Settle = _nothing_to_settle
        self.socket = ""

    async def take(self, thread_id: str, client: ClientInfo) -> Lease:
        """Take the lease for a client. Raises `ResumedError` `threadBusy`, naming the holder.

        One that comes after the caller was cancelled is given back at once."""
        holder = self._holder(client)
        taking: Taking = asyncio.ensure_future(asyncio.to_thread(acquire, self._layout, thread_id, holder))
        try:
            taken = await asyncio.shield(taking)
        except asyncio.CancelledError:
            taking.add_done_callback(_give_up)
            raise
        except OSError as error:
            raise ResumedError(
                ErrorCode.STORAGE_FAILED,
                f"The conversation can't be held: {error.strerror}.",
                "Nothing was changed. Free some space, or see to the state folder.",
            ) from error
        if isinstance(taken, LeaseHolder):
            raise ResumedError(
                ErrorCode.THREAD_BUSY,
                f"This conversation is open elsewhere: {taken.name or 'another program'}.",
                "Two at once would overwrite each other. Go there, close it there first, or ask for it:"
                " resumed resume --take-over.",
                holder=Holder(name=taken.name, pid=taken.pid, since=taken.since),
                ways=("thread/release",),
            )
        self.count += 1
        return taken

    async def take_settled(self, thread_id: str, client: ClientInfo) -> Lease:
        """Take the lease and settle what a killed restore left, before anything is added to the thread."""
        lease = await self.take(thread_id, client)
        try:
            await self.settle(thread_id)
        except BaseException:
            self.give_back(lease)
            raise
        return lease

    def give_back(self, lease: Lease) -> None:
        """Release a lease taken here."""
        lease.release()
        self.count -= 1

    @contextlib.asynccontextmanager
    async def held(self, thread_id: str, client: ClientInfo) -> AsyncIterator[None]:
        """Hold the lease for as long as the block runs."""
        lease = await self.take(thread_id, client)
        try:
            yield
        finally:
            self.give_back(lease)

    @contextlib.asynccontextmanager
    async def turn(self, thread_id: str) -> AsyncIterator[None]:
        """Be the only short writer of the thread in this process for as long as the block runs."""
        async with self._turns.held(thread_id):
            yield

    @contextlib.asynccontextmanager
    async def writing(self, thread_id: str, client: ClientInfo, streams: StreamStore) -> AsyncIterator[str]:
        """Hold the lease and yield the name of the thread's stream, whose writer is given up before
        the lease is, however the block ends."""
        async with self.held(thread_id, client):
            await self.settle(thread_id)
            stream = f"thread:{thread_id}"
            try:
                yield stream
            finally:
                await uninterrupted(streams.release(stream))

    def _holder(self, client: ClientInfo) -> LeaseHolder:
        return LeaseHolder(
            name=client.name,
            pid=client.pid or os.getpid(),
            since=self._clock.now(),
            owner=processes.owner(),
            socket=self.socket,
        )


async def _nothing_to_settle(thread_id: str) -> None:
    """Leave the thread as it is."""


def _give_up(taking: Taking) -> None:
    if taking.cancelled() or taking.exception() is not None:
        return
    taken = taking.result()
    if isinstance(taken, Lease):
        taken.release()
