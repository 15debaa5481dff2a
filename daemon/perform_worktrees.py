"""Makes a linked work tree, and takes one back that a restore made.

A work tree is made only where nothing is, and removed only if nothing in it would be lost.
"""

import asyncio
import contextlib
import os
from dataclasses import dataclass

from resumed.daemon.perform_checks import (
    Refused,
    Tools,
    branch_is_at,
    canonical,
    held_by_no_other,
    idle,
    named,
    nothing_half_finished,
    plain_name,
    repository_at,
    work_tree_at,
)
from resumed.daemon.ports.git_command import GitFailed, printable
from resumed.daemon.registrations import NotCopied
from resumed.daemon.removals import Removal
from resumed.restore.probes import RepositorySeen, WorktreeEntry
from resumed.restore.steps import AddWorktree, RemoveWorktree


@dataclass(frozen=True)
class _Plan:
    base: RepositorySeen
    path: str
    options: tuple[str, ...]
    at: str
    new_branch: str | None
    replaced: WorktreeEntry | None


async def add_worktree(tools: Tools, verb: AddWorktree) -> dict[str, object]:
    """Make the work tree; git makes the parent folders that are missing, with its own rules for modes.
    Returns what was seen afterwards.

    Raises `Refused`, `GitFailed` or `NotCopied`; then all that was made is taken back."""
    path = canonical(verb.path)
    base = await repository_at(tools, verb.repository)
    standing = await _standing(tools, verb, base, path)
    if standing is not None:
        return _evidence(standing, already=True)
    plan = await _plan(tools, verb, base, path)
    made = await asyncio.to_thread(_missing_parents, path)
    reason = await _made(tools, plan, verb.restore_id)
    try:
        seen = await _standing(tools, verb, base, path)
        is_whole = seen is not None and not (reason and await tools.git.uncommitted(path))
    except (Refused, GitFailed) as failure:
        seen, is_whole, reason = None, False, reason or failure.sentence
    if seen is not None and is_whole:
        if plan.replaced is not None:
            # Where that fails the log begins anew, and what was in it is in the copy.
            with contextlib.suppress(NotCopied):
                await asyncio.to_thread(tools.registrations.continue_log, verb.restore_id, seen.git_dir)
        return _evidence(seen, already=False, created_folders=made, created_branch=plan.new_branch)
    if not reason:
        # It was made, but not as wanted: the branch moved in between. Git refuses if it is not clean.
        await tools.writer.remove_worktree(base.common_dir, path)
    left = await _take_back(tools, verb, plan, made)
    raise Refused(
        f"git could not make the folder: {reason or 'its HEAD is not where it should be'}{left}",
        left=bool(left),
    )


async def remove_worktree(tools: Tools, verb: RemoveWorktree) -> dict[str, object]:
    """Remove the work tree if it is clean (no ignored files either) and still at `sha`, then the branch
    if asked to, and have git know again what making it replaced. What was cut off is gone on with. One that
    somebody else made there since is theirs, with its branch: then nothing of this restore's is there.

    Raises `Refused`, `GitFailed` or `NotCopied`."""
    path = canonical(verb.path)
    base = await repository_at(tools, verb.repository)
    removal = Removal.of(path, base.common_dir, verb.restore_id)
    is_there = await asyncio.to_thread(os.path.lexists, path)
    goes_on = await asyncio.to_thread(removal.has_begun)
    entry = next((entry for entry in base.worktrees if entry.path == path), None)
    if verb.registered_at is not None and (goes_on or is_there or entry is None):
        await asyncio.to_thread(tools.registrations.check, verb.restore_id)
    if not is_there and not goes_on:
        await _not_moved(tools, verb, base, path)
    is_theirs = is_there and (goes_on or await _made_by_others(tools, verb, base, path))
    if is_there and not is_theirs:
        await _untouched(tools, verb, base, entry)
    try:
        deletable = await _deletable(tools, verb, base, "" if is_theirs else path)
    except Refused:
        if not goes_on and not is_theirs:
            raise
        # Somebody uses it meanwhile. What was begun is ended all the same.
        deletable = None
    is_ours = goes_on or (is_there and not is_theirs)
    if is_ours and not goes_on:
        await asyncio.to_thread(removal.begin)
    elif entry is not None and not is_there and not goes_on and verb.registered_at is None:
        (await tools.writer.remove_worktree(base.common_dir, path)).expect()
    if is_ours:
        await asyncio.to_thread(removal.forget)
    if deletable is not None:
        (await tools.writer.delete_branch(base.common_dir, deletable, verb.sha)).expect()
    try:
        if is_ours:
            await asyncio.to_thread(removal.end)
    except OSError as error:
        left = f"{printable(removal.files)} could not be deleted: {error.strerror}"
        raise Refused(left, left=True) from error
    finally:
        if verb.registered_at is not None:
            await _registered_again(tools, base, path, verb.restore_id)
    return {"path": path, "removed": is_ours, "deleted_branch": deletable}


