"""Identifiers as they travel: strings, validated before they become a name of anything.

`restore` may import this module; it holds value types only.
"""

import re
from typing import NewType

ThreadId = NewType("ThreadId", str)
SessionId = NewType("SessionId", str)
TurnId = NewType("TurnId", str)
EventId = NewType("EventId", str)
EntryId = NewType("EntryId", str)
OperationId = NewType("OperationId", str)
RestoreId = NewType("RestoreId", str)
WorkspaceId = NewType("WorkspaceId", str)
WorktreeId = NewType("WorktreeId", str)
RepoId = NewType("RepoId", str)

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TOKEN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,199}")


class InvalidId(ValueError):
    """A string that may not become an identifier. `args[0]` says which kind was expected."""


def parse_uuid(text: str) -> str:
    """Return the canonical lower-case form of a 8-4-4-4-12 id; any version digit is taken.

    Raises `InvalidId` for anything else, so that an id can become a file name unchanged.
    """
    candidate = text.strip().lower()
    if not _UUID.fullmatch(candidate):
        raise InvalidId("an id of the form 8-4-4-4-12 hexadecimal digits")
    return candidate


def parse_token(text: str) -> str:
    """Return `text` if it is a client-chosen id: 1 to 200 of letters, digits, `.`, `_`, `:`, `-`."""
    if not _TOKEN.fullmatch(text):
        raise InvalidId("an id of 1 to 200 letters, digits, '.', '_', ':' or '-'")
    return text
