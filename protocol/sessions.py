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
    """What the agent may do. `approval`: untrusted, on-request or never. `sandbox`: read-only,
    workspace-write or danger-full-access. `mode`: normal, plan, bypass or auto."""

    approval: str
    sandbox: str
    profile: str | None = None
    mode: str = "normal"


class SessionStartParams(Wire):
    """Begin a run. Without `thread_id` a new thread begins; `session_id` is ours unless given.
    `cwd` must lie inside the daemon's workspace. `reason` is startup or resume; to continue after
    a restore pass its `session_id`, which `thread/resume` has already made."""

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
    """Begin a turn with the user's message. At most one turn is open in a session."""

    session_id: str
    message: str
    event_id: str | None = None


class TurnStartResult(Wire):
    """The turn's id and the token that `turn/complete` must present."""

    turn_id: str
    token: str


class TurnCompleteParams(Wire):
    """End a turn; `status` is completed, interrupted or failed. `message` is the agent's answer."""

    session_id: str
    turn_id: str
    token: str
    status: str = "completed"
    message: str = ""


class TurnCompleteResult(Wire):
    """`repeated` when this turn had been completed before: nothing was written twice."""

    last_durable_event: int
    repeated: bool = False


class EventAppendParams(Wire):
    """Append one event of the closed union (`restore/events` has them; for example
    `usage_recorded`, `check_recorded`, `entry_added`, `permissions_set`).

    A repeated `event_id` with the same content is answered, not written again; with other content
    it is an `eventConflict`."""

    session_id: str
    event_id: str
    type: str
    payload: dict[str, Any]
    turn_id: str | None = None
    at: str | None = None


class EventAppendResult(Wire):
    """Where the event stands. It is durable when this arrives."""

    seq: int
    last_durable_event: int
    repeated: bool = False


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
    """Settle one tool call; `state` is committed, failed, denied or aborted."""

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
