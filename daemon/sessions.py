"""The open runs of direct agents: begun, taken up again, and ended.

A client that goes away leaves its run as it is; the next Resume finds out what was open.
"""

import asyncio
import contextlib
import uuid

from resumed.daemon.leases import Leases
from resumed.daemon.live import Live, Writing, not_open
from resumed.daemon.permission_words import check_words
from resumed.daemon.ports.clock import Clock
from resumed.daemon.row_refresh import refresh_row
from resumed.daemon.rpc.connection import Client
from resumed.daemon.rpc.queues import KeyedQueues
from resumed.daemon.run_place import Where, World
from resumed.daemon.start_facts import bound
from resumed.daemon.starting import Starter
from resumed.daemon.storage.errors import StorageError
from resumed.daemon.threads import Threads
from resumed.daemon.uninterrupted import uninterrupted
from resumed.protocol.ids import parse_uuid
from resumed.protocol.sessions import SessionStartParams
from resumed.restore.events.envelope import Event
from resumed.restore.events.session import SessionEnded, SessionMeta


class Sessions:
    """The open runs of one workspace, by session id."""

    def __init__(
        self, threads: Threads, leases: Leases, writing: Writing, world: World, clock: Clock
    ) -> None:
        self._threads = threads
        self._leases = leases
        self._writing = writing
        self._streams = writing.streams
        self._world = world
        self._starter = Starter(threads, writing.streams, world, clock)
        self._starting = KeyedQueues()
        self._open: dict[str, Live] = {}
        self._watches: dict[str, asyncio.Task[None]] = {}
        self._closing: set[asyncio.Task[None]] = set()

    def of(self, client: Client, session_id: str) -> Live:
        """The client's open run. Raises `ResumedError` `sessionNotFound`."""
        live = self._open.get(parse_uuid(session_id))
        if live is None or live.client != client.id:
            raise not_open(session_id)
        return live

    def of_thread(self, thread_id: str) -> Live | None:
        """The open run of a thread, whoever has it."""
        return next((live for live in self._open.values() if live.thread_id == thread_id), None)

    async def start(self, client: Client, params: SessionStartParams) -> Live:
        """Begin a run, or take up one that a restore made or whose agent lost its connection.

        Whatever fails, or a cancellation, leaves the thread free for the next one."""
        if params.permissions is not None:
            check_words(params.permissions.approval, params.permissions.sandbox, params.permissions.mode)
        where = await self._world.where(params.cwd)
        session_id = str(uuid.uuid4()) if params.session_id is None else parse_uuid(params.session_id)
        async with self._starting.held(session_id):
            return await self._start(client, params, where, session_id)

    async def end(self, live: Live, reason: str) -> None:
        """End a run cleanly."""
        await uninterrupted(self._end(live, reason))

    async def let_go(self, live: Live) -> None:
        """Give a run's thread free without ending the run: its agent may take it up again."""
        await uninterrupted(self._close(live))

    async def note_head(self, live: Live) -> None:
        """Record where HEAD is when it has moved, whoever moved it."""
        place = live.place
        seen = await self._world.repository(place.cwd)
        if seen is None or seen.top_level != place.root:
            return
        if (seen.branch, seen.sha) != (place.branch, place.sha):
            await live.append(bound(seen, place.cwd, "observed"))

    async def close(self) -> None:
        """Let go of every run without ending it: its agent may come back."""
        for watch in self._watches.values():
            watch.cancel()
        for live in list(self._open.values()):
            self._begin_closing(live)
        await asyncio.gather(*self._closing, return_exceptions=True)

    async def _start(self, client: Client, params: SessionStartParams, where: Where, session_id: str) -> Live:
        mine = self._open.get(session_id)
        thread_id = None if params.thread_id is None else parse_uuid(params.thread_id)
        if mine is not None and mine.client == client.id and thread_id in (None, mine.thread_id):
            return mine
        events = await asyncio.to_thread(self._events, session_id)
        if thread_id is not None:
            await self._threads.find(thread_id)
        elif events:
            thread_id = _thread_of(events[0])
        new_thread = thread_id is None
        thread_id = thread_id or str(uuid.uuid4())
        lease = await self._leases.take_settled(thread_id, client.info)
        live = Live(self._writing, thread_id, session_id, client.id, lease)
        self._threads.live[thread_id] = session_id
        try:
            # What was settled may have moved HEAD.
            where = await self._world.where(params.cwd)
            if events:
                await self._starter.take_up(live, params, where, events)
            else:
                await self._starter.begin(live, params, where, new_thread=new_thread)
        except BaseException:
            await uninterrupted(self._give_up(live, params))
            raise
        self._open[session_id] = live
        self._watches[session_id] = asyncio.create_task(self._watch(client, live))
        await refresh_row(self._threads, thread_id)
        return live

    def _events(self, session_id: str) -> list[Event]:
        stream = f"session:{session_id}"
        return list(self._streams.read(stream)) if self._streams.exists(stream) else []

    async def _give_up(self, live: Live, params: SessionStartParams) -> None:
        # Under an id of its own the client may send it again, and goes on where this one stopped.
        if params.session_id is None and live.last_durable:
            with contextlib.suppress(StorageError):
                await live.append(SessionEnded(reason="notStarted", clean=True))
        await self._let_go(live)

    async def _watch(self, client: Client, live: Live) -> None:
        await client.gone.wait()
        self._begin_closing(live)

    def _begin_closing(self, live: Live) -> None:
        closing = asyncio.create_task(self._close(live))
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)

    async def _end(self, live: Live, reason: str) -> None:
        await live.append(SessionEnded(reason=reason, clean=True))
        await self._close(live)

    async def _close(self, live: Live) -> None:
        if self._open.get(live.session_id) is not live:
            return
        del self._open[live.session_id]
        self._watches.pop(live.session_id).cancel()
        await self._let_go(live)
        await refresh_row(self._threads, live.thread_id)

    async def _let_go(self, live: Live) -> None:
        await live.close()
        self._threads.live.pop(live.thread_id, None)
        try:
            await self._streams.release(live.stream)
            await self._streams.release(live.thread)
        finally:
            self._leases.give_back(live.lease)


def _thread_of(first: Event) -> str | None:
    return first.payload.thread_id if isinstance(first.payload, SessionMeta) else None
