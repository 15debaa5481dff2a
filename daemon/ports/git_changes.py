"""Tells which uncommitted files stand in the way of a change of HEAD."""

import os

from resumed.daemon.ports.git_command import GitCommand
from resumed.restore.probes import SwitchSeen


async def uncommitted(command: GitCommand, folder: str, *options: str) -> tuple[str, ...]:
    """Changed, staged and untracked paths, as `git status` tells, sorted; a folder in which all is
    untracked ends with `/`. Raises `GitFailed`."""
    status = await command.read(
        folder, "status", "--porcelain=v1", "-z", "--no-renames", "--ignore-submodules=none", *options
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
