"""What an agent that speaks to us directly sends: sessions, turns, operations, events, todos."""

from typing import Any

from resumed.protocol.restore import Wire
from resumed.protocol.threads import CostView, TodosView, TodoView


class AgentInfo(Wire):
    """The agent's name, version, and its own id for the conversation if it has one."""

    name: str
    version: str = ""
    native_id: str | None = None


class PermissionsInfo(Wire):
    """What the agent may do, in one of these words each, from the strictest to the widest. `approval`:
    untrusted, on-request, on-failure or never. `sandbox`: read-only, workspace-write or
    danger-full-access. `mode`: plan, normal, auto or bypass."""

    approval: str
    sandbox: str
    profile: str | None = None
    mode: str = "normal"


class SessionStartParams(Wire):
    """Begin a run, or take one up again. `cwd` must lie inside the daemon's workspace, and in no
    worktree or repository of its own.

    Without `thread_id` and `session_id` a new thread begins, under ids of ours. With `thread_id` alone a
    new run of that thread begins. A `session_id` that is on record is taken up again: the run that
    `thread/resume` has made, or one whose agent lost its connection; its thread is known and need not be
    given. An unknown `session_id` becomes that of the new run, so that the call can be sent again.

    Of a run that is taken up, `cwd`, `name`, `model`, `permissions` and the agent's version are recorded
    where they differ from the record. Permissions wider than the run was granted are refused with
    `invalidParams`."""

    agent: AgentInfo
    cwd: str
    thread_id: str | None = None
    session_id: str | None = None
    name: str = ""
    model: str | None = None
    provider: str | None = None
    permissions: PermissionsInfo | None = None


class SessionStartResult(Wire):
    """The ids of the run. `resumed_from` is the run before, if there was one."""

    thread_id: str
    session_id: str
    resumed_from: str | None


class SessionEndParams(Wire):
    """End a run; `reason` is free text such as `exit`."""

    session_id: str
    reason: str = "exit"


class SessionEndResult(Wire):
    """The run's last durable event."""

    session_id: str
    last_durable_event: int


class TurnStartParams(Wire):
    """Begin a turn with the user's message. At most one turn is open in a session. The same `event_id`
    again gives the same turn; with another message it is an `eventConflict`."""

    session_id: str
    message: str
    event_id: str | None = None


class TurnStartResult(Wire):
    """The turn's id, the token that `turn/complete` must present, and the message's id as an entry."""

    turn_id: str
    token: str
    entry_id: str


class TurnCompleteParams(Wire):
    """End a turn; `status` is completed, interrupted or failed. `message` is the agent's answer. A turn
    that was cut off is ended in the session that goes on with its thread. Ended again with another status
    or message, it is an `eventConflict`."""

    session_id: str
    turn_id: str
    token: str
    status: str = "completed"
    message: str = ""


class TurnCompleteResult(Wire):
    """`repeated` when this turn had been completed before: nothing was written twice. `entry_id` is the
    answer's id as an entry, if there was one."""

    last_durable_event: int
    repeated: bool = False
    entry_id: str | None = None


class EventAppendParams(Wire):
    """Append one event of the closed union (`restore/events/README.md` has their
    fields; for example `usage_recorded`, `check_recorded`, `entry_added`, `permissions_set`).

    A repeated `event_id` with the same content is answered, not written again; with other content
    it is an `eventConflict`. An entry has an `id` (1 to 200 letters, digits, `.`, `_`, `:`, `-`; one of
    ours unless given) by which others name it, and may have a `parent_id`; other events have neither."""

    session_id: str
    event_id: str
    type: str
    payload: dict[str, Any]
    turn_id: str | None = None
    at: str | None = None
    id: str | None = None
    parent_id: str | None = None


class EventAppendResult(Wire):
    """Where the event stands. It is durable when this arrives. `id` is the entry's, if it is one."""

    seq: int
    last_durable_event: int
    repeated: bool = False
    id: str | None = None


class OperationBeginParams(Wire):
    """Announce one tool call before its effect. `kind` is read, write or external; `paths` are the
    files it may touch, absolute or relative to the session's folder."""

    session_id: str
    operation_id: str
    tool: str
    args: dict[str, Any] = {}
    kind: str = "external"
    paths: tuple[str, ...] = ()
    turn_id: str | None = None


class OperationBeginResult(Wire):
    """`state` is `begun` for a new operation, else where it stands: `begun`, `committed`, `failed`,
    `denied`, `aborted`. With `repeated` the caller must not have the effect again. `result` is the
    stored result."""

    operation_id: str
    state: str
    repeated: bool = False
    result: str | None = None


class OperationCommitParams(Wire):
    """Settle one tool call; `state` is committed, failed, denied or aborted. Settled again with another
    state, exit code or result, it is an `operationConflict`."""

    session_id: str
    operation_id: str
    state: str = "committed"
    exit_code: int | None = None
    result: str | None = None


class OperationCommitResult(Wire):
    """Where the operation stands now; `repeated` when it had been settled before."""

    operation_id: str
    state: str
    last_durable_event: int
    repeated: bool = False


class TodosUpdateParams(Wire):
    """Replace the list. `base_revision` guards against overwriting somebody's edit; an agent in a
    session passes `session_id`, a user's edit between runs passes `thread_id` alone."""

    items: tuple[TodoView, ...]
    thread_id: str | None = None
    session_id: str | None = None
    base_revision: str | None = None
    explanation: str = ""


class ThreadParams(Wire):
    """Names one thread by id."""

    thread_id: str


class TodosUpdated(Wire):
    """A thread's list changed."""

    thread_id: str
    todos: TodosView


class CostUpdated(Wire):
    """A thread's cost changed."""

    thread_id: str
    cost: CostView
