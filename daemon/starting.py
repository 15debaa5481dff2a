"""Puts the start of a run on record, or takes a run up again.

A run counts once its thread's stream names it: that is written last, so that a start that failed
before leaves nothing that anybody sees.
"""

import asyncio

from resumed.daemon.freezing import ensure_thread
from resumed.daemon.live import Live, event_of
from resumed.daemon.permission_words import check_not_wider
from resumed.daemon.ports.clock import Clock
from resumed.daemon.run_place import Where, World
from resumed.daemon.start_facts import first_facts, later_facts
from resumed.daemon.storage.stores import StreamStore
from resumed.daemon.threads import Threads
from resumed.daemon.uninterrupted import uninterrupted
from resumed.protocol.errors import ErrorCode, ResumedError
from resumed.protocol.sessions import SessionStartParams
from resumed.restore.events import SCHEMA_VERSION
from resumed.restore.events.envelope import Event, Payload
from resumed.restore.events.session import AgentRef, GitRef, SessionEnded, SessionMeta
from resumed.restore.events.thread import SessionLinked, ThreadMeta, ThreadPatched
from resumed.restore.lifecycle import aborted
from resumed.restore.snapshot import Record, Run


class Starter:
    """Starts runs whose lease is held."""

    def __init__(self, threads: Threads, streams: StreamStore, world: World, clock: Clock) -> None:
        self._threads = threads
        self._streams = streams
        self._world = world
        self._clock = clock

    async def begin(self, live: Live, params: SessionStartParams, where: Where, *, new_thread: bool) -> None:
        """Begin a new run; what is written is written as a whole."""
        identity = await self._world.identities.identify(self._world.root)
        record = None if new_thread else await self._threads.record(live.thread_id)
        seen = where.repository
        meta = SessionMeta(
            schema_version=SCHEMA_VERSION,
            thread_id=live.thread_id,
            session_id=live.session_id,
            agent=AgentRef(
                name=params.agent.name,
                version=params.agent.version or None,
                native_id=params.agent.native_id,
            ),
            source="direct",
            cwd=where.cwd,
            created_at=self._clock.now(),
            reason="startup",
            resumed_from=record.runs[-1].session_id if record is not None and record.runs else None,
            workspace_id=self._world.workspace_id,
            worktree_id=identity.worktree_id,
            repo_id=identity.repo_id,
            git=GitRef(sha=seen.sha, branch=seen.branch, origin=seen.origin) if seen else GitRef(),
            model=params.model,
        )
        ceiling = await self._world.ceiling(params.agent.name)
        facts = first_facts(params, self._world.bound(where), ceiling)
        await uninterrupted(self._write(live, record, (meta, facts), params.name))
        await self._fold(live)

    async def take_up(
        self, live: Live, params: SessionStartParams, where: Where, events: list[Event]
    ) -> None:
        """Go on in a run that is on record. Raises `ResumedError` `sessionExists`, `sessionEnded`, and
        `invalidParams` for an agent that may do more than the run was granted."""
        meta = events[0].payload
        if not isinstance(meta, SessionMeta) or meta.thread_id != live.thread_id:
            raise ResumedError(
                ErrorCode.SESSION_EXISTS,
                f"The session {live.session_id} belongs to another thread.",
                "Leave session_id out to get a new one.",
            )
        if aborted(events) or any(isinstance(event.payload, SessionEnded) for event in events):
            raise _over(f"The session {live.session_id} has ended.")
        if not await asyncio.to_thread(self._linked, live):
            await self._finish_start(live, meta, params.name)
        await self._fold(live)
        if live.lifecycle.runs and live.lifecycle.runs[-1].session_id != live.session_id:
            raise _over("The conversation went on in a later run.")
        if params.permissions is not None:
            check_not_wider(params.permissions, live.state("permissions"))
        ceiling = await self._world.ceiling(params.agent.name)
        facts = later_facts(live, params, self._world.bound(where), ceiling)
        if facts:
            await live.append(*facts)
        if params.name and params.name != live.lifecycle.given_name:
            await live.append_to_thread(event_of(ThreadPatched(fields={"name": params.name})))

    async def _write(
        self, live: Live, record: Record | None, run: tuple[SessionMeta, list[Payload]], name: str
    ) -> None:
        if record is not None:
            await ensure_thread(self._streams, record)
        meta, facts = run
        await self._streams.create(live.stream, event_of(meta), *map(event_of, facts))
        await self._link(live, meta, name)
        live.last_durable = 1 + len(facts)

    async def _link(self, live: Live, meta: SessionMeta, name: str) -> None:
        named = [ThreadPatched(fields={"name": name})] if name else []
        link = SessionLinked(session_id=live.session_id, resumed_from=meta.resumed_from)
        events = map(event_of, (link, *named))
        if await asyncio.to_thread(self._streams.exists, live.thread):
            await self._streams.append(live.thread, *events)
            return
        thread = ThreadMeta(
            schema_version=SCHEMA_VERSION,
            thread_id=live.thread_id,
            agent=meta.agent.name,
            storage_class="own",
            created_at=meta.created_at,
            native_id=meta.agent.native_id,
        )
        await self._streams.create(live.thread, event_of(thread), *events)

    def _linked(self, live: Live) -> bool:
        return self._streams.exists(live.thread) and any(
            isinstance(event.payload, SessionLinked) and event.payload.session_id == live.session_id
            for event in self._streams.read(live.thread)
        )

    async def _finish_start(self, live: Live, meta: SessionMeta, name: str) -> None:
        """The start of this run was cut off before its thread named it."""
        runs: tuple[Run, ...] = ()
        if await asyncio.to_thread(self._streams.exists, live.thread):
            runs = (await self._threads.record(live.thread_id)).runs
        if (runs[-1].session_id if runs else None) != meta.resumed_from:
            raise _over("The conversation went on in another run.")
        await uninterrupted(self._link(live, meta, name))

    async def _fold(self, live: Live) -> None:
        built = await self._threads.built(live.thread_id)
        live.begin_from(built.record, built.lifecycle)


def _over(sentence: str) -> ResumedError:
    return ResumedError(ErrorCode.SESSION_ENDED, sentence, "Start another one for the same thread_id.")
