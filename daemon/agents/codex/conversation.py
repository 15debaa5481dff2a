"""Entries of the conversation, each counted once although Codex writes most of them twice.

A person's message is the one told as an event; the same text in the model's history is passed over.
Everything else there with the role of the user is context that the agent added.
"""

from resumed.daemon.agents.codex import lines
from resumed.daemon.agents.codex.emit import MAX_MESSAGE, Emitter
from resumed.restore.events.session import Boundary


def add_user_message(emitter: Emitter, text: str) -> None:
    """A person wrote this."""
    emitter.entry("message", "user", text)


def add_told_message(emitter: Emitter, line: lines.UserMessageLine) -> None:
    """A person's message, told as an event of an older file."""
    add_user_message(emitter, line.message)


def add_message(emitter: Emitter, item: lines.MessageItem) -> None:
    """A message in the model's history."""
    state = emitter.state
    text = _text_of(item.content)
    if item.role == "assistant":
        if emitter.compaction_output:
            state.compacting = True
            return
        state.produced = True
        state.answer = emitter.entry("message", "assistant", text)
    elif item.role == "user":
        _add_user_item(emitter, item, text)
    else:
        emitter.entry("context", item.role, text, display=False)


def add_reasoning(emitter: Emitter, item: lines.ReasoningItem) -> None:
    """Reasoning; shown only if any of it is readable."""
    emitter.state.produced = True
    text = _text_of(item.summary)
    emitter.entry("reasoning", "assistant", text, display=bool(text))


def compact(emitter: Emitter, line: lines.CompactedLine) -> None:
    """For the model the history above is replaced by a summary; for us it stays."""
    emitter.add(Boundary(kind="compact", summary=line.message[:MAX_MESSAGE]))


def settle_held_message(emitter: Emitter, following: lines.Payload | None) -> None:
    """Decide a held message by the line after it: the event of the same text makes it a person's."""
    state = emitter.state
    held, state.held = state.held, None
    if held is None:
        return
    if isinstance(following, lines.UserMessageLine) and following.message[:MAX_MESSAGE] == held.text:
        return
    emitter.add_held(held)


def _add_user_item(emitter: Emitter, item: lines.MessageItem, text: str) -> None:
    passthrough = item.internal_chat_message_metadata_passthrough
    if passthrough is None:
        emitter.hold(text)
    elif not any(kind.startswith("user.") for kind in passthrough.content_item_kinds):
        emitter.entry("context", "user", text, display=False)


def _text_of(content: list[lines.Content] | None) -> str:
    if not content:
        return ""
    if len(content) == 1:
        return content[0].text
    return "\n".join(piece.text for piece in content if piece.text)
