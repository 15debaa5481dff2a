"""`resumed/initialize` and `daemon/status`."""

from resumed.protocol.restore import Wire

PROTOCOL_VERSION = "1.0"
ENVIRONMENT = (
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
    "GIT_COMMON_DIR",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_CONFIG_SYSTEM",
    "GIT_DIR",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_WORK_TREE",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "LANG",
    "PATH",
    "VIRTUAL_ENV",
)
"""What our own client sends of its environment. `ClientInfo` names the same to everybody else."""


class ClientInfo(Wire):
    """Who connects. `env` is the part of the client's own environment that may be sent: PATH, LANG,
    VIRTUAL_ENV, CODEX_HOME, CLAUDE_CONFIG_DIR, HTTP_PROXY, HTTPS_PROXY, GIT_DIR, GIT_WORK_TREE,
    GIT_COMMON_DIR, GIT_INDEX_FILE, GIT_OBJECT_DIRECTORY, GIT_CONFIG_GLOBAL, GIT_CONFIG_SYSTEM and
    GIT_CONFIG_NOSYSTEM. The daemon keeps none of it, whatever it holds."""

    name: str
    version: str = ""
    pid: int = 0
    env: dict[str, str] = {}


class ClientCapabilities(Wire):
    """What the client can do: `restore_ask` answers `restore/ask`; `progress` wants `restore/progress`."""

    restore_ask: bool = False
    progress: bool = False


class InitializeParams(Wire):
    """First message on each connection. Another major protocol version gets `protocolMismatch`."""

    protocol_version: str
    client: ClientInfo
    capabilities: ClientCapabilities = ClientCapabilities()


class InitializeResult(Wire):
    """The daemon's version and protocol, the workspace it serves, and the methods it answers."""

    protocol_version: str
    version: str
    workspace_id: str
    root: str
    methods: tuple[str, ...]


class StatusParams(Wire):
    """No parameters."""


class StatusResult(Wire):
    """A running daemon in figures. `storage` is `ok`, `readOnly` or `failing`; `index` is `ok` or
    `rebuilding`; times are RFC 3339 in UTC."""

    version: str
    protocol_version: str
    pid: int
    started_at: str
    root: str
    workspace_id: str
    state_folder: str
    clients: int
    threads: int
    leases: int
    open_questions: int
    storage: str
    index: str
    notes: tuple[str, ...] = ()


class ResyncNotification(Wire):
    """The client's outbox overflowed: notifications were dropped, read the state again."""

    dropped: int


class DrainParams(Wire):
    """Ask the daemon to exit, for example because it is older. Sessions that are open go on until they
    end; `session/start` and `thread/resume` are refused as `draining` from now on."""

    reason: str = ""


class DrainResult(Wire):
    """The daemon takes no new sessions and exits when no session is open and no request is running."""

    draining: bool
