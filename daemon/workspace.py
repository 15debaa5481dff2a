"""The composition root: everything one workspace's daemon is made of."""

import asyncio
import contextlib
import logging
import os
import uuid

from resumed.daemon.agents import AGENTS
from resumed.daemon.checker import Checker
from resumed.daemon.collecting import collect_when_idle
from resumed.daemon.freezing import Freezer
from resumed.daemon.identity import Identities, IdentityFailed
from resumed.daemon.keeping.archive import Archive
from resumed.daemon.keeping.export import Exporter
from resumed.daemon.keeping.importing import Importer
from resumed.daemon.keeping.purge import Purger
from resumed.daemon.leases import Leases
from resumed.daemon.live import Writing
from resumed.daemon.masking import Masker
from resumed.daemon.observe import Observer
from resumed.daemon.perform_checks import Tools
from resumed.daemon.ports import processes
from resumed.daemon.ports.clock import SystemClock
from resumed.daemon.ports.git import Git
from resumed.daemon.ports.git_command import GitCommand, GitFailed
from resumed.daemon.ports.git_write import GitWriter
from resumed.daemon.ports.policy import Policy
from resumed.daemon.recovery import Recoverer
from resumed.daemon.registrations import Registrations
from resumed.daemon.releasing import Releaser
from resumed.daemon.restorer import Restorer
from resumed.daemon.rpc.application import Broadcast, StatusFields
from resumed.daemon.run_place import World
from resumed.daemon.runtime import workspace_id
from resumed.daemon.sessions import Sessions
from resumed.daemon.storage.blobs import Blobs
from resumed.daemon.storage.collection import Collected, NotCollected, collect, is_due
from resumed.daemon.storage.errors import StorageError
from resumed.daemon.storage.index import Index
from resumed.daemon.storage.layout import Layout
from resumed.daemon.storage.streams import Streams
from resumed.daemon.surroundings import Surroundings
from resumed.daemon.threads import Store, Threads
from resumed.daemon.todo_lists import TodoLists
from resumed.protocol.keeping import ThreadReleaseAsked
from resumed.protocol.threads import ThreadSummary, ThreadUpdated
from resumed.restore.events.envelope import Event, Source, SourceKind
from resumed.restore.events.worktree import DaemonRun

_LOG = logging.getLogger(__name__)


