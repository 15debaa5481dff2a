"""What the translator carries from one line to the next: small, and stored in a cursor.

A change of meaning here needs another `TRANSLATOR_VERSION`.
"""

import msgspec

from resumed.daemon.agents.codex.lines import Tokens
from resumed.restore.events.session import FilePatch, Goal, TodoItem


class OpenCall(msgspec.Struct):
    """A tool call without its output yet. `patches` are the exact edits, once they were told;
    `status` is what the display form said of it; `plan` is the list it asks for."""

    operation_id: str
    tool: str
    patches: tuple[FilePatch, ...] = ()
    status: str = ""
    plan: tuple[TodoItem, ...] | None = None
    explanation: str = ""


class HeldMessage(msgspec.Struct):
    """A user message of an older file of which the next line says whether a person wrote it."""

    text: str
    offset: int
    seq: int
    ts: str


class Permissions(msgspec.Struct, frozen=True):
    """What the last turn was allowed."""

    approval: str | None
    sandbox: str | None
    profile: str | None
    mode: str
    directories: tuple[str, ...]


class TranslatorState(msgspec.Struct):
    """`thread` is the file's own thread, `origin` the one that wrote the current line: during the
    copy of a fork's parent they differ. `turn` is the open turn. `totals` is the last cumulative
    usage; once a usage record was seen (`recorded`) it no longer counts. `produced`: the model gave
    output since the last usage; `compacting`: the next usage is of a compaction."""

    lines: int = 0
    native: str = ""
    thread: str = ""
    session: str = ""
    origin: str = ""
    replayed: bool = False
    branch: str | None = None
    sha: str | None = None
    cwd: str = ""
    bound: str | None = None
    provider: str | None = None
    model: tuple[str | None, str | None, int | None, str | None] | None = None
    window: int | None = None
    permissions: Permissions | None = None
    goal: Goal | None = None
    turn: str | None = None
    leaf: str | None = None
    answer: str | None = None
    calls: dict[str, OpenCall] = {}
    totals: Tokens = msgspec.field(default_factory=Tokens)
    recorded: bool = False
    produced: bool = False
    compacting: bool = False
    held: HeldMessage | None = None
