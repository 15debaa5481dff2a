"""Who holds a thread besides this daemon.

Only the lock says that somebody does. What its file says about them is a hint, which can at worst make a
thread look as if another process had it.
"""

from resumed.daemon.ports import processes
from resumed.daemon.storage.layout import Layout
from resumed.daemon.storage.lease import holder_of


class Holders:
    """Looks at the leases of a state folder. Blocks."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._owner = processes.owner()

    def anybody(self, thread_id: str) -> bool:
        """Whether anybody holds the thread, this daemon included."""
        return holder_of(self._layout, thread_id) is not None

    def elsewhere(self, thread_id: str) -> bool:
        """Whether another process holds the thread."""
        holder = holder_of(self._layout, thread_id)
        return holder is not None and holder.owner != self._owner