async def _not_moved(tools: Tools, verb: RemoveWorktree, base: RepositorySeen, path: str) -> None:
    """Where git was told to move it, it is somebody's now, in another place."""
    for entry in base.worktrees:
        if entry.gone or entry.path in (path, base.top_level):
            continue
        if (await tools.git.head_log(entry.path)).begun_by == verb.restore_id:
            raise Refused(
                f"{printable(path)} was moved to {printable(entry.path)}, and is left there", left=True
            )


async def _made_by_others(tools: Tools, verb: RemoveWorktree, base: RepositorySeen, path: str) -> bool:
    seen = await repository_at(tools, path)
    if seen.top_level != path or seen.kind != "linked" or seen.common_id != base.common_id:
        return False
    return (await tools.git.head_log(path)).begun_by not in (None, verb.restore_id)


async def _deletable(tools: Tools, verb: RemoveWorktree, base: RepositorySeen, path: str) -> str | None:
    """The branch to delete, if one is asked for and there."""
    if not verb.delete_branch or verb.branch is None:
        return None
    if (await tools.git.branch(base.top_level, verb.branch)).sha is None:
        return None
    await branch_is_at(tools, base.top_level, verb.branch, verb.sha)
    held_by_no_other(base, verb.branch, path)
    return verb.branch


async def _standing(
    tools: Tools, verb: AddWorktree, base: RepositorySeen, path: str
) -> RepositorySeen | None:
    # A git that outlived its daemon may still be filling the folder: wait for it, then look.
    if not await asyncio.to_thread(os.path.lexists, os.path.join(path, ".git")):
        return None
    seen = await repository_at(tools, path)
    if seen.top_level != path or seen.kind != "linked" or seen.common_id != base.common_id:
        return None
    await idle(tools, seen.git_dir, path)
    seen = await repository_at(tools, path)
    is_wanted = (seen.branch, seen.sha, seen.in_progress) == (verb.branch, verb.sha, None)
    return seen if is_wanted else None


async def _plan(tools: Tools, verb: AddWorktree, base: RepositorySeen, path: str) -> _Plan:
    if (path + "/").startswith(base.common_dir + "/"):
        raise Refused(f"{printable(path)} is inside the repository's own folder")
    if await asyncio.to_thread(_occupied, path):
        raise Refused(f"something is already at {printable(path)}")
    if not (await tools.git.commit(base.top_level, verb.sha)).present:
        raise Refused(f"commit {verb.sha[:7]} is not in this repository")
    stale = next((entry for entry in base.worktrees if entry.path == path and entry.gone), None)
    if stale is not None:
        await _may_be_replaced(tools, verb, base, stale)
    options: tuple[str, ...] = ("--force",) if stale is not None else ()
    if verb.branch is None:
        return _Plan(base, path, (*options, "--detach"), verb.sha, None, stale)
    plain_name(verb.branch)
    held_by_no_other(base, verb.branch, path)
    if verb.create_branch and (await tools.git.branch(base.top_level, verb.branch)).sha is None:
        return _Plan(base, path, (*options, "--no-track", "-b", verb.branch), verb.sha, verb.branch, stale)
    await branch_is_at(tools, base.top_level, verb.branch, verb.sha)
    return _Plan(base, path, options, verb.branch, None, stale)


