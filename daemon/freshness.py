"""Whether anything on disk tells that there is more to list than what was read last.

A look at every source costs their number; this costs the number of their folders. What is added to a
file changes no folder: that is found by the next look.
"""

import contextlib
import os
from collections.abc import Iterable

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
