"""What must hold before a verb may change a repository, shared by all verbs.

Every check raises `Refused` with one sentence; none of them changes anything.
"""

import asyncio
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass

from resumed.daemon.ports.git import Git
from resumed.daemon.ports.git_command import printable
from resumed.daemon.ports.git_progress import at_work
from resumed.daemon.ports.git_write import GitWriter
from resumed.daemon.registrations import Registrations
from resumed.restore.probes import RepositorySeen

_NAMED = 3
_LOOK_AGAIN_SECONDS = 0.05


class Refused(Exception):
    """A verb is not done, and nothing was changed by it, except with `left`: what the sentence names
    stays behind. `sentence` is for people."""

    def __init__(self, sentence: str, *, left: bool = False) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.left = left


@dataclass(frozen=True)
class Tools:
    """`patience`: seconds to wait for another git command to end."""

    git: Git
    writer: GitWriter
    registrations: Registrations
    patience: float = 5.0


def canonical(path: str) -> str:
    """The absolute path with its parents' symbolic links resolved, the last name as it is."""
    if not path.startswith("/"):
        raise Refused(f"{printable(path)} is not an absolute path")
    folder, name = os.path.split(path.rstrip("/"))
    if name in ("", ".", ".."):
        raise Refused(f"{printable(path)} does not name a folder")
    return os.path.join(os.path.realpath(folder), name)


def named(names: Sequence[str]) -> str:
    """The first names for a sentence, and how many more there are."""
    shown = ", ".join(printable(name) for name in names[:_NAMED])
    more = len(names) - _NAMED
    return f"{shown} and {more} more" if more > 0 else shown


async def repository_at(tools: Tools, path: str) -> RepositorySeen:
    """The repository around the path."""
    seen = await tools.git.repository(path)
    if not isinstance(seen, RepositorySeen):
        raise Refused(f"{printable(path)} is in no repository")
    return seen


async def work_tree_at(tools: Tools, path: str) -> RepositorySeen:
    """The work tree whose top level is exactly `path`."""
    seen = await repository_at(tools, path)
    if seen.kind == "bare" or seen.top_level != path:
        raise Refused(f"{printable(path)} is not the top of a work tree")
    await tools.git.agreed_root(path)
    return seen


async def idle(tools: Tools, git_dir: str, path: str) -> None:
    """No other git command is at work there, or it ends within `patience`."""
    deadline = time.monotonic() + tools.patience
    while await asyncio.to_thread(at_work, git_dir):
        if time.monotonic() >= deadline:
            raise Refused(
                f"another git command is at work in {printable(path)}, or was cut off there"
                f" (index.lock or locked in {printable(git_dir)})"
            )
        await asyncio.sleep(_LOOK_AGAIN_SECONDS)


def nothing_half_finished(seen: RepositorySeen) -> None:
    """No merge, rebase or the like is under way."""
    if seen.in_progress is not None:
        raise Refused(f"a {seen.in_progress} is half finished in {printable(seen.top_level)}")


async def branch_is_at(tools: Tools, folder: str, branch: str, sha: str) -> None:
    """The local branch exists and is at `sha`."""
    plain_name(branch)
    seen = await tools.git.branch(folder, branch)
    if seen.sha is None:
        raise Refused(f"there is no branch {printable(branch)}")
    if seen.sha != sha:
        raise Refused(f"branch {printable(branch)} moved to {seen.sha[:7]} meanwhile")


def plain_name(branch: str) -> None:
    """The name cannot be taken for an option or for something else than a branch."""
    if branch.startswith("-") or not branch:
        raise Refused(f"{printable(branch)!r} is not a branch's name")


def held_by_no_other(seen: RepositorySeen, branch: str, path: str) -> None:
    """No other work tree than the one at `path` has the branch checked out."""
    for entry in seen.worktrees:
        if entry.branch == branch and entry.path != path:
            gone = ", whose folder is gone" if entry.gone else ""
            raise Refused(f"{printable(branch)} is checked out in {printable(entry.path)}{gone}")
