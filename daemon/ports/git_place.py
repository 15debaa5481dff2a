"""Finds the git work tree that a path is in, without asking git.

The folder that holds the `.git` is the top level, whatever `core.worktree` says: with a shared
configuration git itself can take a linked work tree for the main checkout.
"""

import os
import stat
from dataclasses import dataclass

from resumed.daemon.ports.git_command import GitFailed, printable
from resumed.daemon.ports.regular import open_regular


@dataclass(frozen=True)
class Place:
    """Where a repository is. `kind`: main, linked or bare; of a bare one `top_level` is its git dir.
    All paths are absolute and real; `common_id` is the common git dir's `device:inode`."""

    top_level: str
    git_dir: str
    common_dir: str
    common_id: str
    kind: str


def device_inode(path: str) -> str:
    """`device:inode` of what is at `path`. Raises `OSError`."""
    seen = os.stat(path)
    return f"{seen.st_dev}:{seen.st_ino}"


def without_links(path: str) -> str:
    """The path with its parents' symbolic links resolved, the last name as it is; it may be gone."""
    folder, name = os.path.split(os.path.normpath(path))
    return os.path.join(os.path.realpath(folder), name)


def pointer_of(folder: str) -> str | None:
    """Where the `.git` file of a linked work tree points, whatever is there; `None` without such a file."""
    try:
        with open_regular(os.path.join(folder, ".git")) as file:
            content = os.fsdecode(file.read(8192))
    except OSError:
        return None
    if not content.startswith("gitdir: "):
        return None
    return os.path.join(folder, content.removeprefix("gitdir: ").rstrip("\r\n"))


def locate(path: str) -> Place | None:
    """The nearest repository around `path`; `None` when there is none or `path` is not there.

    As git does, the search ends at the file system's border. Raises `GitFailed` for a `.git` file
    that points nowhere, and `OSError` for a folder that may not be looked into."""
    folder = os.path.realpath(path)
    try:
        seen = os.stat(folder)
    except (FileNotFoundError, NotADirectoryError):
        return None
    if not stat.S_ISDIR(seen.st_mode):
        folder = os.path.dirname(folder)
    while os.stat(folder).st_dev == seen.st_dev:
        found = _place_at(folder)
        if found is not None:
            return found
        parent = os.path.dirname(folder)
        if parent == folder or os.path.basename(folder) == ".git":
            return None
        folder = parent
    return None


def _place_at(folder: str) -> Place | None:
    entry = os.path.join(folder, ".git")
    try:
        kind = os.stat(entry).st_mode
    except (FileNotFoundError, NotADirectoryError):
        kind = 0
    if stat.S_ISREG(kind):
        return _work_tree(folder, _pointed_at(folder, entry))
    if stat.S_ISDIR(kind) and _is_git_dir(entry):
        return _work_tree(folder, os.path.realpath(entry))
    if os.path.basename(folder) != ".git" and _is_git_dir(folder):
        return _place(folder, folder, "bare")
    return None


def _work_tree(folder: str, git_dir: str) -> Place:
    return _place(folder, git_dir, "main" if _common_dir(git_dir) == git_dir else "linked")


def _place(top_level: str, git_dir: str, kind: str) -> Place:
    common_dir = _common_dir(git_dir)
    return Place(
        top_level=top_level,
        git_dir=git_dir,
        common_dir=common_dir,
        common_id=device_inode(common_dir),
        kind=kind,
    )


def _pointed_at(folder: str, entry: str) -> str:
    with open_regular(entry) as file:
        content = file.read(8192)
    if not content.startswith(b"gitdir: "):
        raise GitFailed(f"the .git file in {printable(folder)} is not one of git's")
    target = os.fsdecode(content.removeprefix(b"gitdir: ").rstrip(b"\r\n"))
    git_dir = os.path.realpath(os.path.join(folder, target))
    if not _is_git_dir(git_dir):
        raise GitFailed(
            f"the .git file in {printable(folder)} points to {printable(target)}, which is not there;"
            " where its repository was moved, run `git worktree repair` there, with this folder behind it"
        )
    return git_dir


def _common_dir(git_dir: str) -> str:
    try:
        with open_regular(os.path.join(git_dir, "commondir")) as file:
            target = os.fsdecode(file.read(8192).rstrip(b"\r\n"))
    except FileNotFoundError:
        return git_dir
    return os.path.realpath(os.path.join(git_dir, target))


def _is_git_dir(folder: str) -> bool:
    if not _is_there(os.path.join(folder, "HEAD")):
        return False
    common_dir = _common_dir(folder)
    return _is_there(os.path.join(common_dir, "objects")) and _is_there(os.path.join(common_dir, "refs"))


def _is_there(path: str) -> bool:
    # Unlike os.path.exists, a folder that may not be looked into is an error, not an absence.
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True
