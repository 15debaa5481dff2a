"""Runs of direct agents: begun, taken up again, and ended.

A client that goes away leaves its run as it is; the next Resume finds out what was open.
"""

import asyncio
import contextlib
import os
import uuid

from resumed.daemon.identity import Identities
from resumed.daemon.leases import Leases
from resumed.daemon.live import Live, event_of, not_open
from resumed.daemon.ports.clock import Clock
from resumed.daemon.ports.git import Git
from resumed.daemon.ports.git_command import GitFailed
from resumed.daemon.ports.policy import Policy
from resumed.daemon.rpc.connection import Client
from resumed.daemon.storage.streams import Streams
from resumed.daemon.threads import Threads
from resumed.protocol.errors import ErrorCode, ResumedError
from resumed.protocol.ids import parse_uuid
from resumed.protocol.sessions import SessionStartParams
from resumed.restore.events import SCHEMA_VERSION
from resumed.restore.events.session import (
    AgentRef,
    EnvironmentSeen,
    GitRef,
    ModelSet,
    PermissionsSet,
    SessionEnded,
    SessionMeta,
    WorktreeBound,
)
from resumed.restore.events.thread import SessionLinked, ThreadMeta, ThreadPatched
from resumed.restore.lifecycle import aborted
from resumed.restore.probes import CeilingSeen, RepositorySeen


class World:
    """What a run records of its surroundings."""

    def __init__(
        self, root: str, workspace_id: str, git: Git, identities: Identities, policy: Policy
    ) -> None:
        self.root = root
        self.workspace_id = workspace_id
        self.git = git
        self.identities = identities
        self.policy = policy

    async def repository(self) -> RepositorySeen | None:
        """The workspace's repository; `None` without one or when git does not answer."""
        try:
            seen = await self.git.repository(self.root)
        except GitFailed:
            return None
        return seen if isinstance(seen, RepositorySeen) else None

    def folder(self, cwd: str) -> str:
        """The canonical folder of a run. Raises `ResumedError` when it is not inside the workspace."""
        real = os.path.realpath(os.path.join(self.root, cwd))
        if real != self.root and not real.startswith(self.root.rstrip("/") + "/"):
            raise ResumedError(
                ErrorCode.WORKSPACE_REFUSED,
                f"{cwd} is not inside this workspace ({self.root}).",
                "Connect to the daemon of that folder.",
            )
        if not os.path.isdir(real):
            raise ResumedError(
                ErrorCode.WORKSPACE_REFUSED, f"{cwd} is not a folder.", "Name an existing folder."
            )
        return real


