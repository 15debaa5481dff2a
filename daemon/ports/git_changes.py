"""Tells which uncommitted files stand in the way of a change of HEAD.

Looking runs nothing of the repository's: its filters are taken away, so that a file which only they
could compare counts as changed.
"""

import os

from resumed.daemon.ports.git_command import GitCommand, GitFailed
from resumed.restore.probes import SwitchSeen


async def uncommitted(command: GitCommand, folder: str, *options: str) -> tuple[str, ...]:
    """Changed, staged and untracked paths, as `git status` tells, sorted; a folder in which all is
    untracked ends with `/`. Raises `GitFailed`."""
    quiet = await _without_filters(command, folder)
    status = await command.read(
        folder, *quiet, "status", "--porcelain=v1", "-z", "--no-renames", "--ignore-submodules=none", *options
    )
    lines = os.fsdecode(status.expect().output).split("\0")
    return tuple(sorted({line[3:] for line in lines if line}))


async def in_the_way(command: GitCommand, top_level: str, target: str) -> SwitchSeen:
    """What happens to uncommitted files when HEAD moves to the commit `target`.

    A file that git ignores counts as overwritten too: git would not ask. Raises `GitFailed`."""
    changed = await uncommitted(command, top_level, "--untracked-files=normal")
    difference = await command.read(
        top_level, "diff-tree", "-r", "-z", "--no-renames", "--name-status", "HEAD", target
    )
    fields = os.fsdecode(difference.expect().output).split("\0")
    written = dict(zip(fields[1::2], fields[0::2], strict=False))
    created = {path for path, status in written.items() if status == "A"}
    overwritten = {path for path in changed if path in written or not created.isdisjoint(_around(path))}
    overwritten |= {found for path in created if (found := _occupant(top_level, path, written)) is not None}
    return SwitchSeen(
        overwritten=tuple(sorted(overwritten)),
        carried=tuple(path for path in changed if path not in overwritten),
    )


async def written(command: GitCommand, top_level: str, target: str) -> tuple[str, ...]:
    """The paths that a change of HEAD to the commit `target` writes or removes. Raises `GitFailed`."""
    difference = await command.read(
        top_level, "diff-tree", "-r", "-z", "--no-renames", "--name-only", "HEAD", target
    )
    return tuple(path for path in os.fsdecode(difference.expect().output).split("\0") if path)


async def _without_filters(command: GitCommand, folder: str) -> tuple[str, ...]:
    """Options that empty every filter the repository configures. Raises `GitFailed` for a name that
    can't be told git on its command line."""
    told = await command.read(folder, "config", "-z", "--name-only", "--get-regexp", r"^filter\..*")
    keys = {key for key in os.fsdecode(told.output).split("\0") if key} if told.code == 0 else set()
    if any("=" in key for key in keys):
        raise GitFailed("the repository configures a filter with an odd name")
    names = {key.rpartition(".")[0] for key in keys}
    return tuple(
        option
        for name in sorted(names)
        for setting in ("clean=", "smudge=", "process=", "required=false")
        for option in ("-c", f"{name}.{setting}")
    )


def _around(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts))]


def _occupant(top_level: str, path: str, written: dict[str, str]) -> str | None:
    # HEAD has no such path and the target creates it: a file that is there now is nobody's commit.
    for candidate in (*_around(path), path):
        inner = os.path.join(top_level, candidate)
        if not os.path.lexists(inner):
            return None
        if os.path.islink(inner) or not os.path.isdir(inner):
            # A file that the target turns into a folder is a deletion, and git status tells of it.
            return candidate if candidate == path or candidate not in written else None
    return None
