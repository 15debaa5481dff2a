"""Whether anything on disk tells that there is more to list than what was read last.

A look at every source costs their number; this costs the number of their folders. What is added to a
file changes no folder: that is found by the next look.
"""

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path

from resumed.daemon.ports.clock import Clock
from resumed.daemon.surroundings import Surroundings

FRESH_SECONDS = 1.0

Marks = frozenset[tuple[str, int]]


def watched(sources: Iterable[str]) -> frozenset[str]:
    """The folders of these files, and those around them, where the next ones come to."""
    around = {os.path.dirname(source) for source in sources}
    return frozenset({*around, *(os.path.dirname(folder) for folder in around)})


def marks(folders: Iterable[str]) -> Marks:
    """When these folders last got or lost an entry: nanoseconds by path, -1 for one that is not there.
    Blocks."""
    return frozenset((folder, _changed_at(folder)) for folder in folders)


def registered(registry: str | None) -> Marks:
    """When git last registered or moved each linked work tree; `registry` is its folder for them. Blocks."""
    if registry is None:
        return frozenset()
    names: list[str] = []
    with contextlib.suppress(OSError):
        names = os.listdir(registry)
    return frozenset((name, _changed_at(os.path.join(registry, name, "gitdir"))) for name in names)


def _changed_at(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return -1


class LastLook:
    """What showed on disk when all that is to be listed was last looked for. Methods block."""

    def __init__(self, home: Path, surroundings: Surroundings, clock: Clock) -> None:
        self._ours = (str(home / "threads"), str(home / "sessions"))
        self._surroundings = surroundings
        self._clock = clock
        self._watched: frozenset[str] = frozenset()
        self._found: tuple[Marks, Marks] | None = None
        self._ended_at = float("-inf")

    def marks(self) -> tuple[Marks, Marks]:
        """What shows now that threads or work trees came or went."""
        return marks(self._watched), registered(self._surroundings.registry)

    def ended(self, found: tuple[Marks, Marks], sources: Iterable[str]) -> None:
        """A look that began when `found` was to be seen has ended, and found these files."""
        self._ended_at = self._clock.monotonic()
        self._found = found
        self._watched = watched(sources).union(self._ours)

    def expire(self) -> None:
        """Something is known to have changed."""
        self._ended_at = float("-inf")

    def holds(self) -> bool:
        """Whether it is recent, and nothing shows that there is more."""
        is_recent = self._clock.monotonic() - self._ended_at < FRESH_SECONDS
        return is_recent and self.marks() == self._found
