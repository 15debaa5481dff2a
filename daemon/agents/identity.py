"""Identities of imported things: always the same id from the same origin.

The namespace below is part of every id ever derived from an agent's name: it must never change.
"""

import hashlib
import uuid

_VARIANT = {digit: "89ab"[int(digit, 16) & 3] for digit in "0123456789abcdef"}
_RESUMED = uuid.UUID("5a0f2c7e-54b4-4c0b-9d64-0c8f6f0f9a31")


def namespace(text: str) -> bytes:
    """The namespace to derive ids in: of an id its own bytes, of any other text one made from it."""
    try:
        return uuid.UUID(text).bytes
    except ValueError:
        return uuid.uuid5(_RESUMED, text).bytes


def derived_id(space: bytes, name: str) -> str:
    """The version 5 UUID of `name` in a namespace, as text.

    Same value as `uuid.uuid5`, at a third of its cost: an import derives one for each event.
    """
    text = hashlib.sha1(space + name.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()
    return f"{text[:8]}-{text[8:12]}-5{text[13:16]}-{_VARIANT[text[16]]}{text[17:20]}-{text[20:32]}"


def imported_thread_id(agent: str, native_id: str) -> str:
    """The thread id of an agent's session: its own id when that is a UUID, else derived from it."""
    try:
        return str(uuid.UUID(native_id))
    except ValueError:
        return derived_id(namespace(agent), native_id)
