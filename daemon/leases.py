"""The leases this daemon holds, and what a client is told when somebody else holds one."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from resumed.daemon.ports import processes
from resumed.daemon.ports.clock import Clock
from resumed.daemon.storage.layout import Layout
from resumed.daemon.storage.lease import Lease, LeaseHolder, acquire
from resumed.protocol.daemon import ClientInfo
from resumed.protocol.errors import ErrorCode, Holder, ResumedError


class Leases:
    """Takes and gives back leases of threads. `count` is how many are held here now."""

    def __init__(self, layout: Layout, clock: Clock) -> None:
        self.count = 0
        self._layout = layout
        self._clock = clock

    async def take(self, thread_id: str, client: ClientInfo) -> Lease:
        """Take the lease for a client. Raises `ResumedError` `threadBusy`, naming the holder."""
        owner = processes.owner()
        boot_id, namespace, pid, started = owner.split(":")
        holder = LeaseHolder(
            name=client.name,
            pid=client.pid or int(pid),
            since=self._clock.now(),
            boot_id=boot_id,
            pid_namespace=namespace,
            process_started_at=started,
        )
        taken = await asyncio.to_thread(acquire, self._layout, thread_id, holder)
        if isinstance(taken, LeaseHolder):
            raise ResumedError(
                ErrorCode.THREAD_BUSY,
                f"This conversation is open elsewhere: {taken.name or 'another program'}.",
                "Two at once would overwrite each other. Go there, or close it there first.",
                holder=Holder(name=taken.name, pid=taken.pid, since=taken.since),
                ways=("attach", "fork"),
            )
        self.count += 1
        return taken

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
