"""`resumed/initialize` and `daemon/status`."""

from resumed.protocol.restore import Wire

PROTOCOL_VERSION = "1.0"


class ClientInfo(Wire):
    """Who connects. `env` is the client's own environment; only an allow-listed part is recorded."""

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
    """Ask the daemon to finish what it does and exit, for example because it is older."""

    reason: str = ""


class DrainResult(Wire):
    """The daemon takes no new work and exits when idle."""

    draining: bool
