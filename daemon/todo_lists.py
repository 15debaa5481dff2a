"""Edits of a thread's list: by its agent in a run, or by a person between runs."""

import msgspec

from resumed.daemon.freezing import ensure_thread, own_event
from resumed.daemon.leases import Leases
from resumed.daemon.live import Live
from resumed.daemon.row_refresh import refresh_row
from resumed.daemon.rpc.connection import Client
from resumed.daemon.sessions import Sessions
from resumed.daemon.storage.stores import StreamStore
from resumed.daemon.threads import Threads
from resumed.daemon.views import todos_view
from resumed.protocol.errors import ErrorCode, ResumedError
from resumed.protocol.sessions import TodosUpdateParams
from resumed.protocol.threads import TodosView
from resumed.restore.events.session import TodoItem, TodosSet
from resumed.restore.subsystems.todos import TODOS

STATUSES = ("pending", "inProgress", "completed")


class TodoLists:
    """Reads and replaces lists. A list is compared with `base_revision` by whoever may write it, so
    that nobody writes in between."""

    def __init__(self, threads: Threads, sessions: Sessions, leases: Leases, streams: StreamStore) -> None:
        self._threads = threads
        self._sessions = sessions
        self._leases = leases
        self._streams = streams

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
        if params.session_id is not None:
            mine = self._sessions.of(client, params.session_id)
            async with self._leases.turn(mine.thread_id):
                return mine.thread_id, await _replace(mine, params, "agent")
        if params.thread_id is None:
            raise ResumedError(
                ErrorCode.INVALID_PARAMS, "Neither a session nor a thread is named.", "Give one of them."
            )
        row = await self._threads.find(params.thread_id)
        async with self._leases.turn(row.thread_id):
            live = self._sessions.of_thread(row.thread_id)
            if live is not None:
                return row.thread_id, await _replace(live, params, "user")
            return row.thread_id, await self._between_runs(client, params, row.thread_id)

    async def _between_runs(self, client: Client, params: TodosUpdateParams, thread_id: str) -> TodosView:
        async with self._leases.writing(thread_id, client.info, self._streams) as stream:
            record = await self._threads.record(thread_id)
            _check(todos_view(record), params.base_revision)
            await ensure_thread(self._streams, record)
            event = own_event(_set(params, "user"), "todos")
            await self._streams.append(stream, event)
        await refresh_row(self._threads, thread_id)
        return TODOS.view(TODOS.apply(record.states[TODOS.name], event))


async def _replace(live: Live, params: TodosUpdateParams, origin: str) -> TodosView:
    _check(TODOS.view(live.state(TODOS.name)), params.base_revision)
    turn = live.lifecycle.open_turn if origin == "agent" else None
    await live.append(_set(params, origin), turn=turn)
    return TODOS.view(live.state(TODOS.name))


def _check(now: TodosView, base_revision: str | None) -> None:
    if base_revision is not None and now.revision != base_revision:
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
