"""The lines of a rollout as types: only the fields that matter, everything else is skipped unread.

Every field is optional: a file from another version must not be damaged for lacking one.
"""

from typing import Any, Generic, TypeVar

import msgspec

P = TypeVar("P")


class Content(msgspec.Struct):
    """A piece of a message; only text pieces have text."""

    text: str = ""


class Metadata(msgspec.Struct):
    """Beside the payload of an item: whether the item is the output of a compaction."""

    compaction_output: bool = False


class Kind(msgspec.Struct):
    """A payload's own type."""

    type: str = ""


class Peek(msgspec.Struct):
    """The types of a line and of its payload, which together say how to read the rest."""

    type: str
    payload: Kind


class Line(msgspec.Struct, Generic[P]):
    """One line."""

    payload: P
    timestamp: str = ""
    ordinal: int | None = None
    metadata: Metadata | None = None


class Git(msgspec.Struct):
    """The repository at the start of the session."""

    commit_hash: str | None = None
    branch: str | None = None
    repository_url: str | None = None


class SessionMetaLine(msgspec.Struct):
    """First line of a session; a second one in a file is the copy of the parent of a fork."""

    id: str
    timestamp: str = ""
    cwd: str = ""
    cli_version: str | None = None
    model_provider: str | None = None
    forked_from_id: str | None = None
    git: Git | None = None


class SandboxPolicy(msgspec.Struct):
    """What commands may write. Older versions say `mode` for `type`."""

    type: str | None = None
    mode: str | None = None
    writable_roots: list[str] = []


class Named(msgspec.Struct):
    """An active permission profile."""

    id: str | None = None


class AccessPath(msgspec.Struct):
    """A folder by its path; special ones (the root, temporary folders) have none."""

    path: str | None = None


class AccessEntry(msgspec.Struct):
    """What may be done at a path: `read`, `write` or `none`."""

    path: AccessPath = msgspec.field(default_factory=AccessPath)
    access: str = ""


class FileSystem(msgspec.Struct):
    """What a permission profile says of files."""

    entries: list[AccessEntry] = []


class PermissionProfile(msgspec.Struct):
    """The permissions of a turn as newer versions write them, beside the sandbox policy.
    `file_system` is a `FileSystem` in the versions known, and never makes a line unreadable."""

    type: str | None = None
    file_system: Any = None


class Settings(msgspec.Struct):
    """Settings of a collaboration mode."""

    reasoning_effort: str | None = None


class CollaborationMode(msgspec.Struct):
    """`plan` or `default`, with its settings."""

    mode: str = ""
    settings: Settings | None = None


class TurnContextLine(msgspec.Struct):
    """What a turn runs with. `approval_policy` is a word, or an object of single permissions."""

    cwd: str = ""
    approval_policy: str | dict[str, Any] | None = None
    sandbox_policy: SandboxPolicy | None = None
    permission_profile: PermissionProfile | None = None
    active_permission_profile: Named | None = None
    model: str | None = None
    effort: str | None = None
    collaboration_mode: CollaborationMode | None = None


class Tokens(msgspec.Struct):
    """Token counts; `cached` is part of `input`, `reasoning` of `output`."""

    input_tokens: int = 0
    cached_input_tokens: int = 0
    output_tokens: int = 0
    reasoning_output_tokens: int = 0


class UsageLine(msgspec.Struct):
    """Usage of one request."""

    thread_id: str = ""
    response_id: str = ""
    usage: Tokens = msgspec.field(default_factory=Tokens)


class CompactedLine(msgspec.Struct):
    """The history above is replaced by this for the model."""

    message: str = ""


class Attribution(msgspec.Struct):
    """Who began a turn."""

    turn_trigger: str | None = None


class TaskLine(msgspec.Struct):
    """A turn began, ended or was broken off."""

    turn_id: str | None = None
    turn_attribution: Attribution | None = None
    model_context_window: int | None = None


class UserMessageLine(msgspec.Struct):
    """What the user typed (older files)."""

    message: str = ""


class NativeGoal(msgspec.Struct):
    """A goal as Codex says it."""

    objective: str = ""
    status: str = ""


class GoalLine(msgspec.Struct):
    """The goal was changed from outside a turn."""

    goal: NativeGoal | None = None


class TokenInfo(msgspec.Struct):
    """Usage of the whole thread so far."""

    total_token_usage: Tokens | None = None


class TokenCountLine(msgspec.Struct):
    """A repeated statement of the usage so far."""

    info: TokenInfo | None = None


class ThreadSettings(msgspec.Struct):
    """Settings of a thread."""

    model_provider_id: str | None = None


class SettingsLine(msgspec.Struct):
    """Settings were applied to a thread."""

    thread_id: str = ""
    thread_settings: ThreadSettings | None = None


class Change(msgspec.Struct):
    """An exact change of one file: add (content), update (unified_diff) or delete."""

    type: str = ""
    content: str | None = None
    unified_diff: str | None = None
    move_path: str | None = None


class CompletedItem(msgspec.Struct):
    """The form of an item that is for display; of these only user messages and file changes count."""

    type: str = ""
    id: str = ""
    content: list[Content] = []
    changes: dict[str, Change] = {}
    status: str = ""


class ItemCompletedLine(msgspec.Struct):
    """An item is complete."""

    thread_id: str = ""
    item: CompletedItem = msgspec.field(default_factory=CompletedItem)


class Passthrough(msgspec.Struct):
    """Who wrote the pieces of a message, for example `user.text`."""

    content_item_kinds: list[str] = []


class MessageItem(msgspec.Struct):
    """A message in the model's history."""

    role: str = ""
    content: list[Content] | None = None
    internal_chat_message_metadata_passthrough: Passthrough | None = None


class ReasoningItem(msgspec.Struct):
    """Reasoning, of which only a summary is readable."""

    summary: list[Content] | None = None


class CallItem(msgspec.Struct):
    """A tool call. Functions have `arguments` (JSON as text), custom tools have `input`."""

    name: str = ""
    call_id: str | None = None
    arguments: str = ""
    input: str = ""


class ShellAction(msgspec.Struct):
    """The command of an old shell call."""

    command: list[str] = []


class ShellCallItem(msgspec.Struct):
    """A shell call of the old form."""

    call_id: str | None = None
    action: ShellAction = msgspec.field(default_factory=ShellAction)


class OutputBody(msgspec.Struct):
    """An output with a flag of success."""

    content: str = ""
    success: bool | None = None


class OutputItem(msgspec.Struct):
    """A tool's output. Without `call_id` it is context that the agent added."""

    call_id: str | None = None
    name: str = ""
    output: str | list[Content] | OutputBody = ""


Item = MessageItem | ReasoningItem | CallItem | ShellCallItem | OutputItem
Told = TaskLine | UserMessageLine | TokenCountLine | SettingsLine | ItemCompletedLine | GoalLine
Payload = SessionMetaLine | TurnContextLine | UsageLine | CompactedLine | Item | Told