async def _may_be_replaced(
    tools: Tools, verb: AddWorktree, base: RepositorySeen, entry: WorktreeEntry
) -> None:
    """What git keeps for the deleted work tree is as it was, and nothing is lost with it. It is copied."""
    where = printable(entry.path)
    if entry.head != verb.registered_at:
        raise Refused(f"the work tree that git has registered at {where} changed meanwhile")
    kept = await tools.git.registration(base.top_level, entry.path)
    if entry.locked is not None:
        raise Refused(f"git keeps the work tree at {where} locked")
    if kept.used_by is not None:
        raise Refused(f"the work tree of {where} was moved to {printable(kept.used_by)}")
    if kept.in_progress is not None:
        raise Refused(f"a {kept.in_progress} was half finished in {where}")
    if kept.staged:
        raise Refused(f"changes that were staged in {where} would be lost")
    if kept.references:
        raise Refused(f"references that only the work tree of {where} has would be lost")
    if kept.submodules:
        raise Refused(f"the repositories of the submodules of {where} would be lost")
    if kept.settings:
        raise Refused(f"settings that only the work tree of {where} has would be lost")
    if entry.branch is None and entry.sha and (await tools.git.loose(base.top_level, entry.sha)).loose:
        raise Refused(f"the commit {entry.sha[:7]} of {where} is on no branch")
    if not kept.git_dir:
        raise Refused(f"what git keeps for the work tree at {where} was not found")
    await asyncio.to_thread(tools.registrations.keep, verb.restore_id, kept.git_dir)


async def _made(tools: Tools, plan: _Plan, by: str) -> str:
    try:
        outcome = await tools.writer.add_worktree(plan.base.common_dir, plan.options, plan.path, plan.at, by)
    except GitFailed as failure:
        return failure.sentence
    return "" if outcome.code == 0 else outcome.reason


async def _take_back(tools: Tools, verb: AddWorktree, plan: _Plan, made: list[str]) -> str:
    left: list[str] = []
    folder = plan.base.common_dir
    if await asyncio.to_thread(_occupied, plan.path):
        left.append(printable(plan.path))
    if plan.new_branch is not None:
        branch = await tools.git.branch(plan.base.top_level, plan.new_branch)
        if branch.sha is not None and branch.checked_out_at is None:
            deleted = await tools.writer.delete_branch(folder, plan.new_branch, verb.sha)
            left += [f"branch {printable(plan.new_branch)}"] if deleted.code else []
    if plan.replaced is not None and not left:
        await _registered_again(tools, plan.base, plan.path, verb.restore_id)
    # The folder of admin entries goes only if it is empty, which is what a failed git leaves.
    await asyncio.to_thread(_remove_parents, [os.path.join(folder, "worktrees"), *made])
    return f" ({' and '.join(left)} was left behind)" if left else ""


async def _registered_again(tools: Tools, base: RepositorySeen, path: str, restore_id: str) -> None:
    now = await repository_at(tools, base.top_level)
    if any(entry.path == path for entry in now.worktrees):
        return
    if await asyncio.to_thread(os.path.lexists, path):
        raise Refused(
            f"something is at {printable(path)} now, so git does not get back what it kept", left=True
        )
    try:
        await asyncio.to_thread(tools.registrations.put_back, restore_id, base.common_dir)
    except NotCopied as failure:
        raise Refused(failure.sentence, left=True) from failure


async def _untouched(
    tools: Tools, verb: RemoveWorktree, base: RepositorySeen, entry: WorktreeEntry | None
) -> None:
    path = canonical(verb.path)
    seen = await work_tree_at(tools, path)
    if seen.kind != "linked" or seen.common_id != base.common_id:
        raise Refused(f"{printable(path)} is not a linked work tree of this repository")
    await idle(tools, seen.git_dir, path)
    nothing_half_finished(seen)
    if (seen.branch, seen.sha) != (verb.branch, verb.sha):
        raise Refused(f"{printable(path)} has moved on to another branch or commit")
    if entry is not None and entry.locked is not None:
        raise Refused(f"git keeps the work tree at {printable(path)} locked")
    only_there = await tools.git.only_there(path)
    if only_there:
        raise Refused(f"{printable(path)} holds what would be lost: {'; '.join(only_there)}")
    files = await tools.git.uncommitted(path)
    if files:
        raise Refused(f"{printable(path)} holds files that would be lost: {named(files)}")


def _evidence(seen: RepositorySeen, **more: object) -> dict[str, object]:
    return {"path": seen.top_level, "branch": seen.branch, "sha": seen.sha, **more}


def _occupied(path: str) -> bool:
    if os.path.islink(path) or not os.path.isdir(path):
        return os.path.lexists(path)
    return bool(os.listdir(path))


def _missing_parents(path: str) -> list[str]:
    missing: list[str] = []
    folder = os.path.dirname(path)
    while not os.path.lexists(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    missing.reverse()
    return missing


def _remove_parents(made: list[str]) -> None:
    for parent in reversed(made):
        with contextlib.suppress(OSError):
            os.rmdir(parent)
