"""Keeping conversations: put away and brought back."""

from resumed.protocol.restore import Wire


class ThreadArchiveParams(Wire):
    """`thread_id` is an id, a name, or a unique part of either."""

    thread_id: str


class ThreadArchiveResult(Wire):
    """Where the thread is now. `changed` is false when it was there already. `depends_on` names the
    agent's own file, which stays where it is."""

    thread_id: str
    name: str
    archived: bool
    changed: bool
    depends_on: str | None = None
