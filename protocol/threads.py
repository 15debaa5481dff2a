"""`thread/list`, `thread/read`, `thread/name/set`, and what an editor may show of a thread."""

from resumed.protocol.restore import Wire


class ThreadListParams(Wire):
    """Threads of this workspace, newest activity first. `scope` is `workspace` or `all`;
    `cursor` is the `next_cursor` of the page before."""

    scope: str = "workspace"
    archived: bool = False
    limit: int = 50
    cursor: str | None = None


class ThreadSummary(Wire):
    """One row of a list. `group` is `project`, `worktree` or `elsewhere`; `state` is `idle`,
    `interrupted` (a turn or an action was open when it ended), `unfinished` (a restore was cut off; the
    next one settles it first) or `running`. Times are RFC 3339, UTC."""

    thread_id: str
    name: str
    agent: str
    group: str
    state: str
    root: str
    branch: str | None
    last_active_at: str
    created_at: str
    runs: int
    damaged: bool = False


class ThreadListResult(Wire):
    """A page. `notes` say what a person should know, for example that the index is being rebuilt."""

    threads: tuple[ThreadSummary, ...]
    next_cursor: str | None = None
    notes: tuple[str, ...] = ()


class ThreadReadParams(Wire):
    """`thread` is an id, a name, or a unique part of either."""

    thread: str


class PermissionsView(Wire):
    """What the record allowed last. `goal` is an active goal's objective."""

    approval: str | None
    sandbox: str | None
    profile: str | None
    mode: str
    goal: str | None = None
    goal_status: str | None = None


class TokensView(Wire):
    """Tokens; `cached` is part of `input`, `reasoning` part of `output`."""

    input: int
    cached: int
    output: int


class CostView(Wire):
    """Tokens in all and by bucket (main, compaction, ...). Cost in USD, `None` where not known."""

    total: TokensView
    buckets: dict[str, TokensView]
    usd: float | None
    since_clear: TokensView


class TodoView(Wire):
    """One item of the last accepted list; `status` is pending, inProgress or completed."""

    id: str
    text: str
    status: str
    origin: str = "agent"


class TodosView(Wire):
    """The list, the agent's explanation, and a revision for edits."""

    items: tuple[TodoView, ...]
    revision: str
    explanation: str = ""


class OperationView(Wire):
    """One action of the agent."""

    operation_id: str
    tool: str
    title: str
    state: str
    turn_id: str | None = None


class OperationsView(Wire):
    """How many actions, by state, and the ones whose end is not known."""

    total: int
    by_state: dict[str, int]
    dangling: tuple[OperationView, ...]


class FileView(Wire):
    """A file that the agent touched, relative to the recorded root where it lies inside."""

    path: str
    change: str
    lines_added: int = 0
    lines_removed: int = 0


class CheckView(Wire):
    """A recorded check and its last result. `passed`/`total` are `None` where not known."""

    check_id: str
    command: str
    result: str
    passed: int | None
    total: int | None
    findings: tuple[str, ...] = ()


class PlaceView(Wire):
    """Where the thread ran. `root` is the recorded folder, `last_folder` where its last turn ran;
    `silent_switches` are folders it changed to without anyone choosing. `sha` is as of `sha_as_of`
    (`start` or `last`)."""

    root: str
    last_folder: str
    silent_switches: tuple[str, ...]
    branch: str | None
    sha: str | None
    sha_as_of: str
    origin: str | None
    repo_id: str | None = None
    worktree_id: str | None = None


class ModelView(Wire):
    """The model of the last turn."""

    model: str | None
    provider: str | None
    window: int | None


class ConversationView(Wire):
    """Counts over the record, and what the model would see now (`in_window`)."""

    entries: int
    in_window: int
    user_turns: int
    goal_turns: int
    compactions: int
    first_message: str
    last_message: str


class RunView(Wire):
    """One run of the thread. `taken_up` is false of one that a restore made ready and that no agent has
    gone on from; it is none of the thread's runs yet, and has no number."""

    session_id: str
    started_at: str
    reason: str
    ended: str | None
    taken_up: bool = True


class ThreadReadResult(Wire):
    """Everything an editor may show of one thread. `depends_on` names a foreign file that is still
    the only copy; `damage` has one sentence for each kind of damage found. `not_resumable`: why no agent
    can go on from what is left, the one of these that says so."""

    thread_id: str
    name: str
    agent: str
    agent_version: str | None
    native_id: str | None
    forked_from: str | None
    state: str
    created_at: str
    last_active_at: str
    place: PlaceView
    permissions: PermissionsView
    model: ModelView
    conversation: ConversationView
    operations: OperationsView
    files: tuple[FileView, ...]
    todos: TodosView
    cost: CostView
    checks: tuple[CheckView, ...]
    runs: tuple[RunView, ...]
    depends_on: str | None = None
    damage: tuple[str, ...] = ()
    not_resumable: str | None = None


class NameSetParams(Wire):
    """Give a thread a name; an empty name goes back to the automatic one."""

    thread_id: str
    name: str


class NameSetResult(Wire):
    """The name in force."""

    thread_id: str
    name: str


class ThreadUpdated(Wire):
    """A thread changed; `summary` is its row now."""

    summary: ThreadSummary