class Workspace:
    """An opened workspace. The attributes are what handlers use. `failure` says why the last write
    that was tried was refused by the disk, if it was. Git changes repositories under `users_umask`."""

    def __init__(
        self, root: str, layout: Layout, index: Index, broadcast: Broadcast, users_umask: int
    ) -> None:
        clock, git = SystemClock(), Git(GitCommand())
        identifier = workspace_id(os.fsencode(root))
        self.broadcast = broadcast
        self.failure = ""
        self.key = layout.key
        self.layout = layout
        self.blobs = Blobs(layout, clock.now, self._note_loss)
        self.streams = Streams(layout, clock.now, self.blobs.absent)
        self.leases = Leases(layout, clock)
        self.identities = Identities(git, self.streams, layout.home / "identity.lock")
        policy = Policy(str(layout.home / "settings.toml"))
        observer = Observer(git, policy, self.identities)
        self._registrations = Registrations(layout.home / "rescue" / "registrations")
        tools = Tools(git, GitWriter(GitCommand(umask=users_umask)), self._registrations)
        agents = [factory(os.environ) for factory in AGENTS.values()]
        self.store = store = Store(layout, index, self.streams)
        self.threads = Threads((root, identifier), store, agents, Surroundings(root, git), clock)
        self.threads.on_change = self._tell
        world = World(root, identifier, git, self.identities, policy)
        writing = Writing(self.streams, Masker(layout.key))
        self.sessions = Sessions(self.threads, self.leases, writing, world, clock)
        self.todo_lists = TodoLists(self.threads, self.sessions, self.leases, self.streams)
        self.checker = Checker(root, observer)
        self.recoverer = Recoverer(self.streams, observer, tools, root, self._own_sessions)
        self.freezer = Freezer(self.threads, self.leases, self.streams, clock)
        self.restorer = Restorer(self.freezer, self.recoverer, observer, tools)
        self.archive = Archive(self.threads, self.leases, store)
        self.exporter = Exporter(self.threads, store, self.blobs)
        self.importer = Importer(self.leases, store, self.blobs)
        self.purger = Purger(self.threads, self.leases, store, self.blobs, clock)
        self.releaser = Releaser(self.threads, self.leases, self.sessions, layout, self._tell_asked)
        self.leases.settle = self._settle
        self._collecting: asyncio.Task[None] | None = None
        self._now = clock.now
        self._index = index
        self._root = root
        self._worktree: str | None = None
        self._tidying: asyncio.Task[None] | None = None

    def busy(self) -> bool:
        """Whether a lease or a question keeps the daemon here."""
        return bool(self.leases.count or self.restorer.questions)

    def status_fields(self) -> StatusFields:
        """This workspace's part of the status."""
        problem = self.layout.trouble() or self.failure
        return StatusFields(
            threads=self.threads.count,
            leases=self.leases.count,
            open_questions=self.restorer.questions,
            storage="readOnly" if self.layout.read_only else "failing" if problem else "ok",
            index="rebuilding" if self.threads.refreshing else "ok",
            notes=(*([problem] if problem else []), *self.threads.all_notes()),
        )

    async def begin(self) -> None:
        """Note that a daemon serves this worktree, and begin to read what is on disk."""
        if not self.layout.read_only:
            await asyncio.to_thread(self._registrations.forget_old)
            await self._begin_run()
            await self._finish_what_was_cut_off()
            self._collecting = asyncio.create_task(collect_when_idle(self._collect, self.busy, asyncio.sleep))
        await self.threads.refresh()
        if not self.layout.read_only:
            self._tidying = asyncio.create_task(self._tidy())

    async def tidied(self) -> None:
        """Wait until what a kill left of archiving is in order."""
        if self._tidying is not None:
            await asyncio.wait({self._tidying})

    async def abandon(self) -> None:
        """End as a crash would, without a mark of a clean shutdown: a restore may still be at work."""
        await self._stop_in_background()
        await self.threads.close()
        await self.blobs.close()
        await self._index.close()

    async def close(self) -> None:
        """Let runs go, mark the shutdown as clean, close everything."""
        await self._stop_in_background()
        await self.restorer.close()
        await self.sessions.close()
        await self.threads.close()
        if self._worktree is not None:
            with contextlib.suppress(StorageError):
                await self._note_run("stopped", clean=True)
        await self.streams.close()
        await self.blobs.close()
        await self._index.close()

    async def _finish_what_was_cut_off(self) -> None:
        """Finish removals and imports before anything is listed. What can't be is shown by nobody."""
        try:
            await self.importer.tidy()
            await self.purger.tidy()
        except Exception:  # no reason to serve nothing
            _LOG.exception("what an earlier process began could not be finished")

    async def _tidy(self) -> None:
        try:
            await self.threads.looked()
            await self.archive.tidy()
        except Exception:  # the next start tidies up; nothing depends on it until then
            _LOG.exception("what an earlier process left could not be tidied up")

    async def _collect(self) -> Collected | NotCollected | None:
        """Every workspace's process looks; one of them collects."""
        if not await asyncio.to_thread(is_due, self.layout, self._now):
            return None
        return await collect(self.blobs, self.layout, self._now)

    async def _stop_in_background(self) -> None:
        """What is left to do is found again the next time."""
        tasks = [task for task in (self._tidying, self._collecting) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _own_sessions(self, thread_id: str) -> tuple[str, ...]:
        return (await self.threads.source(thread_id)).sessions

    async def _settle(self, thread_id: str) -> None:
        await self.importer.tidy()
        await self.purger.finish(thread_id)
        await self.recoverer.settle(thread_id, await self.freezer.agent_active_at(thread_id))

    async def _begin_run(self) -> None:
        """A place that can't be identified (its repository moved away, say) is served all the same."""
        try:
            identity = await self.identities.identify(self._root)
            self._worktree = f"worktree:{identity.worktree_id}"
            await self._note_run("started", clean=False)
        except (IdentityFailed, GitFailed, StorageError) as failure:
            self._worktree = None
            _LOG.warning("this run of the daemon is not on record: %s", failure)

    async def _note_run(self, phase: str, *, clean: bool) -> None:
        run = DaemonRun(
            boot_id=processes.boot_id(),
            phase=phase,
            clean=clean,
            active_sessions=tuple(self.threads.live.values()),
        )
        event = Event(
            payload=run, event_id=str(uuid.uuid4()), src=Source(SourceKind.OBSERVED, processes.owner())
        )
        assert self._worktree is not None
        await self.streams.append(self._worktree, event)

    def _note_loss(self, sentence: str) -> None:
        _LOG.warning("%s", sentence)
        self.threads.notes[sentence] = None

    def _tell_asked(self, asked: ThreadReleaseAsked) -> None:
        self.broadcast("thread/releaseAsked", asked)

    def _tell(self, summary: ThreadSummary) -> None:
        self.broadcast("thread/updated", ThreadUpdated(summary=summary), f"thread {summary.thread_id}")
