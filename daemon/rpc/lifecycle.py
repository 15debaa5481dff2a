"""Which requests a connection may send now: ours after `resumed/initialize`, LSP's after `initialize`.

The two handshakes are apart: an editor may speak only LSP, an agent only our methods.
"""

import enum

from resumed.protocol.daemon import PROTOCOL_VERSION, InitializeParams
from resumed.protocol.errors import ErrorCode, ResumedError
from resumed.protocol.methods import REQUESTS

INITIALIZE = "resumed/initialize"
_BEFORE_INITIALIZE = frozenset({INITIALIZE, "daemon/drain"})
_LSP_METHODS = frozenset({"initialize", "initialized", "shutdown", "exit", "$/setTrace"})
_LSP_FOLDERS = frozenset(
    {"textDocument", "workspace", "workspaceSymbol", "window", "notebookDocument", "codeAction", "codeLens"}
    | {"completionItem", "documentLink", "inlayHint", "callHierarchy", "typeHierarchy"}
)


class LspState(enum.Enum):
    """Where the connection stands in LSP's own life cycle."""

    NEW = "new"
    INITIALIZED = "initialized"
    SHUT_DOWN = "shut down"


def is_lsp(method: str) -> bool:
    """Whether a method belongs to LSP."""
    return method in _LSP_METHODS or method.partition("/")[0] in _LSP_FOLDERS


class Lifecycle:
    """The state of one connection's two handshakes."""

    def __init__(self) -> None:
        self.initialized = False
        self.lsp = LspState.NEW

    def admit(self, method: str) -> None:
        """Let a request pass and note what it changes. Raises `ResumedError` for one that may not."""
        if self.lsp is LspState.SHUT_DOWN:
            raise ResumedError(
                ErrorCode.INVALID_REQUEST, "This connection was shut down.", "Send exit and connect again."
            )
        if is_lsp(method):
            self._admit_lsp(method)
        elif method not in REQUESTS:
            raise ResumedError(
                ErrorCode.METHOD_NOT_FOUND,
                f"There is no method {method[:100]!r}.",
                "resumed/initialize lists the methods.",
            )
        else:
            self._admit_ours(method)

    def refused(self, method: str) -> None:
        """Take back what `admit` noted for an LSP request that failed: `initialize` may be sent again."""
        if method == "initialize":
            self.lsp = LspState.NEW

    def _admit_ours(self, method: str) -> None:
        if method == INITIALIZE and self.initialized:
            raise ResumedError(
                ErrorCode.INVALID_REQUEST, "This connection is initialized already.", "Go on with it."
            )
        if method not in _BEFORE_INITIALIZE and not self.initialized:
            raise ResumedError(
                ErrorCode.NOT_INITIALIZED, "This connection is not initialized.", f"Send {INITIALIZE} first."
            )

    def _admit_lsp(self, method: str) -> None:
        if (method == "initialize") == (self.lsp is LspState.INITIALIZED):
            code = ErrorCode.INVALID_REQUEST if method == "initialize" else ErrorCode.NOT_INITIALIZED
            sentence = "LSP was initialized already." if method == "initialize" else "LSP is not initialized."
            raise ResumedError(code, sentence, "Send initialize once, first.")
        if method == "initialize":
            self.lsp = LspState.INITIALIZED
        elif method == "shutdown":
            self.lsp = LspState.SHUT_DOWN


def check_version(params: InitializeParams) -> None:
    """Raises `ResumedError` `protocolMismatch` for another major version than ours.

    Its `ways` hold `daemon/drain` when the client is the newer one and may start its own daemon.
    """
    theirs, _, _ = params.protocol_version.partition(".")
    ours, _, _ = PROTOCOL_VERSION.partition(".")
    if theirs == ours:
        return
    newer = theirs.isdecimal() and int(theirs[:9]) > int(ours)
    raise ResumedError(
        ErrorCode.PROTOCOL_MISMATCH,
        f"The client speaks protocol {params.protocol_version[:20]}, this daemon {PROTOCOL_VERSION}.",
        "Ask this daemon to drain, then start the newer one." if newer else "Update the client.",
        ways=("daemon/drain",) if newer else (),
    )
