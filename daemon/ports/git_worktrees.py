"""Lists the work trees that are registered in a repository, also those whose folder is gone."""

import asyncio
import os

from resumed.daemon.ports.git_command import GitCommand, GitFailed, Outcome
from resumed.daemon.ports.git_place import Place, locate, without_links
from resumed.daemon.ports.git_progress import in_progress
from resumed.restore.probes import WorktreeEntry

_USAGE = 129


async def registered(command: GitCommand, place: Place) -> tuple[WorktreeEntry, ...]:
    """The main work tree first (a bare repository has none), then the linked ones; of each the path by
    which it is found now, if git knows it by one that leads through symbolic links.

    A work tree in the middle of a rebase has the branch being rebased. Raises `GitFailed`."""
    listed = await command.read(place.top_level, "worktree", "list", "--porcelain", "-z")
    if listed.code == _USAGE:
        listed = await command.read(place.top_level, "worktree", "list", "--porcelain")
        return await asyncio.to_thread(_entries, place, _blocks(listed.expect(), "\n"))
    return await asyncio.to_thread(_entries, place, _blocks(listed.expect(), "\0"))


def _blocks(listed: Outcome, end: str) -> list[dict[str, str]]:
    blocks = [block for block in os.fsdecode(listed.output).split(end + end) if block.strip(end)]
    return [
        {name: value for name, _, value in (line.partition(" ") for line in block.split(end) if line)}
        for block in blocks
    ]


def _entries(place: Place, blocks: list[dict[str, str]]) -> tuple[WorktreeEntry, ...]:
    found = [_entry(block) for block in blocks if "bare" not in block]
    if place.kind == "main" and blocks and "bare" not in blocks[0]:
        # Git names the git dir instead of the folder when they are apart, as in a submodule.
        head = _entry({**blocks[0], "worktree": place.top_level})
        found[0] = head
    return tuple(found)


def _entry(block: dict[str, str]) -> WorktreeEntry:
    gone = "prunable" in block or not _is_there(block["worktree"])
    path = without_links(block["worktree"]) if gone else os.path.realpath(block["worktree"])
    branch = block.get("branch", "").removeprefix("refs/heads/") or None
    if branch is None and not gone:
        branch = _branch_in_progress(path)
    sha = block.get("HEAD", "")
    return WorktreeEntry(
        path=path,
        branch=branch,
        sha=sha if sha.strip("0") else None,
        gone=gone,
        locked=block.get("locked"),
    )


def _is_there(path: str) -> bool:
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def _branch_in_progress(path: str) -> str | None:
    try:
        place = locate(path)
        if place is None or place.top_level != path:
            return None
        unfinished = in_progress(place.git_dir, frozenset())
    except (OSError, GitFailed):
        return None
    return unfinished.branch if unfinished else None
