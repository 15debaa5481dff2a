"""Events of a session stream: what one run of a thread did and saw."""

from typing import Any

import msgspec

from resumed.restore.events.envelope import Payload


class GitRef(msgspec.Struct, frozen=True, kw_only=True):
    """A commit as recorded: full object id, branch name, normalised origin."""

    sha: str | None = None
    branch: str | None = None
    origin: str | None = None


class AgentRef(msgspec.Struct, frozen=True, kw_only=True):
    """The agent that ran, and its own id for the conversation."""

    name: str
    version: str | None = None
    native_id: str | None = None


class SessionMeta(Payload):
    """First line of a session stream. `reason`: startup, resume, clear, compact, fork, import."""

    schema_version: int
    thread_id: str
    session_id: str
    agent: AgentRef
    source: str
    cwd: str
    created_at: str
    reason: str
    resumed_from: str | None = None
    forked_from: str | None = None
    workspace_id: str | None = None
    worktree_id: str | None = None
    repo_id: str | None = None
    git: GitRef = GitRef()
    model: str | None = None
    approval_mode: str | None = None
    sandbox_policy: str | None = None
    tool_profile: str | None = None


class Ingested(Payload):
    """A foreign file was read through `offset`, in bytes before any compression; its events are derived
    from it, not copied. `prefix_hash` stands for the bytes before `offset`."""

    path: str
    device: int
    inode: int
    offset: int
    prefix_hash: str
    skipped_lines: int
    translator_version: int


class SessionEnded(Payload):
    """The run is over. `clean` is false when it was found dead."""

    reason: str
    clean: bool


class ProcessObserved(Payload):
    """What the system said about the agent's process."""

    owner: str
    state: str
    children: tuple[int, ...] = ()
    cwd: str | None = None
    mode: str | None = None


class TurnStarted(Payload):
    """A turn began. `provenance`: user, goal, agent, recovery."""

    turn_id: str
    token: str | None = None
    provenance: str = "user"
    entry_id: str | None = None
    queue_item: str | None = None


class TurnEnded(Payload):
    """A turn ended. `status`: completed, interrupted, failed."""

    turn_id: str
    status: str
    token: str | None = None
    final_entry: str | None = None
    delivery: str | None = None


class EntryAdded(Payload):
    """One entry of the conversation. `kind`: message, reasoning, call, result, summary, context.
    `text` is bounded; a longer body is named in the envelope's `blobs`."""

    kind: str
    role: str
    text: str = ""
    display: bool = True
    in_context: bool = True


class EntryAmended(Payload):
    """A later correction of an entry."""

    target_id: str
    text: str


class LeafMoved(Payload):
    """The conversation went on from another entry."""

    leaf_id: str
    cause: str
    summary_entry: str | None = None


class Boundary(Payload):
    """A new window begins. `kind`: compact, reset or clear."""

    kind: str
    reason: str = ""
    first_kept: str | None = None
    summary: str = ""
    tokens_before: int | None = None


class OperationBegun(Payload):
    """A tool call was announced. `operation_class`: read, write or external. `patches` describes
    the exact edit where the tool supplied it (see `FilePatch`)."""

    operation_id: str
    tool: str
    args_digest: str
    args: dict[str, Any] = {}
    operation_class: str = "external"
    cwd: str = ""
    paths: tuple[str, ...] = ()
    pre_hashes: dict[str, str] = {}
    patches: tuple["FilePatch", ...] = ()


class Hunk(msgspec.Struct, frozen=True, kw_only=True):
    """One place of an update: context lines before, removed, added, context after (no newlines)."""

    before: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


class FilePatch(msgspec.Struct, frozen=True, kw_only=True):
    """What an operation did to one file. `change`: add, update, delete. `sha256` is of the exact
    bytes after it where they are known; `hunks` is set for updates known by their differences."""

    path: str
    change: str
    sha256: str | None = None
    hunks: tuple[Hunk, ...] = ()
    moved_from: str | None = None
    lines_added: int = 0
    lines_removed: int = 0


class OperationSettled(Payload):
    """How a tool call ended: committed, failed, denied, aborted. `post_hashes` maps a path to the
    SHA-256 of its bytes after it, or to `absent`."""

    operation_id: str
    state: str
    exit_code: int | None = None
    post_hashes: dict[str, str] = {}
    patches: tuple[FilePatch, ...] = ()


