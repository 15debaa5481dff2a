"""All threads that this workspace can show: listed from the index, read from their streams and files.

The index is only a hint that makes lists fast; it is filled again from what is on disk. What is wrong
with one file is told of its thread, and stops nothing else.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import TypeVar

import msgspec

from resumed.daemon import new_rows, records, scanning, thread_rows
from resumed.daemon.agents.agent import Agent
from resumed.daemon.file_cursors import FileCursors
from resumed.daemon.finding import one_of
from resumed.daemon.freshness import LastLook
from resumed.daemon.holders import Holders
from resumed.daemon.ports.clock import Clock
from resumed.daemon.refusals import being_removed, nothing_readable, only_readable
from resumed.daemon.storage import purges
from resumed.daemon.storage.errors import CursorRefused, IndexDamaged, StorageError
from resumed.daemon.storage.index import Index
from resumed.daemon.storage.layout import Layout
from resumed.daemon.storage.rows import FileCursor, PageRequest, ThreadRow
from resumed.daemon.storage.stores import StreamStore
from resumed.daemon.summaries import Summaries
from resumed.daemon.surroundings import ELSEWHERE, Surroundings
from resumed.daemon.views import UNFINISHED
from resumed.protocol.errors import ErrorCode, ResumedError
from resumed.protocol.threads import ThreadListParams, ThreadListResult, ThreadSummary
from resumed.restore.snapshot import Record

WAIT_SECONDS = 2.0
MAX_LIMIT = 200
LOOKS = 3
SCOPES = ("workspace", "all")

_LOG = logging.getLogger(__name__)

Value = TypeVar("Value")


class Store(msgspec.Struct, frozen=True):
    """Where threads are kept."""

    layout: Layout
    index: Index
    streams: StreamStore


class Threads:
    """The threads seen from one workspace. `notes` are sentences for people that stay true while this
    daemon runs; `live` maps a thread to the run that an agent has open here; `count` is how many
    threads there are."""

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
        self.count = 0
        self.on_change: Callable[[ThreadSummary], None] = lambda summary: None
        self._store = store
        self._agents = {agent.name: agent for agent in agents}
        self._surroundings = surroundings
        self._clock = clock
        self._files: FileCursors | None = None
        self._file_notes: dict[str, str] = {}
        self._forgotten: set[str] = set()
        self._cut_off: dict[str, str] = {}
        self._notes_now: list[str] = []
        self._generation = 0
        self._failure: str | None = None
        self._agent_of: dict[str, str] = {}
        self._refreshing: asyncio.Task[None] | None = None
        self._last_look = LastLook(store.layout.home, surroundings, clock)
        self._holders = Holders(store.layout)
        self._shown = Summaries(self.root, self.live, self._holders)

    @property
    def refreshing(self) -> bool:
        """Whether the index is being brought up to date now."""
        return self._refreshing is not None and not self._refreshing.done()

    def all_notes(self) -> tuple[str, ...]:
        """What people should know now: of this daemon's life, of damaged files, of what failed."""
        cut_off = [
            f"A restore of “{name}” was cut off; its next Resume settles that first."
            for name in self._cut_off.values()
        ]
        failed = [self._failure] if self._failure else []
        now = [*self.notes, *cut_off, *self._file_notes.values(), *self._notes_now, *failed]
        return tuple(dict.fromkeys(now))

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
        await self._forget_as_told()
        await self.refresh()
        roots = (
            None if params.scope == "all" else (*self._shown.folders.project, *self._shown.folders.worktrees)
        )
        request = PageRequest(limit=params.limit, cursor=params.cursor, archived=params.archived, roots=roots)
        try:
            page = await self._mended(lambda: self._store.index.page(request))
        except CursorRefused as refusal:
            raise ResumedError(
                ErrorCode.INVALID_PARAMS, refusal.sentence, "Begin without a cursor."
            ) from refusal
        notes = self.all_notes()
        if self.refreshing:
            notes = (*notes, "Not everything has been read yet; the list may be incomplete.")
        removed = await asyncio.to_thread(purges.all_begun, self._store.layout)
        rows = [row for row in page.rows if row.thread_id not in removed]
        return ThreadListResult(threads=await self._shown.of(rows), next_cursor=page.next_cursor, notes=notes)

    async def find(self, text: str) -> ThreadRow:
        """The one thread of that id, name, or unique part of either."""
        await self._forget_as_told()
        row = await self._mended(lambda: self._store.index.row(text.strip().lower()))
        if row is not None:
            return row
        await self.refresh()
        rows = await self._mended(lambda: self._store.index.rows_matching(text))
        if not rows:
            await self.look_again()
            rows = await self._mended(lambda: self._store.index.rows_matching(text))
        return one_of(rows, text, self._shown.folders, self.refreshing)

    async def record(self, thread_id: str) -> Record:
        """Read and fold one thread. Raises as `built`."""
        return (await self.built(thread_id)).record

    async def source(self, thread_id: str, read: Iterable[FileCursor] = ()) -> records.Source:
        """Where a thread's events are. `read` are files of it that were found just now."""
        row = await self._mended(lambda: self._store.index.row(thread_id))
        files = self._files
        if files is None:
            files = FileCursors(await self._mended(self._store.index.files))
        return self._source(thread_id, row, (*files.of_thread(thread_id), *read))

    def _source(self, thread_id: str, row: ThreadRow | None, files: tuple[FileCursor, ...]) -> records.Source:
        name = self._agent_of.get(thread_id) or (row.agent if row is not None else "")
        chosen = thread_rows.agents_file(files)
        return records.Source(
            thread_id=thread_id,
            agent=self._agents.get(name),
            path=Path(chosen.path) if chosen else None,
            live=self.live.get(thread_id),
            name=row.name if row is not None else "",
            listed_at=row.source if row is not None and row.source != scanning.OWN else "",
            archived=chosen is not None and thread_rows.is_archived(chosen),
            sessions=thread_rows.own_sessions(files),
        )

    async def built(self, thread_id: str) -> records.Built:
        """Read and fold one thread, from its checkpoint where that holds. What cannot be read of it is
        in its damage.

        Raises `ResumedError` `threadNotFound` when nothing of it can be read."""
        source = await self.source(thread_id)
        built = await self._build(source)
        if built.unread:
            # The agent may have moved its file since it was looked for.
            await self.look_again()
            again = await self.source(thread_id)
            if again.path not in (None, source.path):
                built = await self._build(again)
        if not built.record.events_read:
            raise nothing_readable(built.unread)
        return built

    async def resumable(self, thread_id: str) -> records.Built:
        """As `built`, for an agent to go on from.

        Raises `ResumedError` `threadNotFound` also when the agent's own file is gone, cannot be read or
        holds nothing: what is left are our own notes, from which no agent can go on. `stateReadOnly` when
        too much of our own is lost."""
        built = await self.built(thread_id)
        if built.own_lost:
            raise only_readable(built.own_lost)
        if built.agents_own_lost:
            raise nothing_readable((built.agents_own_lost,))
        return built

    async def is_running(self, thread_id: str) -> bool:
        """Whether an agent has the thread open, here or under another daemon."""
        return thread_id in self.live or await asyncio.to_thread(self._holders.elsewhere, thread_id)

    async def is_held(self, thread_id: str) -> bool:
        """Whether anybody holds the thread, this daemon included: an agent, or a restore at work."""
        return await asyncio.to_thread(self._holders.anybody, thread_id)

    async def forget(self, thread_id: str) -> None:
        """Forget a thread that was removed for good. What its agent keeps of it is found again by the
        next look."""
        self._forgotten.add(thread_id)
        await self._mended(lambda: self._store.index.forget(thread_id))
        if self._files is not None:
            self._files.drop([cursor.path for cursor in self._files.of_thread(thread_id)])
        self._cut_off.pop(thread_id, None)
        self._last_look.expire()

    async def changed(self, thread_id: str) -> None:
        """Bring one thread's row up to date, and tell."""
        _, row = await self._update(thread_id, [])
        if row is None:
            return
        if self._shown.folders.group(row.root) == ELSEWHERE:
            # A restore may have made the work tree that it is in now.
            self._shown.folders = await self._surroundings.folders(
                await self._mended(self._store.index.places)
            )
        await self._tell(row)

    async def refresh(self) -> None:
        """Bring the index up to date, waiting for it a short while at most. Never fails: what failed is
        in the notes."""
        if self.refreshing:
            # It may have begun before what is asked about was there.
            await asyncio.wait({self._refresh_task()}, timeout=WAIT_SECONDS)
            if self.refreshing:
                return
        if self._generation != self._store.index.generation:
            self._last_look.expire()
        # Where there are no files, it is not known which folders the first would come to.
        known = bool(self._files)
        if known and await asyncio.to_thread(self._last_look.holds):
            return
        await asyncio.wait({self._refresh_task()}, timeout=WAIT_SECONDS)

    async def look_again(self) -> None:
        """Bring the index up to date with what is on disk after now, not with what was seen before."""
        if self.refreshing:
            await asyncio.wait({self._refresh_task()}, timeout=WAIT_SECONDS)
        await asyncio.wait({self._refresh_task()}, timeout=WAIT_SECONDS)

    async def looked(self) -> None:
        """Wait until the look at the disk that is under way has ended, if there is one."""
        if self._refreshing is not None:
            await asyncio.wait({self._refreshing})

    async def close(self) -> None:
        """Stop what runs in the background."""
        if self._refreshing is not None:
            self._refreshing.cancel()
            await asyncio.gather(self._refreshing, return_exceptions=True)

    def _refresh_task(self) -> "asyncio.Task[None]":
        if self._refreshing is None or self._refreshing.done():
            self._refreshing = asyncio.create_task(self._refresh())
        return self._refreshing

    async def _refresh(self) -> None:
        try:
            for _ in range(LOOKS):
                try:
                    await self._look()
                except IndexDamaged as damage:
                    self.notes[damage.sentence] = None
                if self._generation == self._store.index.generation:
                    break
            self._failure = None
        except Exception as error:  # a list may be old or short, but there always is one
            _LOG.exception("The threads could not be brought up to date.")
            # What was found may not be in the index: begin again from what is.
            self._files = None
            sentence = error.sentence if isinstance(error, StorageError) else str(error)
            self._failure = f"Not everything could be read; the list may be incomplete: {sentence}"

    async def _forget_as_told(self) -> None:
        """Forget what the process of another workspace has removed for good."""
        layout = self._store.layout
        if layout.read_only:
            return
        for thread_id in await asyncio.to_thread(purges.to_forget, layout, self.workspace_id):
            await self.forget(thread_id)
            await asyncio.to_thread(purges.forgotten, layout, self.workspace_id, thread_id)

    async def _look(self) -> None:
        index = self._store.index
        self._forgotten.clear()
        first = self._files is None or self._generation != index.generation
        if self._files is None or first:
            self._generation = index.generation
            self._files = FileCursors(await index.files())
            self._file_notes = await asyncio.to_thread(scanning.damage_notes, [*self._files])
        await self._forget_as_told()
        before = await asyncio.to_thread(self._last_look.marks)
        found = await asyncio.to_thread(
            scanning.scan, self._store.layout, [*self._agents.values()], self._files.by_path()
        )
        streams = await asyncio.to_thread(lambda: set(self._store.streams.ids("thread")))
        self.notes.update(dict.fromkeys(found.notes))
        self._notes_now = found.notes_now
        await self._note_damage(found.cursors)
        self._agent_of.update({row.thread_id: row.agent for row in found.rows})
        known = (self._files.get(cursor.path) for cursor in found.cursors)
        replaced = [cursor for cursor in known if cursor is not None]
        self._files.put(found.cursors)
        # A thread with streams of its own has more to its row than its agent's file says.
        own = {row.thread_id for row in found.rows if f"thread:{row.thread_id}" in streams}
        foreign = [row for row in found.rows if row.thread_id not in own]
        new = [] if first else [row for row in foreign if await index.row(row.thread_id) != row]
        await index.put_rows(foreign, [cursor for cursor in found.cursors if cursor.thread_id not in own])
        bereft = await self._forget(found.gone, replaced)
        read = {thread_id: [*found.own_cursors.get(thread_id, ())] for thread_id in own | bereft}
        read = {**found.own_cursors, **read}
        for cursor in found.cursors:
            if cursor.thread_id in read:
                read[cursor.thread_id].append(cursor)
        await self._update_all(read)
        self._shown.folders = await self._surroundings.folders(await index.places())
        self._cut_off = await self._restores_cut_off()
        self.count = (await index.counts()).threads
        await asyncio.to_thread(self._last_look.ended, before, [cursor.path for cursor in self._files])
        await self._tell(*new)

    async def _restores_cut_off(self) -> dict[str, str]:
        """The names of threads with a restore that was cut off, by id."""
        rows = await self._store.index.rows_in_state(UNFINISHED)
        at_work = await self._shown.in_use(rows)
        return {row.thread_id: row.name for row in rows if row.thread_id not in at_work}

    async def _tell(self, *rows: ThreadRow) -> None:
        for summary in await self._shown.of(rows):
            self.on_change(summary)

    async def _note_damage(self, cursors: list[FileCursor]) -> None:
        for cursor in cursors:
            self._file_notes.pop(cursor.path, None)
        self._file_notes.update(await asyncio.to_thread(scanning.damage_notes, cursors))

    async def _forget(self, gone: list[FileCursor], replaced: list[FileCursor]) -> set[str]:
        """Forget files that are gone, and what those that another thread has `replaced` said; returns
        the threads of which no file is left."""
        assert self._files is not None
        await self._store.index.drop_files([cursor.path for cursor in gone])
        for cursor in gone:
            self._file_notes.pop(cursor.path, None)
        self._files.drop(cursor.path for cursor in gone)
        threads = {cursor.thread_id for cursor in (*gone, *replaced)}
        return {thread_id for thread_id in threads if not self._files.of_thread(thread_id)}

    async def _update_all(self, read: dict[str, list[FileCursor]]) -> None:
        """Bring the rows of these threads up to date with the files that were read for each."""
        assert self._files is not None
        store = self._store
        listed = await store.index.thread_ids() if read else frozenset()
        for thread_id in read.keys() & listed:
            await self._update_or_tell(thread_id, read[thread_id])
        new = (self._unlisted(thread_id, read[thread_id]) for thread_id in read.keys() - listed)
        place = new_rows.Place(store.index, store.layout, store.streams, self._forgotten)
        async for made in new_rows.put(place, new, self._clock.now):
            for one in made:
                if one.failed:
                    self._note_unmade(one.of.read)
                else:
                    self._files.put(one.of.read)
            rows = [one.row for one in made if one.row is not None]
            self.count += len(rows)
            await self._tell(*rows)

    def _unlisted(self, thread_id: str, read: list[FileCursor]) -> new_rows.Unlisted:
        assert self._files is not None
        files = (*self._files.of_thread(thread_id), *read)
        return new_rows.Unlisted(self._source(thread_id, None, files), read)

    async def _update_or_tell(self, thread_id: str, read: list[FileCursor]) -> None:
        """Bring a row up to date; one that fails is tried again at the next look, and hides no other."""
        assert self._files is not None
        try:
            before, row = await self._update(thread_id, read)
            if row is not None and row != before:
                await self._tell(row)
        except (IndexDamaged, asyncio.CancelledError):
            raise
        except ResumedError:
            _LOG.info("The row of %s is not made: it is being removed.", thread_id)
        except Exception:  # whatever its record holds, the other threads are listed
            _LOG.exception("The row of %s could not be made.", thread_id)
            self._note_unmade(read)

    def _note_unmade(self, read: Iterable[FileCursor]) -> None:
        assert self._files is not None
        self.notes["A conversation could not be read; the list may be incomplete."] = None
        self._files.put(scanning.to_look_into_again(cursor) for cursor in read)

    async def _update(
        self, thread_id: str, read: list[FileCursor]
    ) -> tuple[ThreadRow | None, ThreadRow | None]:
        """Make a thread's row of what is on disk, and remember what was read for it. Returns the row
        before and now; there is none of a thread that nothing is on record of: a start that was cut off."""
        source = await self.source(thread_id, read)
        built = await self._build(source)
        before = await self._mended(lambda: self._store.index.row(thread_id))
        is_nothing = before is None and not built.record.events_read and not built.record.damage
        row = None if is_nothing else thread_rows.row_of_record(built, source, before)
        await self._mended(lambda: self._store.index.put_rows([row] if row else [], read))
        if self._files is not None:
            self._files.put(read)
        if row is None:
            return None, None
        self.count += before is None
        if row.state != UNFINISHED:
            self._cut_off.pop(thread_id, None)
        return before, row

    async def _build(self, source: records.Source) -> records.Built:
        index, thread_id = self._store.index, source.thread_id
        saved = await self._mended(lambda: index.checkpoint(thread_id))
        built = await asyncio.to_thread(records.build, self._store.streams, source, saved)
        if await asyncio.to_thread(purges.is_begun, self._store.layout, thread_id):
            # Only after reading: what was read meanwhile may be a part of it.
            raise being_removed()
        if (fresh := built.checkpoint) is not None:
            now = self._clock.now()
            await self._mended(lambda: index.put_checkpoint(thread_id, thread_id, now, fresh))
        return built

    async def _mended(self, call: Callable[[], Awaitable[Value]]) -> Value:
        """Ask the index; when it had to be set aside, fill it and ask again."""
        try:
            return await call()
        except IndexDamaged as damage:
            if asyncio.current_task() is self._refreshing:
                raise
            self.notes[damage.sentence] = None
        await self.refresh()
        return await call()
