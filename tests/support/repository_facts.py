"""What a restore may change in a repository, in a form that two moments can be compared by."""

import hashlib
import os
from pathlib import Path
from typing import NamedTuple

from tests.support.repository import run_git

BASE = "<base>"


class Facts(NamedTuple):
    """Work trees with their HEADs, branches, what git calls uncommitted, every file's hash, and what
    a git that was cut off leaves behind. Paths are relative to the folder that was given."""

    worktrees: str
    branches: str
    uncommitted: str
    files: dict[str, str]
    locks: tuple[str, ...]


def facts(root: Path, base: Path) -> Facts:
    """Look at the repository of `root`, a checkout somewhere below `base`. Nothing is changed by it."""
    worktrees = run_git(root, "worktree", "list", "--porcelain")
    folders = [
        Path(line.removeprefix("worktree "))
        for line in worktrees.splitlines()
        if line.startswith("worktree ")
    ]
    there = [folder for folder in folders if folder.is_dir()]
    status = ("--no-optional-locks", "status", "--porcelain=v1", "--ignored")
    return Facts(
        worktrees=worktrees.replace(str(base), BASE),
        branches=run_git(root, "for-each-ref", "--format=%(refname) %(objectname)", "refs/heads"),
        uncommitted="\n".join(run_git(folder, *status) for folder in there),
        files=_hashes(base),
        locks=tuple(sorted(str(path.relative_to(root)) for path in (root / ".git").rglob("*.lock"))),
    )


def _hashes(base: Path) -> dict[str, str]:
    found = {}
    for folder, names, files in os.walk(base):
        names[:] = [name for name in names if name != ".git"]
        for name in files:
            path = Path(folder, name)
            if name != ".git":
                found[str(path.relative_to(base))] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found
