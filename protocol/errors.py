"""Every error a client can get: one code, one kind, one sentence, one hint.

Codes below -32000 are JSON-RPC's and LSP's own; ours are positive, so the two never meet.
"""

import enum

import msgspec


class ErrorCode(enum.IntEnum):
    """JSON-RPC error codes in use. The name in lower camel case is the `kind` in the error's data."""

    PARSE_ERROR = -32700
    INVALID_REQUEST = -32600
    METHOD_NOT_FOUND = -32601
    INVALID_PARAMS = -32602
    INTERNAL_ERROR = -32603
    NOT_INITIALIZED = -32002
    REQUEST_CANCELLED = -32800
    PROTOCOL_MISMATCH = 1001
    THREAD_NOT_FOUND = 1002
    THREAD_AMBIGUOUS = 1003
    THREAD_BUSY = 1004
    SESSION_NOT_FOUND = 1005
    SESSION_EXISTS = 1006
    SESSION_ENDED = 1007
    TURN_BUSY = 1008
    TURN_NOT_FOUND = 1009
    OPERATION_CONFLICT = 1010
    OPERATION_NOT_FOUND = 1011
    EVENT_CONFLICT = 1012
    EVENT_REFUSED = 1013
    STORAGE_FAILED = 1016
    STATE_READ_ONLY = 1017
    WORKSPACE_REFUSED = 1018
    FRAME_TOO_LARGE = 1019
    DRAINING = 1020
    REVISION_STALE = 1021
    RESTORE_UNFINISHED = 1022
    FILE_REFUSED = 1030
    NOTHING_KEPT = 1031
    IMPORT_DAMAGED = 1032
    IMPORT_NEWER = 1033
    IMPORT_CONFLICT = 1034

    @property
    def kind(self) -> str:
        """The code's name as clients match on it, for example `threadBusy`."""
        head, *tail = self.name.lower().split("_")
        return head + "".join(word.capitalize() for word in tail)


class Holder(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Who holds a thread: the client's own name, its process id, and since when (RFC 3339, UTC)."""

    name: str
    pid: int
    since: str


class ErrorData(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The `data` of an error response. `holder` and `ways` are set by `threadBusy`,
    `candidates` (thread ids with names) by `threadAmbiguous`."""

    kind: str
    hint: str
    holder: Holder | None = None
    ways: tuple[str, ...] = ()
    candidates: tuple[str, ...] = ()


class ResumedError(Exception):
    """A refusal with a code, one sentence for people and a hint what to do next."""

    def __init__(
        self,
        code: ErrorCode,
        sentence: str,
        hint: str,
        *,
        holder: Holder | None = None,
        ways: tuple[str, ...] = (),
        candidates: tuple[str, ...] = (),
    ) -> None:
        super().__init__(sentence)
        self.code = code
        self.sentence = sentence
        self.data = ErrorData(kind=code.kind, hint=hint, holder=holder, ways=ways, candidates=candidates)
