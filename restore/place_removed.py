"""The question about a deleted worktree: what may be made again, where, and what would be lost with it."""

from resumed.restore.drift import Wording
from resumed.restore.place import Place, WorktreeState, free_candidate, registered_entry
from resumed.restore.place_head import (
    branch_at,
    branch_is_gone,
    checkout_here,
    commit_is_gone,
    holder,
    is_loose,
)
from resumed.restore.place_inner import lacks
from resumed.restore.place_names import branch_moved, folder_lacking
from resumed.restore.probes import (
    BranchSeen,
    FolderProbe,
    FolderSeen,
    RegistrationProbe,
    RegistrationSeen,
    Seen,
    WorktreeEntry,
)
from resumed.restore.subsystem import Target
from resumed.restore.wording import one_line, operation_name, short_path, short_sha

BY_HAND = "git"
"""Begins a command that is only shown: a person runs it, we never do."""

NOT_COMMITTED = "Ignored files (.env, node_modules) and uncommitted edits will be missing."


def worktree_removed(state: WorktreeState, place: Place, seen: Seen, target: Target) -> Wording:
    """What is asked about a worktree that is gone, and each way on with what stands against it."""
    homes = target.here.homes
    branch = branch_at(state, place, seen)
    where = short_path(state.root, *homes)
    gone = branch_is_gone(state, place, seen)
    if branch is not None:
        kept = f" Branch {state.branch} still exists.{branch_moved(state, place, seen)}"
    elif gone:
        kept = f" Branch {state.branch} is gone too."
    else:
        kept = ""
    candidate = free_candidate(state, place, seen)
    again = f", with {state.branch} made again at {short_sha(state.sha)}" if gone and state.sha else ""
    labels = {"recreate": f"Recreate it at the same place{again}"}
    if candidate is not None:
        labels["newWorktree"] = f"Make it at {short_path(candidate, *homes)}{again}"
    entry = registered_entry(place, checkout_here(seen, target))
    obstacle: dict[str, str] = {}
    held_at = _held_at(state, branch, seen, target)
    if branch is None and state.branch is not None and not gone:
        obstacle = dict.fromkeys(labels, f"{state.branch} could not be looked at")
    elif branch is None and commit_is_gone(state, target.here.root, seen):
        obstacle = dict.fromkeys(labels, "neither its branch nor its commit is there any more")
    elif held_at == place.top:
        became = "moved" if _moved_away(entry, seen, target) else "deleted"
        obstacle = {"newWorktree": f"{state.branch} still belongs to the {became} folder"}
    elif held_at is not None:
        held = checkout_here(seen, target)
        is_gone_too = any(each.gone and each.path == held_at for each in (held.worktrees if held else ()))
        gone_too = ", whose folder is gone too" if is_gone_too else ""
        taken = f"{state.branch} is checked out in {short_path(held_at, *homes)}{gone_too}"
        obstacle = dict.fromkeys(labels, taken)
    at_path = seen.get(FolderProbe(state.root))
    if isinstance(at_path, FolderSeen) and at_path.kind == "file":
        obstacle = {"recreate": f"a file is in the way at {where}", **obstacle}
    lost, way_out = _kept(place, entry, seen, target)
    commands = {"recreate": way_out} if lost and "recreate" not in obstacle else {}
    if not lost and "recreate" not in obstacle and held_at == place.top:
        commands = {"newWorktree": (BY_HAND, "-C", target.here.root, "worktree", "remove", place.top)}
    if lost:
        obstacle = {"recreate": lost, **obstacle}
    if _half_finished(place, entry, seen, target):
        # Git counts the branch that it began on as taken.
        obstacle = {**dict.fromkeys(labels, lost), **obstacle}
    other = holder(state, place, seen)
    if other is not None:
        labels["relink"] = f"Use {short_path(other.top_level, *homes)} from now on"
        if other.in_progress:
            obstacle["relink"] = f"a {operation_name(other.in_progress)} is half finished there"
    lacking = folder_lacking(lacks(branch.sha if branch else state.sha, state, place, seen))
    return Wording(
        title=_removed_title(place, entry, seen, target),
        reason=f"It was {where}.{kept} Your checkout {short_path(target.here.root, *homes)} is not touched.",
        labels=labels,
        details={
            "recreate": f"{NOT_COMMITTED}{_last_on(state, entry)}{lacking}",
            "newWorktree": lacking.strip(),
            "relink": f"{state.branch} is checked out there.",
        },
        not_possible=obstacle,
        commands=commands,
    )


