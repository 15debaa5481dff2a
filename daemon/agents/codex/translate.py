"""Rollout lines to events: pure, deterministic, one line at a time, both formats.

The translator never looks ahead and never at anything but the line and its state, so that reading
in two parts gives the events of reading in one. It reads no clock, no file and no environment.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import msgspec

from resumed.daemon.agents.codex import lines
from resumed.daemon.agents.codex.calls import (
    begin_call,
    begin_shell_call,
    complete_item,
    end_call,
    update_goal,
)
from resumed.daemon.agents.codex.conversation import (
    add_message,
    add_reasoning,
    add_told_message,
    compact,
    settle_held_message,
)
from resumed.daemon.agents.codex.emit import Emitter
from resumed.daemon.agents.codex.lines import Line, Payload
from resumed.daemon.agents.codex.session import (
    apply_settings,
    begin_session,
    begin_turn,
    begin_unnamed_session,
    bind_turn,
    complete_turn,
    interrupt_turn,
    leave_replay,
)
from resumed.daemon.agents.codex.state import TranslatorState
from resumed.daemon.agents.codex.usage import count_tokens, record_usage
from resumed.daemon.agents.reading import UnreadableLine
from resumed.restore.events.envelope import Event

TRANSLATOR_VERSION = 2

P = TypeVar("P", bound=Payload)


class _Row(NamedTuple):
    """How one kind of line is decoded, and what becomes of its payload."""

    decode: Callable[[bytes], Line[Any]]
    translate: Callable[[Emitter, Any], None]


def _row(payload: type[P], translate: Callable[[Emitter, P], None]) -> _Row:
    generic: Any = Line
    return _Row(msgspec.json.Decoder(generic[payload]).decode, translate)


_LINES = {
    "session_meta": _row(lines.SessionMetaLine, begin_session),
    "turn_context": _row(lines.TurnContextLine, bind_turn),
    "token_usage_record": _row(lines.UsageLine, record_usage),
    "compacted": _row(lines.CompactedLine, compact),
}
_EVENTS = {
    "task_started": _row(lines.TaskLine, begin_turn),
    "turn_started": _row(lines.TaskLine, begin_turn),
    "task_complete": _row(lines.TaskLine, complete_turn),
    "turn_complete": _row(lines.TaskLine, complete_turn),
    "turn_aborted": _row(lines.TaskLine, interrupt_turn),
    "user_message": _row(lines.UserMessageLine, add_told_message),
    "token_count": _row(lines.TokenCountLine, count_tokens),
    "thread_settings_applied": _row(lines.SettingsLine, apply_settings),
    "thread_goal_updated": _row(lines.GoalLine, update_goal),
    "item_completed": _row(lines.ItemCompletedLine, complete_item),
}
_ITEMS = {
    "message": _row(lines.MessageItem, add_message),
    "reasoning": _row(lines.ReasoningItem, add_reasoning),
    "function_call": _row(lines.CallItem, begin_call),
    "custom_tool_call": _row(lines.CallItem, begin_call),
    "local_shell_call": _row(lines.ShellCallItem, begin_shell_call),
    "function_call_output": _row(lines.OutputItem, end_call),
    "custom_tool_call_output": _row(lines.OutputItem, end_call),
    "local_shell_call_output": _row(lines.OutputItem, end_call),
}
_TABLES = {"response_item": _ITEMS, "event_msg": _EVENTS}
_decode_state = msgspec.msgpack.Decoder(TranslatorState).decode
_peek = msgspec.json.Decoder(lines.Peek).decode
_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class Translator:
    """Translates one file. `file_name` is the rollout's name without compression suffix; `state` is
    an earlier `snapshot`, to go on after the line it was taken at."""

    def __init__(self, file_name: str, state: bytes | None = None) -> None:
        self._state = _decode_state(state) if state is not None else TranslatorState()
        self._emitter = Emitter(file_name, self._state)

    def snapshot(self) -> bytes:
        """The state after the last line, for a cursor."""
        return msgspec.msgpack.encode(self._state)

    def feed(self, line: bytes, offset: int) -> list[Event]:
        """The events of one line; one of a kind that is not ours has none.

        Raises `UnreadableLine` for a line that is not whole or not of the form; the state is then
        as if the line were not there.
        """
        emitter = self._emitter
        emitter.events = []
        row, decoded = _decode(line)
        state = self._state
        state.lines += 1
        if state.held is not None:
            settle_held_message(emitter, None if decoded is None else decoded.payload)
        if row is not None and decoded is not None:
            emitter.at_line(offset, decoded)
            payload = decoded.payload
            if not state.thread and not isinstance(payload, lines.SessionMetaLine):
                begin_unnamed_session(emitter, decoded.timestamp)
            if state.replayed:
                leave_replay(state, payload)
            row.translate(emitter, payload)
        return emitter.events


def decode_payload(line: bytes) -> Payload | None:
    """The payload of a line, if it is of a kind that is ours. Raises `UnreadableLine`."""
    decoded = _decode(line)[1]
    return None if decoded is None else decoded.payload


def _decode(line: bytes) -> tuple[_Row | None, Line[Payload] | None]:
    try:
        types = _peek(line)
        table = _TABLES.get(types.type)
        row = _LINES.get(types.type) if table is None else table.get(types.payload.type)
        return row, None if row is None else row.decode(line)
    except _UNREADABLE as problem:
        raise UnreadableLine(_what_is_wrong(line, problem)) from problem


def _what_is_wrong(line: bytes, problem: Exception) -> str:
    if b"\0" in line:
        return "is only NUL bytes" if not line.strip(b"\0\r\n") else "contains NUL bytes"
    if line.startswith(b"{") and not line.rstrip().endswith(b"}"):
        return "is cut off in the middle"
    if isinstance(problem, msgspec.ValidationError):
        return "has an unexpected form"
    return "is not readable"
