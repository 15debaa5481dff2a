"""Rows as they are listed: with the folder's group, and with who has the thread open now."""

import asyncio
from collections.abc import Iterable, Mapping

from resumed.daemon.holders import Holders
from resumed.daemon.storage.rows import ThreadRow
from resumed.daemon.surroundings import Folders
from resumed.daemon.views import UNFINISHED
from resumed.protocol.threads import ThreadSummary


class Summaries:
    """Makes summaries of rows. `live` maps a thread to the run that an agent has open here; `folders` are
    those of this workspace, as far as they are known."""

    def __init__(self, root: str, live: Mapping[str, str], holders: Holders) -> None:
        self.folders = Folders(project=(root,), worktrees=())
        self._live = live
        self._holders = holders

    async def of(self, rows: Iterable[ThreadRow]) -> tuple[ThreadSummary, ...]:
        """Rows as they are listed."""
        rows = tuple(rows)
        elsewhere = await self.in_use(rows)
        return tuple(self._summary(row, row.thread_id in elsewhere) for row in rows)

    async def in_use(self, rows: Iterable[ThreadRow]) -> frozenset[str]:
        """The threads that another daemon holds, or that a restore, without an end yet, is at work on."""
        rows = tuple(rows)
        return await asyncio.to_thread(lambda: frozenset(row.thread_id for row in rows if self._held(row)))

    def _summary(self, row: ThreadRow, elsewhere: bool) -> ThreadSummary:
        return ThreadSummary(
            thread_id=row.thread_id,
            name=row.name,
            agent=row.agent,
            group=self.folders.group(row.root),
            state="running" if elsewhere or row.thread_id in self._live else row.state,
            root=row.root,
            branch=row.branch,
            last_active_at=row.last_active_at,
            created_at=row.created_at,
            runs=row.runs,
            damaged=row.damaged,
        )

    def _held(self, row: ThreadRow) -> bool:
        at_work = row.state == UNFINISHED and self._holders.anybody(row.thread_id)
        return at_work or self._holders.elsewhere(row.thread_id)
