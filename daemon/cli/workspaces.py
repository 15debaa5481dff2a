"""Which workspace a command is about: the work tree's top level, found without starting git."""

import os
from pathlib import Path


def workspace_at(folder: Path) -> Path:
    """Return the nearest folder from `folder` upwards that holds a `.git`, else `folder` itself.

    The search ends below the home folder: settings kept in a repository there make no workspace.
    """
    start = Path(os.path.realpath(folder))
    home = Path(os.path.realpath(os.path.expanduser("~")))
    for candidate in (start, *start.parents):
        if candidate == home:
            break
        if _is_top_level(candidate):
            return candidate
    return start


def _is_top_level(folder: Path) -> bool:
    entry = folder / ".git"
    return entry.is_file() or (entry / "HEAD").is_file()
