"""What of the state folder is a thread's own: its stream, the streams of its runs, copies of their bytes.

The record of a worktree is not: all threads that ran there share it.
"""

import contextlib
from pathlib import Path

import msgspec

from resumed.daemon.scanning import thread_of
from resumed.daemon.storage.layout import Layout
from resumed.daemon.storage.reader import Reading
from resumed.daemon.storage.segments import segment_files
from resumed.restore.events.thread import SessionLinked

FOREIGN = "foreign"


class Belongings(msgspec.Struct, frozen=True, kw_only=True):
    """Ids of the thread's runs that have streams of ours, oldest file name first; `known` says whether
    the thread has a stream of its own."""

    thread_id: str
    known: bool
    sessions: tuple[str, ...]

    @property
    def streams(self) -> tuple[str, ...]:
        """The names of the streams, the thread's own last."""
        own = (f"thread:{self.thread_id}",) if self.known else ()
        return (*(f"session:{session}" for session in self.sessions), *own)


def belongings(layout: Layout, thread_id: str) -> Belongings:
    """Look for everything of a thread. Blocks: it reads the first line of every run.

    A run belongs to the thread that its first line names; one whose first line can't be read, to the
    thread that links it."""
    linked = _linked(layout, thread_id)
    found: dict[str, str] = {}
    for stream, path in layout.first_files("session"):
        session = stream.partition(":")[2]
        owner = thread_of(path)
        if owner == thread_id or (not owner and session in linked):
            found[session] = path.name
    known = layout.find_stream(f"thread:{thread_id}") is not None
    return Belongings(thread_id=thread_id, known=known, sessions=tuple(sorted(found, key=found.__getitem__)))


def files_of(layout: Layout, stream: str) -> tuple[Path, ...]:
    """The files of a stream, in order; empty if there is none."""
    first = layout.find_stream(stream)
    return tuple(file.path for file in segment_files(first)) if first is not None else ()


def copies_of(layout: Layout, names: set[str]) -> tuple[Path, ...]:
    """The copies in the quarantine of bytes of these stream files."""
    found = (path for path in layout.quarantine.glob("*.torn"))
    return tuple(sorted(path for path in found if path.name.rsplit(".", 2)[0] in names))


def _linked(layout: Layout, thread_id: str) -> set[str]:
    path = layout.find_stream(f"thread:{thread_id}")
    linked: set[str] = set()
    # What cannot be read links nothing; that is told where the thread is read.
    with contextlib.suppress(OSError):
        for event in Reading(path) if path is not None else ():
            match event.payload:
                case SessionLinked(session_id=session) if event.src.ref != FOREIGN:
                    linked.add(session)
    return linked
