"""Edits of a thread's list: by its agent in a run, or by a person between runs."""

import asyncio

import msgspec

from resumed.daemon.freezing import ensure_thread, own_event
from resumed.daemon.leases import Leases
from resumed.daemon.rpc.connection import Client
from resumed.daemon.sessions import Sessions
from resumed.daemon.storage.streams import Streams
from resumed.daemon.threads import Threads
from resumed.daemon.views import todos_view
from resumed.protocol.errors import ErrorCode, ResumedError
from resumed.protocol.sessions import TodosUpdateParams
from resumed.protocol.threads import TodosView
from resumed.restore.events.session import TodoItem, TodosSet

STATUSES = ("pending", "inProgress", "completed")


class TodoLists:
    """Reads and replaces lists."""

    def __init__(self, threads: Threads, sessions: Sessions, leases: Leases, streams: Streams) -> None:
        self._threads = threads
        self._sessions = sessions
        self._leases = leases
        self._streams = streams
        self._turn = asyncio.Lock()

    async def read(self, thread_id: str) -> TodosView:
        """The last accepted list."""
        row = await self._threads.find(thread_id)
        return todos_view(await self._threads.record(row.thread_id))

    async def update(self, client: Client, params: TodosUpdateParams) -> tuple[str, TodosView]:
        """Replace the list; returns the thread's id and the list. Raises `revisionStale` when it was
        changed since `base_revision`."""
        if any(item.status not in STATUSES for item in params.items):
            raise ResumedError(
                ErrorCode.INVALID_PARAMS, "A status is not known.", f"It is one of {', '.join(STATUSES)}."
            )
        async with self._turn:
            if params.session_id is not None:
                live = self._sessions.of(client, params.session_id)
                await self._check(live.thread_id, params.base_revision)
                await live.append(_set(params, "agent"), turn=live.lifecycle.open_turn)
                return live.thread_id, await self.read(live.thread_id)
            if params.thread_id is None:
                raise ResumedError(
                    ErrorCode.INVALID_PARAMS, "Neither a session nor a thread is named.", "Give one of them."
                )
            return await self._by_person(client, params, params.thread_id)

    async def _by_person(
        self, client: Client, params: TodosUpdateParams, thread_id: str
    ) -> tuple[str, TodosView]:
        row = await self._threads.find(thread_id)
        live = self._sessions.of_thread(row.thread_id)
        await self._check(row.thread_id, params.base_revision)
        if live is not None:
            await live.append(_set(params, "user"))
            return row.thread_id, await self.read(row.thread_id)
        async with self._leases.held(row.thread_id, client.info):
            await ensure_thread(self._streams, await self._threads.record(row.thread_id))
            stream = f"thread:{row.thread_id}"
            await self._streams.append(stream, own_event(_set(params, "user"), "todos"))
            await self._streams.release(stream)
        await self._threads.changed(row.thread_id)
        return row.thread_id, await self.read(row.thread_id)

    async def _check(self, thread_id: str, base_revision: str | None) -> None:
        if base_revision is None:
            return
        now = todos_view(await self._threads.record(thread_id)).revision
        if now != base_revision:
            raise ResumedError(
                ErrorCode.REVISION_STALE,
                "The list was changed by somebody else.",
                "Read it again and make your change to that.",
            )


def _set(params: TodosUpdateParams, origin: str) -> TodosSet:
    items = tuple(
        msgspec.convert(msgspec.to_builtins(msgspec.structs.replace(item)), TodoItem) for item in params.items
    )
    return TodosSet(
        items=items, origin=origin, base_revision=params.base_revision, explanation=params.explanation
    )