def kept_facts(place: Place, seen: Seen, target: Target) -> str:
    """What git keeps of it, as a fact that the answer depends on."""
    entry = registered_entry(place, checkout_here(seen, target))
    if entry is None:
        return ""
    lost, _ = _kept(place, entry, seen, target)
    return f"{entry.branch or entry.sha}: {lost}"


def _held_at(state: WorktreeState, branch: BranchSeen | None, seen: Seen, target: Target) -> str | None:
    """Which work tree has the recorded branch checked out; git counts one whose folder is gone, and a
    branch that is."""
    if branch is not None:
        return branch.checked_out_at
    here = checkout_here(seen, target)
    entries = here.worktrees if here is not None and state.branch is not None else ()
    return next((entry.path for entry in entries if entry.branch == state.branch), None)


def _removed_title(place: Place, entry: WorktreeEntry | None, seen: Seen, target: Target) -> str:
    if _moved_away(entry, seen, target):
        return "The worktree it ran in was moved, and git was not told."
    if entry is not None and entry.locked is not None:
        # It may be on a disk that is not connected now.
        return "The worktree it ran in is not there."
    if place.certain:
        return "The worktree it ran in was deleted."
    return "The folder it ran in is gone; it looks like a deleted worktree."


def _moved_away(entry: WorktreeEntry | None, seen: Seen, target: Target) -> bool:
    kept = seen.get(RegistrationProbe(target.here.root, entry.path)) if entry is not None else None
    return isinstance(kept, RegistrationSeen) and kept.used_by is not None


def _last_on(state: WorktreeState, entry: WorktreeEntry | None) -> str:
    """That the deleted work tree was on another branch at last, which stays: a sentence with the space
    before it, or nothing."""
    if entry is None or entry.branch in (None, state.branch):
        return ""
    return f" It was on {entry.branch} ({short_sha(entry.sha)}) at last; that stays as it is."


def _half_finished(place: Place, entry: WorktreeEntry | None, seen: Seen, target: Target) -> bool:
    kept = seen.get(RegistrationProbe(target.here.root, entry.path)) if entry is not None else None
    return isinstance(kept, RegistrationSeen) and kept.in_progress is not None


def _kept(
    place: Place, entry: WorktreeEntry | None, seen: Seen, target: Target
) -> tuple[str, tuple[str, ...]]:
    """Why what git keeps of the deleted work tree must not be replaced, and a command that saves it;
    both empty when nothing would be lost with it."""
    if entry is None:
        return "", ()
    if entry.locked is not None:
        why = f" ({one_line(entry.locked)})" if entry.locked else ""
        return f"git keeps it locked{why}. Free it first", (BY_HAND, "worktree", "unlock", place.top)
    anchor = target.here.root
    kept = seen.get(RegistrationProbe(anchor, entry.path))
    loose = is_loose(anchor, entry.sha, seen) if entry.branch is None and entry.sha else False
    if not isinstance(kept, RegistrationSeen) or loose is None:
        return "what git keeps of it could not be looked at", ()
    if kept.used_by is not None:
        moved = short_path(kept.used_by, *target.here.homes)
        repair = (BY_HAND, "-C", anchor, "worktree", "repair", kept.used_by)
        return f"it was moved to {moved}. Tell git, and resume there", repair
    if kept.in_progress:
        return f"a {operation_name(kept.in_progress)} was half finished there, and would be lost", ()
    if loose:
        commit = short_sha(entry.sha)
        keep = (BY_HAND, "branch", f"kept-{commit}", commit)
        return f"its commit {commit} is on no branch, and would be lost. Give it a branch", keep
    if kept.staged:
        return "changes that were staged there would be lost", ()
    if kept.references:
        return "references that only it has would be lost", ()
    if kept.submodules:
        return "the repositories of its submodules would be lost", ()
    if kept.settings:
        return "settings that only it has would be lost", ()
    return "", ()
