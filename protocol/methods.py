"""THE table of methods: one row each. Dispatch, schema, documentation and clients come from it.

`serialized_on` names the field whose value is the queue of a call: two calls with the same value
run one after the other. `None` means that calls run at the same time, because they only read.
"""

import enum

import msgspec

from resumed.protocol import daemon, keeping, restore, resume, sessions, threads


class Direction(enum.Enum):
    """Who sends it, and whether it is answered."""

    REQUEST = "client request"
    NOTIFICATION = "daemon notification"
    QUESTION = "daemon request"


class Method(msgspec.Struct, frozen=True):
    """One row. `result` is `None` for notifications."""

    name: str
    params: type[restore.Wire]
    result: type[restore.Wire] | None
    direction: Direction
    serialized_on: str | None
    purpose: str


def _request(
    name: str, params: type[restore.Wire], result: type[restore.Wire], serialized_on: str | None, purpose: str
) -> Method:
    return Method(name, params, result, Direction.REQUEST, serialized_on, purpose)


def _notification(name: str, params: type[restore.Wire], purpose: str) -> Method:
    return Method(name, params, None, Direction.NOTIFICATION, None, purpose)


METHODS: tuple[Method, ...] = (
    _request(
        "resumed/initialize",
        daemon.InitializeParams,
        daemon.InitializeResult,
        None,
        "Opens a connection: versions, who the client is, what it can do.",
    ),
    _request("daemon/status", daemon.StatusParams, daemon.StatusResult, None, "The daemon in figures."),
    _request("daemon/drain", daemon.DrainParams, daemon.DrainResult, None, "Finish and exit."),
    _request("thread/list", threads.ThreadListParams, threads.ThreadListResult, None, "A page of threads."),
    _request("thread/read", threads.ThreadReadParams, threads.ThreadReadResult, None, "All of one thread."),
    _request("thread/name/set", threads.NameSetParams, threads.NameSetResult, "thread_id", "Name a thread."),
    _request(
        "thread/archive",
        keeping.ThreadArchiveParams,
        keeping.ThreadArchiveResult,
        "thread_id",
        "Put a thread away; it can still be read and resumed.",
    ),
    _request(
        "thread/unarchive",
        keeping.ThreadArchiveParams,
        keeping.ThreadArchiveResult,
        "thread_id",
        "Bring a thread back that was put away.",
    ),
    _request(
        "thread/purge",
        keeping.ThreadPurgeParams,
        keeping.ThreadPurgeResult,
        "thread_id",
        "Remove for good what is kept of a thread here; never an agent's own files.",
    ),
    _request(
        "thread/export",
        keeping.ThreadExportParams,
        keeping.ThreadExportResult,
        "thread_id",
        "Write all that is kept of a thread into one file.",
    ),
    _request(
        "thread/import",
        keeping.ThreadImportParams,
        keeping.ThreadImportResult,
        None,
        "Take in a thread from such a file, also from another machine.",
    ),
    _request(
        "thread/release",
        keeping.ThreadReleaseParams,
        keeping.ThreadReleaseResult,
        None,
        "Ask whoever has a thread to let it go, here or under another daemon.",
    ),
    _request(
        "thread/diagnose",
        keeping.ThreadDiagnoseParams,
        keeping.ThreadDiagnoseResult,
        None,
        "In which layer a thread is not what its record says.",
    ),
    _request("thread/resume", resume.ThreadResumeParams, restore.RestoreReport, None, "The ordered restore."),
    _request("drift/check", resume.DriftCheckParams, resume.DriftCheckResult, None, "What changed since."),
    _request(
        "session/start", sessions.SessionStartParams, sessions.SessionStartResult, "thread_id", "Begin a run."
    ),
    _request("session/end", sessions.SessionEndParams, sessions.SessionEndResult, "session_id", "End a run."),
    _request("turn/start", sessions.TurnStartParams, sessions.TurnStartResult, "session_id", "Begin a turn."),
    _request(
        "turn/complete", sessions.TurnCompleteParams, sessions.TurnCompleteResult, "session_id", "End a turn."
    ),
    _request(
        "event/append",
        sessions.EventAppendParams,
        sessions.EventAppendResult,
        "session_id",
        "Append one event; durable when answered.",
    ),
    _request(
        "operation/begin",
        sessions.OperationBeginParams,
        sessions.OperationBeginResult,
        "session_id",
        "Announce a tool call before its effect.",
    ),
    _request(
        "operation/commit",
        sessions.OperationCommitParams,
        sessions.OperationCommitResult,
        "session_id",
        "Settle a tool call.",
    ),
    _request("todos/read", sessions.ThreadParams, threads.TodosView, None, "The last accepted list."),
    _request("todos/update", sessions.TodosUpdateParams, threads.TodosView, "thread_id", "Replace the list."),
    _request("cost/read", sessions.ThreadParams, threads.CostView, None, "Tokens and cost of a thread."),
    Method(
        "restore/ask",
        restore.Question,
        restore.Answers,
        Direction.QUESTION,
        None,
        "The questions of one round of a restore.",
    ),
    _notification("restore/progress", restore.RestoreProgress, "One step of a running restore."),
    _notification("thread/updated", threads.ThreadUpdated, "A thread's row changed."),
    _notification(
        "thread/releaseAsked", keeping.ThreadReleaseAsked, "Somebody wants a thread that a client here has."
    ),
    _notification("thread/purged", keeping.ThreadPurged, "A thread was removed for good."),
    _notification("todos/updated", sessions.TodosUpdated, "A thread's list changed."),
    _notification("cost/updated", sessions.CostUpdated, "A thread's cost changed."),
    _notification("resync", daemon.ResyncNotification, "Notifications were dropped: read again."),
)

BY_NAME: dict[str, Method] = {method.name: method for method in METHODS}
REQUESTS: dict[str, Method] = {m.name: m for m in METHODS if m.direction is Direction.REQUEST}