class ResultStored(Payload):
    """The tool's result reached the conversation."""

    operation_id: str
    digest: str
    entry_id: str | None = None
    text: str = ""


class OperationResolved(Payload):
    """Someone decided what became of an ambiguous operation. `verdict`: landed, notLanded,
    finished, notRun, agentChecks. `by`: evidence or person."""

    operation_id: str
    verdict: str
    by: str
    evidence: str = ""


class WorktreeBound(Payload):
    """The run is in this folder from here on. `cause`: start, userChoice, agentTool, agentSilent,
    or observed: HEAD has moved there, by whom is not known, and the place stays what it was.
    `moved_from` are the names of the root that recorded paths were relative to until now, where the
    work goes on in another one; `made`: the folder was made for it, as a linked work tree;
    `branch_made`: the branch, which was gone, was made again for it."""

    cwd: str
    cause: str
    session_root: str = "."
    root: str | None = None
    worktree_id: str | None = None
    branch: str | None = None
    sha: str | None = None
    moved_from: tuple[str, ...] = ()
    made: bool = False
    branch_made: bool = False


class Goal(msgspec.Struct, frozen=True, kw_only=True):
    """A goal that the agent pursues by itself. `status`: active, paused, complete, cleared."""

    objective: str
    status: str


class PermissionsSet(Payload):
    """What the agent may do from here on; a field that is `None` was not said and stays as it was.
    `approval`: untrusted, on-request, on-failure, never. `sandbox`: read-only, workspace-write,
    danger-full-access. `mode`: plan, normal, auto, bypass. `directories`: more that it may write to.
    `ceiling_*` is the widest that policy allowed when this was recorded."""

    cause: str
    approval: str | None = None
    sandbox: str | None = None
    profile: str | None = None
    mode: str | None = None
    goal: Goal | None = None
    directories: tuple[str, ...] = ()
    trust: str | None = None
    ceiling_approval: str | None = None
    ceiling_sandbox: str | None = None


class ModelSet(Payload):
    """The model from here on."""

    model: str | None
    cause: str
    provider: str | None = None
    window: int | None = None
    overrides: dict[str, str] = {}


class EnvironmentSeen(Payload):
    """Host, user, agent version and an allow-listed environment (values as keyed hashes)."""

    host: str | None = None
    user: str | None = None
    toolchain: dict[str, str] = {}
    environment: dict[str, str] = {}
    tools: tuple[str, ...] = ()
    hooks: tuple[str, ...] = ()
    agent_version: str | None = None


class PromptSet(Payload):
    """The ordered sections of the system prompt."""

    sections: tuple[dict[str, str], ...]


class TodoItem(msgspec.Struct, frozen=True, kw_only=True):
    """One item; `status`: pending, inProgress, completed."""

    id: str
    text: str
    status: str
    origin: str = "agent"


class TodosSet(Payload):
    """A whole list. Only an `accepted` one counts. `operation_id` is the call that brought it,
    whose refusal takes it back."""

    items: tuple[TodoItem, ...]
    origin: str
    accepted: bool = True
    base_revision: str | None = None
    explanation: str = ""


class UsageRecorded(Payload):
    """Tokens of one request. `cached` is part of `input`, `reasoning` of `output`. `basis`:
    response, delta or estimate. `bucket`: main, compaction, subAgent."""

    usage_id: str
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    basis: str = "response"
    reasoning_tokens: int = 0
    model: str | None = None
    bucket: str = "main"
    cost: float | None = None
    price_version: str | None = None


class CheckRecorded(Payload):
    """A check's result. `inputs` maps a file, relative to the session root, to the SHA-256 of its
    bytes. `result`: passed, failed, error. `grade`: reported or seenInOutput."""

    check_id: str
    command: str
    result: str
    passed: int | None = None
    total: int | None = None
    findings: tuple[str, ...] = ()
    inputs: dict[str, str] = {}
    grade: str = "reported"


class StateInvalidated(Payload):
    """Something recorded no longer counts, and why."""

    subsystem: str
    keys: tuple[str, ...]
    reason: str


class ExtensionSet(Payload):
    """A direct agent's own state, by digest."""

    namespace: str
    digest: str
    on_mismatch: str
