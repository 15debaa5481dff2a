"""Freezes a thread for a restore: its lease, its record, and a new run to journal in.

A run that comes to nothing is ended and never resumed from; the agent's own file is never touched.
"""

import asyncio
import contextlib
import os
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

from resumed.daemon.agents.agent import Agent, ForeignStore
from resumed.daemon.ingesting import ingested
from resumed.daemon.leases import Leases
from resumed.daemon.own_records import FOREIGN
from resumed.daemon.ports.clock import Clock
from resumed.daemon.records import Built, agent_active_at
from resumed.daemon.row_refresh import refresh_row
from resumed.daemon.rpc.connection import Client
from resumed.daemon.storage.stores import StreamStore
from resumed.daemon.threads import Threads
from resumed.protocol.restore import Outcome
from resumed.restore.events import SCHEMA_VERSION
from resumed.restore.events.envelope import Event, Payload, Source, SourceKind
from resumed.restore.events.session import AgentRef, GitRef, SessionEnded, SessionMeta
from resumed.restore.events.thread import SessionLinked, ThreadMeta
from resumed.restore.snapshot import Record

KEPT = (Outcome.RESTORED, Outcome.PARTIAL)


def own_event(payload: Payload, ref: str) -> Event:
    """An event that we saw or decided ourselves."""
    return Event(payload=payload, event_id=str(uuid.uuid4()), src=Source(SourceKind.OBSERVED, ref))


class Frozen:
    """A frozen thread. `root` and `home` say where Resume was pressed."""

    def __init__(self, built: Built, streams: StreamStore, clock: Clock, workspace: "Here") -> None:
        self.record = built.record
        self.thread_id = built.record.thread_id
        self.session_id = str(uuid.uuid4())
        self.now = clock.now()
        self.root = workspace.root
        self.home = workspace.home
        self.launcher = workspace.agent.launcher if workspace.agent else None
        self._store = workspace.agent.store if workspace.agent else None
        self._unread = built.unread
        self._streams = streams
        self._workspace_id = workspace.workspace_id
        self._minted = False

    async def mint(self) -> None:
        """Begin the new run's stream, and link it to the thread."""
        record, place = self.record, self.record.states["worktree"]
        await ensure_thread(self._streams, record)
        meta = SessionMeta(
            schema_version=SCHEMA_VERSION,
            thread_id=record.thread_id,
            session_id=self.session_id,
            agent=AgentRef(name=record.agent, version=record.agent_version, native_id=record.native_id),
            source="resumed",
            cwd=place.cwd,
            created_at=self.now,
            reason="resume",
            resumed_from=record.runs[-1].session_id if record.runs else None,
            workspace_id=self._workspace_id,
            worktree_id=place.worktree_id,
            repo_id=place.repo_id,
            git=GitRef(sha=place.sha, branch=place.branch, origin=place.origin),
        )
        await self._streams.create(f"session:{self.session_id}", own_event(meta, "resume"))
        link = SessionLinked(session_id=self.session_id, resumed_from=meta.resumed_from)
        await self._streams.append(f"thread:{self.thread_id}", own_event(link, "resume"))
        self._minted = True
        if record.depends_on is not None and self._store is not None and not self._unread:
            await self._note_what_was_read(Path(record.depends_on), self._store)

    async def append(self, *payloads: Payload) -> None:
        """Make events durable in the new run's stream."""
        events = [own_event(payload, "restore") for payload in payloads]
        await self._streams.append(f"session:{self.session_id}", *events)

    async def end(self, outcome: Outcome) -> None:
        """A restore that did not come to a run ends its run at once."""
        if outcome not in KEPT:
            await self.append(SessionEnded(reason=outcome.value, clean=True))

    async def release(self) -> None:
        """Give the streams free for another daemon's hand."""
        await self._streams.release(f"session:{self.session_id}")
        await self._streams.release(f"thread:{self.thread_id}")

    async def _note_what_was_read(self, path: Path, store: ForeignStore) -> None:
        # Not of a file with something missing: what an earlier restore had read of it still counts.
        offset = self.record.through.get(f"foreign:{path.name}", 0)
        damaged = self.record.events_damaged
        await self.append(await asyncio.to_thread(ingested, path, store, offset, damaged))


class Here:
    """Where this daemon serves, and the adapter of the thread's agent."""

    def __init__(self, root: str, workspace_id: str, home: str, agent: Agent | None) -> None:
        self.root = root
        self.workspace_id = workspace_id
        self.home = home
        self.agent = agent


class Freezer:
    """Freezes threads of one workspace."""

    def __init__(self, threads: Threads, leases: Leases, streams: StreamStore, clock: Clock) -> None:
        self._threads = threads
        self._leases = leases
        self._streams = streams
        self._clock = clock

    @contextlib.asynccontextmanager
    async def held(self, thread: str, client: Client) -> AsyncIterator[str]:
        """Hold the thread's lease; yields its id. Raises `ResumedError`, `threadBusy` among others."""
        row = await self._threads.find(thread)
        async with self._leases.held(row.thread_id, client.info):
            yield row.thread_id

    async def agent_active_at(self, thread_id: str) -> str:
        """When the thread's agent last wrote to its own file; empty if it has none."""
        source = await self._threads.source(thread_id)
        return await asyncio.to_thread(agent_active_at, source)

    @contextlib.asynccontextmanager
    async def freeze(self, thread_id: str) -> AsyncIterator[Frozen]:
        """Read the record of a thread whose lease is held, for a restore. Raises as `Threads.resumable`."""
        built = await self._threads.resumable(thread_id)
        here = Here(
            root=self._threads.root,
            workspace_id=self._threads.workspace_id,
            home=os.path.expanduser("~"),
            agent=self._threads.agent(built.record.agent),
        )
        frozen = Frozen(built, self._streams, self._clock, here)
        try:
            yield frozen
        finally:
            await frozen.release()
            await refresh_row(self._threads, thread_id)


async def ensure_thread(streams: StreamStore, record: Record) -> None:
    """A thread known only from an agent's file gets a stream of its own, once; one whose stream has lost
    its runs lists them again."""
    stream = f"thread:{record.thread_id}"
    found = [own_event(SessionLinked(session_id=session), "found") for session in record.unlisted]
    if await asyncio.to_thread(streams.exists, stream):
        if found:
            await streams.append(stream, *found)
        return
    meta = ThreadMeta(
        schema_version=SCHEMA_VERSION,
        thread_id=record.thread_id,
        agent=record.agent,
        storage_class=FOREIGN if record.depends_on else "own",
        created_at=record.created_at,
        native_id=record.native_id,
    )
    links = [
        own_event(SessionLinked(session_id=run.session_id, native_id=record.native_id), FOREIGN)
        for run in record.runs
        if not run.own
    ]
    await streams.create(stream, own_event(meta, "thread"), *links, *found)