class Sessions:
    """The open runs of one workspace, by session id."""

    def __init__(
        self, threads: Threads, leases: Leases, streams: Streams, world: World, clock: Clock
    ) -> None:
        self._threads = threads
        self._leases = leases
        self._streams = streams
        self._world = world
        self._clock = clock
        self._open: dict[str, Live] = {}
        self._watches: set[asyncio.Task[None]] = set()

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
        """Begin a run, or take up one that a restore made or whose agent lost its connection."""
        cwd = self._world.folder(params.cwd)
        new_thread = params.thread_id is None
        thread_id = str(uuid.uuid4()) if params.thread_id is None else parse_uuid(params.thread_id)
        session_id = str(uuid.uuid4()) if params.session_id is None else parse_uuid(params.session_id)
        mine = self._open.get(session_id)
        if mine is not None and mine.client == client.id and mine.thread_id == thread_id:
            return mine
        if not new_thread:
            await self._threads.find(thread_id)
        lease = await self._leases.take(thread_id, client.info)
        live = Live(self._streams, thread_id, session_id, client.id, lease)
        self._threads.live[thread_id] = session_id
        try:
            if self._streams.exists(live.stream):
                await self._take_up(live)
            else:
                await self._begin(live, params, cwd, new_thread)
        except BaseException:
            self._threads.live.pop(thread_id, None)
            self._leases.give_back(lease)
            raise
        self._open[session_id] = live
        self._watch(client, live)
        await self._threads.changed(thread_id)
        return live

    async def end(self, live: Live, reason: str) -> None:
        """End a run cleanly."""
        await live.append(SessionEnded(reason=reason, clean=True))
        await self._close(live)

    async def note_head(self, live: Live) -> None:
        """Record where HEAD is when the agent has moved it."""
        seen, place = await self._world.repository(), live.place
        if seen is None or (seen.branch, seen.sha) == (place.branch, place.sha):
            return
        await live.append(_bound(seen, place.cwd, "agentTool"))

    async def close(self) -> None:
        """Let go of every run without ending it: its agent may come back."""
        for watch in self._watches:
            watch.cancel()
        await asyncio.gather(*self._watches, return_exceptions=True)
        for live in list(self._open.values()):
            await self._close(live)

    async def _begin(self, live: Live, params: SessionStartParams, cwd: str, new_thread: bool) -> None:
        seen = await self._world.repository()
        identity = await self._world.identities.identify(self._world.root)
        now = self._clock.now()
        previous = None if new_thread else await self._take_over(live)
        git = GitRef(sha=seen.sha, branch=seen.branch, origin=seen.origin) if seen else GitRef()
        agent = AgentRef(
            name=params.agent.name, version=params.agent.version or None, native_id=params.agent.native_id
        )
        meta = SessionMeta(
            schema_version=SCHEMA_VERSION,
            thread_id=live.thread_id,
            session_id=live.session_id,
            agent=agent,
            source="direct",
            cwd=cwd,
            created_at=now,
            reason="startup",
            resumed_from=previous,
            workspace_id=self._world.workspace_id,
            worktree_id=identity.worktree_id,
            repo_id=identity.repo_id,
            git=git,
            model=params.model,
        )
        if new_thread:
            thread = ThreadMeta(
                schema_version=SCHEMA_VERSION,
                thread_id=live.thread_id,
                agent=agent.name,
                storage_class="own",
                created_at=now,
                native_id=agent.native_id,
            )
            await self._streams.create(f"thread:{live.thread_id}", event_of(thread))
        await self._streams.create(live.stream, event_of(meta))
        link = SessionLinked(session_id=live.session_id, resumed_from=previous)
        named = [ThreadPatched(fields={"name": params.name})] if params.name else []
        await self._streams.append(f"thread:{live.thread_id}", *map(event_of, (link, *named)))
        built = await self._threads.built(live.thread_id)
        live.begin_from(built.record, built.lifecycle)
        await live.append(*await self._first_facts(params, cwd, seen))

    async def _first_facts(
        self, params: SessionStartParams, cwd: str, seen: RepositorySeen | None
    ) -> list[WorktreeBound | PermissionsSet | ModelSet | EnvironmentSeen]:
        facts: list[WorktreeBound | PermissionsSet | ModelSet | EnvironmentSeen] = [
            _bound(seen, cwd, "start")
            if seen
            else WorktreeBound(cwd=cwd, cause="start", root=self._world.root)
        ]
        if params.permissions is not None:
            ceiling = await self._world.policy.ceiling(params.agent.name)
            known = ceiling if isinstance(ceiling, CeilingSeen) else CeilingSeen()
            facts.append(
                PermissionsSet(
                    cause="start",
                    approval=params.permissions.approval,
                    sandbox=params.permissions.sandbox,
                    profile=params.permissions.profile,
                    mode=params.permissions.mode,
                    ceiling_approval=known.approval,
                    ceiling_sandbox=known.sandbox,
                )
            )
        if params.model is not None:
            facts.append(ModelSet(model=params.model, provider=params.provider, cause="start"))
        if params.agent.version:
            facts.append(EnvironmentSeen(agent_version=params.agent.version))
        return facts

    async def _take_over(self, live: Live) -> str | None:
        record = (await self._threads.built(live.thread_id)).record
        return record.runs[-1].session_id if record.runs else None

    async def _take_up(self, live: Live) -> None:
        events = await asyncio.to_thread(lambda: list(self._streams.read(live.stream)))
        meta = events[0].payload
        if not isinstance(meta, SessionMeta) or meta.thread_id != live.thread_id:
            raise ResumedError(
                ErrorCode.SESSION_EXISTS,
                f"The session {live.session_id} belongs to another thread.",
                "Leave session_id out to get a new one.",
            )
        if aborted(events) or any(isinstance(event.payload, SessionEnded) for event in events):
            raise _over(f"The session {live.session_id} has ended.")
        built = await self._threads.built(live.thread_id)
        if built.record.runs and built.record.runs[-1].session_id != live.session_id:
            raise _over("The conversation went on in a later run.")
        live.begin_from(built.record, built.lifecycle)
        live.last_durable = events[-1].seq

    def _watch(self, client: Client, live: Live) -> None:
        async def wait() -> None:
            await client.gone.wait()
            if self._open.get(live.session_id) is live:
                await self._close(live)

        watch = asyncio.create_task(wait())
        self._watches.add(watch)
        watch.add_done_callback(self._watches.discard)

    async def _close(self, live: Live) -> None:
        self._open.pop(live.session_id, None)
        self._threads.live.pop(live.thread_id, None)
        await self._streams.release(live.stream)
        await self._streams.release(f"thread:{live.thread_id}")
        self._leases.give_back(live.lease)
        with contextlib.suppress(OSError):
            await self._threads.changed(live.thread_id)


def _over(sentence: str) -> ResumedError:
    return ResumedError(ErrorCode.SESSION_ENDED, sentence, "Start another one for the same thread_id.")


def _bound(seen: RepositorySeen, cwd: str, cause: str) -> WorktreeBound:
    return WorktreeBound(
        cwd=cwd,
        cause=cause,
        session_root=os.path.relpath(cwd, seen.top_level),
        root=seen.top_level,
        worktree_id=seen.worktree_id,
        branch=seen.branch,
        sha=seen.sha,
    )
