"""What git still keeps for a registered work tree whose folder is gone: it would be lost with the entry.

A folder that was moved by hand still points to its entry, which git itself does not look for.
"""

import asyncio
import os

from resumed.daemon.ports.git_command import GitCommand, GitFailed
from resumed.daemon.ports.git_head_log import last_commit
from resumed.daemon.ports.git_place import Place, locate, pointer_of, without_links
from resumed.daemon.ports.git_progress import in_progress
from resumed.daemon.ports.regular import open_regular
from resumed.restore.probes import RegistrationSeen

_LOOKED_AT = 500
"""Folders beside the one that is gone, at most, that may be it."""


async def registration(command: GitCommand, place: Place, path: str) -> RegistrationSeen:
    """What is kept for the work tree registered at `path`. Raises `GitFailed` and `OSError`."""
    git_dir = await asyncio.to_thread(_git_dir, place.common_dir, path)
    if git_dir is None:
        return RegistrationSeen()
    unfinished = await asyncio.to_thread(in_progress, git_dir, frozenset())
    return RegistrationSeen(
        git_dir=git_dir,
        staged=await _is_staged(command, git_dir),
        references=await asyncio.to_thread(has_references, git_dir),
        submodules=await asyncio.to_thread(holds_files, git_dir, "modules"),
        settings=await asyncio.to_thread(_has_settings, git_dir),
        in_progress=unfinished.operation if unfinished else None,
        used_by=await asyncio.to_thread(_used_by, place, git_dir, path),
    )


def holds_files(git_dir: str, name: str) -> bool:
    """Whether there is any file in that folder of a work tree's git folder."""
    return any(files for _, _, files in os.walk(os.path.join(git_dir, name)))


async def _is_staged(command: GitCommand, git_dir: str) -> bool:
    if not await asyncio.to_thread(os.path.exists, os.path.join(git_dir, "index")):
        return False
    at = await _last_commit(command, git_dir)
    compared = await command.read(git_dir, "--git-dir=.", "diff-index", "--cached", "--quiet", at, "--")
    if compared.code not in (0, 1):
        raise GitFailed(compared.reason)
    return compared.code == 1


async def _last_commit(command: GitCommand, git_dir: str) -> str:
    """What its HEAD was at: where its branch is gone, the log of HEAD says it."""
    head = await command.read(git_dir, "--git-dir=.", "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    if head.code == 0:
        return "HEAD"
    return await asyncio.to_thread(last_commit, git_dir) or "HEAD"


def has_references(git_dir: str) -> bool:
    """Whether it has some of its own, or changes that a merge put aside and did not give back."""
    return holds_files(git_dir, "refs") or os.path.lexists(os.path.join(git_dir, "MERGE_AUTOSTASH"))


def _has_settings(git_dir: str) -> bool:
    names = ("config.worktree", os.path.join("info", "sparse-checkout"))
    return any(os.path.lexists(os.path.join(git_dir, name)) for name in names)


def _git_dir(common_dir: str, path: str) -> str | None:
    folder = os.path.join(common_dir, "worktrees")
    try:
        names = sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return None
    folders = (os.path.join(folder, name) for name in names)
    return next((git_dir for git_dir in folders if registered_path(git_dir) == path), None)


def registered_path(git_dir: str) -> str | None:
    """The work tree that a folder of git's is for, by the path at which it is now, if it says so."""
    try:
        with open_regular(os.path.join(git_dir, "gitdir")) as file:
            pointer = os.fsdecode(file.read(8192).rstrip(b"\r\n"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    return without_links(os.path.dirname(os.path.join(git_dir, pointer)))


def _used_by(place: Place, git_dir: str, path: str) -> str | None:
    return _beside(git_dir, path) or _moved_along(place, git_dir, path)


def _moved_along(place: Place, git_dir: str, path: str) -> str | None:
    """The work tree, where a folder above it and its repository was moved: then it still names git's folder
    as it was called before, and lies as far from there as it did."""
    ends = _ends(path)
    above = os.path.dirname(place.common_dir)
    while True:
        for end in ends:
            folder = os.path.join(above, end)
            pointer = _dangling(folder)
            if pointer is None or os.path.basename(pointer) != os.path.basename(git_dir):
                continue
            before = os.path.dirname(os.path.dirname(pointer))
            if os.path.normpath(os.path.join(place.common_dir, os.path.relpath(path, before))) == folder:
                return folder
        parent = os.path.dirname(above)
        if parent == above:
            return None
        above = parent


def _ends(path: str) -> list[str]:
    """The last names of a path: one, two and so on."""
    names = path.strip("/").split("/")
    return ["/".join(names[-count:]) for count in range(1, len(names) + 1)]


def _dangling(folder: str) -> str | None:
    """Where the `.git` file of a folder points, if nothing is there."""
    pointer = pointer_of(folder)
    return pointer if pointer is not None and not os.path.lexists(pointer) else None


def _beside(git_dir: str, path: str) -> str | None:
    try:
        names = sorted(os.listdir(os.path.dirname(path)))[:_LOOKED_AT]
    except (FileNotFoundError, NotADirectoryError):
        return None
    for name in names:
        folder = os.path.join(os.path.dirname(path), name)
        if not os.path.isfile(os.path.join(folder, ".git")):
            continue
        try:
            found = locate(folder)
        except (GitFailed, OSError):
            continue
        if found is not None and found.top_level == folder and found.git_dir == git_dir:
            return folder
    return None
