"""Moves HEAD of a work tree from exactly one place to exactly one other."""

import asyncio
import os

from resumed.daemon.perform_checks import (
    Refused,
    Tools,
    branch_is_at,
    held_by_no_other,
    idle,
    named,
    nothing_half_finished,
    repository_at,
    work_tree_at,
)
from resumed.daemon.ports.git_command import GitFailed, printable
from resumed.restore.probes import RepositorySeen
from resumed.restore.steps import SwitchBranch


async def switch_branch(tools: Tools, verb: SwitchBranch) -> dict[str, object]:
    """Switch, carrying uncommitted files along. Returns what was seen afterwards.

    Raises `Refused` or `GitFailed`."""
    seen = await work_tree_at(tools, verb.root)
    await idle(tools, seen.git_dir, verb.root)
    seen = await work_tree_at(tools, verb.root)
    nothing_half_finished(seen)
    if (seen.branch, seen.sha) == (verb.to_branch, verb.to_sha):
        return _evidence(seen, already=True)
    if (seen.branch, seen.sha) != (verb.from_branch, verb.from_sha):
        raise Refused(f"{printable(verb.root)} is not on {_place(verb.from_branch, verb.from_sha)} any more")
    if verb.moved_by is not None and (await tools.git.head_log(verb.root)).moved_by not in (
        None,
        verb.moved_by,
    ):
        raise Refused(f"somebody else moved HEAD of {printable(verb.root)} there")
    if verb.to_branch is not None:
        await branch_is_at(tools, verb.root, verb.to_branch, verb.to_sha)
        held_by_no_other(seen, verb.to_branch, verb.root)
    elif not (await tools.git.commit(verb.root, verb.to_sha)).present:
        raise Refused(f"commit {verb.to_sha[:7]} is not in this repository")
    in_the_way = await tools.git.in_the_way(verb.root, verb.to_sha)
    if in_the_way.overwritten:
        raise Refused(f"it would overwrite uncommitted files: {named(in_the_way.overwritten)}")
    written = await tools.git.written(verb.root, verb.to_sha)
    closed = await asyncio.to_thread(closed_folders, verb.root, written)
    if closed:
        # Git would move HEAD all the same, and leave the files.
        raise Refused(f"files cannot be written in {named(closed)}")
    return await _switched(tools, verb, in_the_way.carried)


def closed_folders(root: str, paths: tuple[str, ...]) -> tuple[str, ...]:
    """The folders in which one of these paths would have to be written and can't be."""
    nearest = set()
    for path in paths:
        folder = os.path.dirname(os.path.join(root, path))
        while not os.path.isdir(folder) and folder != root:
            folder = os.path.dirname(folder)
        nearest.add(folder)
    return tuple(sorted(folder for folder in nearest if not os.access(folder, os.W_OK | os.X_OK)))


async def _switched(tools: Tools, verb: SwitchBranch, carried: tuple[str, ...]) -> dict[str, object]:
    target = ("--detach", verb.to_sha) if verb.to_branch is None else (verb.to_branch,)
    try:
        outcome = await tools.writer.switch(verb.root, target, verb.restore_id)
        reason = "" if outcome.code == 0 else outcome.reason
    except GitFailed as failure:
        reason = failure.sentence
    seen = await repository_at(tools, verb.root)
    if (seen.branch, seen.sha) == (verb.to_branch, verb.to_sha) and not reason:
        after = await tools.git.in_the_way(verb.root, verb.to_sha)
        unwritten = sorted({*after.carried, *after.overwritten} - set(carried))
        if unwritten:
            raise Refused(f"git moved HEAD, but could not write {named(unwritten)}", left=True)
        return _evidence(seen, already=False)
    if (seen.branch, seen.sha) != (verb.from_branch, verb.from_sha):
        where = _place(seen.branch, seen.sha or "")
        raise Refused(f"git did not finish ({reason or 'HEAD moved'}): HEAD is on {where} now", left=True)
    left = await tools.git.in_the_way(verb.root, verb.from_sha)
    changed = sorted({*left.carried, *left.overwritten} ^ set(carried))
    if changed:
        raise Refused(
            f"git did not finish ({reason}): HEAD is where it was, but {named(changed)} changed", left=True
        )
    raise Refused(f"git would not switch: {reason}")


def _evidence(seen: RepositorySeen, already: bool) -> dict[str, object]:
    return {"path": seen.top_level, "branch": seen.branch, "sha": seen.sha, "already": already}


def _place(branch: str | None, sha: str) -> str:
    return f"{printable(branch) if branch else 'no branch'} at {sha[:7]}"
