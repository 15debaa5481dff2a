"""Asks whoever has a thread to let it go, so that somebody else may go on with it.

Nobody is made to stop in the middle: a run is let go only where no turn and no action of it is open. Where
another daemon has the thread it is asked over its socket, which the lease's hint names.
"""

import asyncio
import contextlib
from collections.abc import Callable
from pathlib import Path
from weakref import WeakKeyDictionary

from resumed.daemon.leases import Leases
from resumed.daemon.live import Live
from resumed.daemon.rpc.client import Client, ConnectionLost
from resumed.daemon.runtime import check_private_folder
from resumed.daemon.sessions import Sessions
from resumed.daemon.storage.layout import Layout
from resumed.daemon.storage.lease import LeaseHolder, holder_of
from resumed.daemon.threads import Threads
from resumed.daemon.version import VERSION
from resumed.protocol.converter import Malformed
from resumed.protocol.errors import ResumedError
from resumed.protocol.keeping import ThreadReleaseAsked, ThreadReleaseParams, ThreadReleaseResult

ANSWER_SECONDS = 5.0

Tell = Callable[[ThreadReleaseAsked], None]


class Releaser:
    """Asks, and lets go when it is asked. `tell` reaches every client here."""

    def __init__(
        self, threads: Threads, leases: Leases, sessions: Sessions, layout: Layout, tell: Tell
    ) -> None:
        self._threads = threads
        self._leases = leases
        self._sessions = sessions
        self._layout = layout
        self._tell = tell
        self._wanted: WeakKeyDictionary[Live, str] = WeakKeyDictionary()

    async def ask(self, thread: str, by: str) -> ThreadReleaseResult:
        """Ask for a thread on behalf of `by`."""
        thread_id = (await self._threads.find(thread)).thread_id
        live = self._sessions.of_thread(thread_id)
        if live is not None:
            self._wanted[live] = by
            released = await self.let_go_if_asked(live)
            if not released:
                self._say(live, by, released=False)
            return ThreadReleaseResult(
                thread_id=thread_id, released=released, asked=True, holder=live.lease.holder.name
            )
        holder = await asyncio.to_thread(holder_of, self._layout, thread_id)
        if holder is None:
            return ThreadReleaseResult(thread_id=thread_id, released=True)
        if holder.socket and holder.socket != self._leases.socket:
            return await self._ask_there(thread_id, by, holder)
        if holder.socket:
            # A restore of a client here is at work, or asks it something.
            self._tell(ThreadReleaseAsked(thread_id=thread_id, by=by, released=False))
        return ThreadReleaseResult(
            thread_id=thread_id, released=False, asked=bool(holder.socket), holder=holder.name
        )

    async def let_go_if_asked(self, live: Live) -> bool:
        """Let a run go that somebody has asked for, where nothing of it is open; returns whether it was."""
        by = self._wanted.get(live)
        if by is None or _is_at_work(live):
            return False
        del self._wanted[live]
        await self._sessions.let_go(live)
        self._say(live, by, released=True)
        return True

    def _say(self, live: Live, by: str, *, released: bool) -> None:
        asked = ThreadReleaseAsked(
            thread_id=live.thread_id, by=by, released=released, session_id=live.session_id
        )
        self._tell(asked)

    async def _ask_there(self, thread_id: str, by: str, holder: LeaseHolder) -> ThreadReleaseResult:
        """Ask the daemon that the hint names. One that is not there, or not ours, could not be asked."""
        with contextlib.suppress(OSError, ResumedError, ConnectionLost, Malformed, TimeoutError):
            async with asyncio.timeout(ANSWER_SECONDS):
                socket = Path(holder.socket)
                await asyncio.to_thread(check_private_folder, socket.parent)
                async with await Client.connect(socket) as daemon:
                    await daemon.initialize("resumed", VERSION)
                    asking = ThreadReleaseParams(thread_id=thread_id, by=by)
                    result: ThreadReleaseResult = await daemon.call("thread/release", asking)
                    return result
        return ThreadReleaseResult(thread_id=thread_id, released=False, holder=holder.name)


def _is_at_work(live: Live) -> bool:
    """Whether a turn is open, or an action of the last one or of none. What was cut off before that is open
    for ever."""
    last = live.lifecycle.last_turn
    return live.lifecycle.open_turn is not None or any(
        operation.turn in (None, last) for operation in live.operations.open.values()
    )
