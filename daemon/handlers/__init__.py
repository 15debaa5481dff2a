"""The registry of handlers: one row for each request of the method table that the application answers."""

from collections.abc import Awaitable, Callable
from typing import Any

from resumed.daemon.handlers import keeping, resuming, sessions, threads
from resumed.protocol.restore import Wire

WorkspaceHandler = Callable[[Any, Any, Any], Awaitable[Wire]]

HANDLERS: dict[str, WorkspaceHandler] = {
    "thread/list": threads.thread_list,
    "thread/read": threads.thread_read,
    "thread/name/set": threads.thread_name_set,
    "thread/archive": keeping.thread_archive,
    "thread/unarchive": keeping.thread_unarchive,
    "thread/purge": keeping.thread_purge,
    "thread/export": keeping.thread_export,
    "thread/import": keeping.thread_import,
    "thread/release": keeping.thread_release,
    "thread/diagnose": keeping.thread_diagnose,
    "thread/resume": resuming.thread_resume,
    "drift/check": resuming.drift_check,
    "session/start": sessions.session_start,
    "session/end": sessions.session_end,
    "turn/start": sessions.turn_start,
    "turn/complete": sessions.turn_complete,
    "event/append": sessions.event_append,
    "operation/begin": sessions.operation_begin,
    "operation/commit": sessions.operation_commit,
    "todos/read": threads.todos_read,
    "todos/update": sessions.todos_update,
    "cost/read": threads.cost_read,
}
