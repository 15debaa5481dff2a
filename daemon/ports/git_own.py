"""What only one work tree holds, and `git status` says nothing of: it would be lost with the work tree."""

import asyncio
import os
from pathlib import Path

from resumed.daemon.ports.git_command import GitCommand, printable
from resumed.daemon.ports.git_head_log import commits_since_made
from resumed.daemon.ports.git_place import Place
from resumed.daemon.ports.git_registration import has_references, holds_files

_SETTINGS = ("config.worktree", os.path.join("info", "sparse-checkout"))
_COMMITS = 200


async def only_there(command: GitCommand, place: Place) -> tuple[str, ...]:
    """Each kind of thing in a few words, for a sentence. Raises `GitFailed` and `OSError`."""
    found = await asyncio.to_thread(_in_the_folder, place)
    hidden = await _hidden(command, place.top_level)
    if hidden:
        found.append(f"files that git was told not to look at ({printable(hidden[0])})")
    loose = await _loose(command, place)
    if loose:
        found.append(f"commits that only its log holds ({loose[:7]})")
    return tuple(found)


def _in_the_folder(place: Place) -> list[str]:
    found = []
    if holds_files(place.git_dir, "modules"):
        found.append("repositories of submodules")
    if has_references(place.git_dir):
        found.append("references that only it has")
    if any(_differs(place, name) for name in _SETTINGS):
        found.append("settings that only it has")
    return found


def _differs(place: Place, name: str) -> bool:
    """Whether it has the file, and not as git copies it from the main work tree."""
    try:
        own = Path(place.git_dir, name).read_bytes()
    except FileNotFoundError:
        return False
    try:
        return own != Path(place.common_dir, name).read_bytes()
    except FileNotFoundError:
        return True


async def _hidden(command: GitCommand, top_level: str) -> tuple[str, ...]:
    """The files that are there and marked as unchanged, or to be skipped: status never compares them."""
    listed = (await command.read(top_level, "ls-files", "-v", "-z")).expect()
    lines = os.fsdecode(listed.output).split("\0")
    marked = (line[2:] for line in lines if line[:1].islower() or line[:1] == "S")
    return tuple(path for path in marked if os.path.lexists(os.path.join(top_level, path)))


async def _loose(command: GitCommand, place: Place) -> str:
    """A commit that HEAD has been at since the work tree was made, and that no branch, tag or remote branch
    holds; empty where there is none."""
    commits = await asyncio.to_thread(commits_since_made, place.git_dir)
    if not commits:
        return ""
    held = ("--not", "--branches", "--tags", "--remotes")
    told = await command.read(
        place.top_level, "rev-list", "-n", "1", "--ignore-missing", *commits[-_COMMITS:], *held
    )
    return told.expect().text
