"""All threads that this workspace can show: listed from the index, read from their streams and files.

The index is only a hint that makes lists fast; it is filled again from what is on disk.
"""

import asyncio
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from resumed.daemon import records, scanning
from resumed.daemon.agents.agent import Agent
from resumed.daemon.ports.clock import Clock
from resumed.daemon.storage.errors import CursorRefused
from resumed.daemon.storage.index import Index
from resumed.daemon.storage.layout import Layout
from resumed.daemon.storage.rows import FileCursor, PageRequest, ThreadRow
from resumed.daemon.storage.streams import Streams
from resumed.daemon.surroundings import ELSEWHERE, Folders, Surroundings
from resumed.daemon.views import state_word
from resumed.protocol.errors import ErrorCode, ResumedError
from resumed.protocol.threads import ThreadListParams, ThreadListResult, ThreadSummary
from resumed.restore.snapshot import Record

FRESH_SECONDS = 1.0
WAIT_SECONDS = 2.0
MAX_LIMIT = 200
SCOPES = ("workspace", "all")


class Store(msgspec.Struct, frozen=True):
    """Where threads are kept."""

    layout: Layout
    index: Index
    streams: Streams


class Threads:
    """The threads seen from one workspace. `notes` are sentences for people about the record; `live`
    maps a thread to the run that an agent has open here."""

    def __init__(
        self,
        workspace: tuple[str, str],
        store: Store,
        agents: Iterable[Agent],
        surroundings: Surroundings,
        clock: Clock,
    ) -> None:
        self.root, self.workspace_id = workspace
        self.notes: dict[str, None] = {}
        self.live: dict[str, str] = {}
        self.on_change: Callable[[ThreadSummary], None] = lambda summary: None
        self._store = store
        self._agents = {agent.name: agent for agent in agents}
        self._surroundings = surroundings
        self._clock = clock
        self._files: dict[str, FileCursor] | None = None
        self._agent_of: dict[str, str] = {}
        self._folders = Folders(project=(self.root,), worktrees=())
        self._refreshing: asyncio.Task[None] | None = None
        self._refreshed_at = float("-inf")

    @property
    def refreshing(self) -> bool:
        """Whether the index is being brought up to date now."""
        return self._refreshing is not None and not self._refreshing.done()

    def agent(self, name: str) -> Agent | None:
        """The adapter of that agent."""
        return self._agents.get(name)

    async def page(self, params: ThreadListParams) -> ThreadListResult:
        """One page; what is not read yet is said in a note."""
        if params.scope not in SCOPES or not 1 <= params.limit <= MAX_LIMIT:
            raise ResumedError(
                ErrorCode.INVALID_PARAMS,
                "scope is workspace or all, and limit is 1 to 200.",
                "See the method table.",
            )
        await self.refresh()
        roots = None if params.scope == "all" else (*self._folders.project, *self._folders.worktrees)
        request = PageRequest(limit=params.limit, cursor=params.cursor, archived=params.archived, roots=roots)
        try:
            page = await self._store.index.page(request)
        except CursorRefused as refusal:
            raise ResumedError(
                ErrorCode.INVALID_PARAMS, refusal.sentence, "Begin without a cursor."
            ) from refusal
        notes = [*self.notes]
        if self.refreshing:
            notes.append("Not everything has been read yet; the list may be incomplete.")
        return ThreadListResult(
            threads=tuple(self.summary(row) for row in page.rows),
            next_cursor=page.next_cursor,
            notes=tuple(notes),
        )

    async def find(self, text: str) -> ThreadRow:
        """The one thread of that id, name, or unique part of either."""
        row = await self._store.index.row(text.strip().lower())
        if row is not None:
            return row
        await self.refresh()
        rows = await self._store.index.rows_matching(text)
        wanted = text.strip().casefold()
        exact = [row for row in rows if wanted in (row.thread_id, row.name.casefold())]
        here = [row for row in (exact or rows) if self._folders.group(row.root) != ELSEWHERE]
        for choice in (exact, here, list(rows)):
            if len(choice) == 1:
                return choice[0]
        if not rows:
            raise ResumedError(
                ErrorCode.THREAD_NOT_FOUND,
                f"There is no conversation “{text}”.",
                "resumed threads --all lists them.",
            )
        raise ResumedError(
            ErrorCode.THREAD_AMBIGUOUS,
            f"“{text}” fits {len(rows)} conversations.",
            "Give more of the name, or the id.",
            candidates=tuple(f"{row.thread_id} {row.name}" for row in rows[:10]),
        )

    async def record(self, thread_id: str) -> Record:
        """Read and fold one thread."""
        return (await self.built(thread_id)).record

    async def source(self, thread_id: str) -> records.Source:
        """Where a thread's events are."""
        path = await self._path_of(thread_id)
        name = self._agent_of.get(thread_id)
        if name is None and (row := await self._store.index.row(thread_id)) is not None:
            name = row.agent
        return records.Source(
            thread_id=thread_id,
            agent=self._agents.get(name or ""),
            path=path,
            live=self.live.get(thread_id),
        )

    async def built(self, thread_id: str) -> records.Built:
        """Read and fold one thread, from its checkpoint where that holds."""
        source = await self.source(thread_id)
        saved = await self._store.index.checkpoint(thread_id)
        built = await asyncio.to_thread(records.build, self._store.streams, source, saved)
        if built.checkpoint is not None:
            await self._store.index.put_checkpoint(thread_id, thread_id, self._clock.now(), built.checkpoint)
        return built

    async def changed(self, thread_id: str) -> None:
        """Bring one thread's row up to date, and tell."""
        row = self._row(await self.built(thread_id), await self._path_of(thread_id))
        await self._store.index.put_rows([row])
        self.on_change(self.summary(row))

    async def refresh(self) -> None:
        """Bring the index up to date, waiting for it a short while at most."""
        if self._clock.monotonic() - self._refreshed_at < FRESH_SECONDS:
            return
        if self._refreshing is None or self._refreshing.done():
            self._refreshing = asyncio.create_task(self._refresh())
        await asyncio.wait({self._refreshing}, timeout=WAIT_SECONDS)
        if self._refreshing.done() and not self._refreshing.cancelled():
            self._refreshing.result()

    async def close(self) -> None:
        """Stop what runs in the background."""
        if self._refreshing is not None:
            self._refreshing.cancel()
            await asyncio.gather(self._refreshing, return_exceptions=True)

    def summary(self, row: ThreadRow) -> ThreadSummary:
        """A row as it is listed."""
        return ThreadSummary(
            thread_id=row.thread_id,
            name=row.name,
            agent=row.agent,
            group=self._folders.group(row.root),
            state="running" if row.thread_id in self.live else row.state,
            root=row.root,
            branch=row.branch,
            last_active_at=row.last_active_at,
            created_at=row.created_at,
            runs=row.runs,
            damaged=row.damaged,
        )

    async def _refresh(self) -> None:
        index = self._store.index
        if self._files is None:
            self._files = {cursor.path: cursor for cursor in await index.files()}
        found = await asyncio.to_thread(
            scanning.scan, self._store.layout, list(self._agents.values()), self._files
        )
        streams = await asyncio.to_thread(lambda: set(self._store.streams.ids("thread")))
        own = {row.thread_id for row in found.rows if f"thread:{row.thread_id}" in streams}
        self._agent_of.update({row.thread_id: row.agent for row in found.rows})
        self.notes.update(dict.fromkeys(found.notes))
        # A thread with streams of its own has more to its row than its agent's file says.
        await index.put_rows([row for row in found.rows if row.thread_id not in own], found.cursors)
        await self._forget(found.gone)
        self._files.update({cursor.path: cursor for cursor in found.cursors})
        for thread_id in found.changed_threads | own:
            await self.changed(thread_id)
        heads = [head for cursor in self._files.values() if (head := scanning.head_of(cursor))]
        self._folders = await self._surroundings.folders(scanning.row_of_head("", head) for head in heads)
        self._refreshed_at = self._clock.monotonic()

    async def _forget(self, gone: list[FileCursor]) -> None:
        assert self._files is not None
        await self._store.index.drop_files([cursor.path for cursor in gone])
        for cursor in gone:
            del self._files[cursor.path]
        still = {cursor.thread_id for cursor in self._files.values()}
        await self._store.index.drop_rows({c.thread_id for c in gone if c.thread_id not in still})

    async def _path_of(self, thread_id: str) -> Path | None:
        files = (
            self._files if self._files is not None else {c.path: c for c in await self._store.index.files()}
        )
        foreign = [c.path for c in files.values() if c.thread_id == thread_id and c.head]
        return Path(foreign[0]) if foreign else None

    def _row(self, built: records.Built, path: Path | None) -> ThreadRow:
        record, place = built.record, built.record.states["worktree"]
        return ThreadRow(
            thread_id=record.thread_id,
            name=record.name,
            agent=record.agent,
            root=place.root,
            branch=place.branch,
            sha=place.sha,
            origin=place.origin,
            state=state_word(record),
            created_at=record.created_at,
            last_active_at=record.last_active_at,
            runs=len(record.runs),
            archived=built.lifecycle.archived,
            damaged=bool(record.events_damaged),
            source=str(path) if path else scanning.OWN,
            native_id=record.native_id,
            forked_from=record.forked_from,
        )
