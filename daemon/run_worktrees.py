"""Describes the work tree that a run was in by the first line of that one's own stream.

The ids of places are random: they say something only where what they stand for is on record too. Where that
is not here the run comes from another machine; where it is damaged that is told. In both cases the ids are
left out, and the place is compared by its address and its commits.
"""

import msgspec

from resumed.daemon.storage.errors import StreamMissing
from resumed.daemon.storage.stores import StreamReader
from resumed.restore.events.envelope import Event
from resumed.restore.events.session import SessionMeta, WorktreeBound
from resumed.restore.events.worktree import WorktreeMeta

DAMAGED = "Our record of the folder that it ran in is damaged: that is told by its address and commits."


class RunWorktrees:
    """The work trees of a thread's runs. `unread` tells of those whose description is damaged. Blocks."""

    def __init__(self, streams: StreamReader) -> None:
        self.unread: list[str] = []
        self._streams = streams
        self._known: dict[str, Event | None] = {}

    def with_worktree(self, events: list[Event]) -> list[Event]:
        """The events of a run, with the description of its work tree behind the first one."""
        if not events:
            return events
        meta = events[0].payload
        known = [self._with_known_ids(event) for event in events]
        if not isinstance(meta, SessionMeta) or meta.worktree_id is None:
            return known
        described = self._described(meta.worktree_id)
        if described is None:
            return known
        at_start = msgspec.structs.replace(described, at=events[0].at or events[0].ts)
        return [events[0], at_start, *known[1:]]

    def _with_known_ids(self, event: Event) -> Event:
        match event.payload:
            case SessionMeta(worktree_id=str(worktree_id)) as meta if self._described(worktree_id) is None:
                nameless = msgspec.structs.replace(meta, repo_id=None, worktree_id=None)
                return msgspec.structs.replace(event, payload=nameless)
            case WorktreeBound(worktree_id=str(worktree_id)) as bound if self._described(worktree_id) is None:
                nowhere = msgspec.structs.replace(bound, worktree_id=None)
                return msgspec.structs.replace(event, payload=nowhere)
        return event

    def _described(self, worktree_id: str) -> Event | None:
        if worktree_id not in self._known:
            self._known[worktree_id] = self._first_line(worktree_id)
        return self._known[worktree_id]

    def _first_line(self, worktree_id: str) -> Event | None:
        try:
            first = next(iter(self._streams.read(f"worktree:{worktree_id}")), None)
        except StreamMissing:
            return None
        if first is not None and isinstance(first.payload, WorktreeMeta):
            return first
        if DAMAGED not in self.unread:
            self.unread.append(DAMAGED)
        return None
