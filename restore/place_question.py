"""The question about the place itself: gone, moved, deleted, replaced, or another project's."""

import shlex

from resumed.protocol.restore import Difference, Drift, DriftKind
from resumed.restore.drift import Wording, asked
from resumed.restore.place import Place, WorktreeState, free_candidate, is_gone, same_repository
from resumed.restore.place_head import branch_at, branch_is_gone, commit_is_gone
from resumed.restore.place_inner import lacks
from resumed.restore.place_names import branch_moved, branch_moved_row, folder_lacking, head_now, head_then
from resumed.restore.probes import FolderProbe, FolderSeen, RepositoryProbe, RepositorySeen, Seen
from resumed.restore.subsystem import Target
from resumed.restore.wording import one_line, operation_name, short_path, short_sha

NOT_COMMITTED = "Ignored files (.env, node_modules) and uncommitted edits will be missing."


def place_question(state: WorktreeState, place: Place, seen: Seen, target: Target) -> Drift:
    """The question about the place itself."""
    kind = place.kind or DriftKind.GONE
    wording = {
        DriftKind.OTHER_PROJECT: _other_project,
        DriftKind.MOVED: _moved,
        DriftKind.WORKTREE_REMOVED: _worktree_removed,
    }.get(kind, _lost)(state, place, seen, target)
    here = _here(seen, target)
    branch = branch_at(state, place, seen)
    return asked(
        kind,
        wording,
        differences=_differences(state, place, here, seen, target),
        facts={
            "root": state.root,
            "here": target.here.root,
            "base": place.base or "",
            "branch": (place.repository.branch or "") if place.repository else "",
            "recorded": (branch.sha or "") if branch else "",
            "hereBranch": (here.branch or "") if here else "",
            "hereSha": (here.sha or "") if here else "",
            "newFolder": free_candidate(state, place, seen) or "",
            "lacking": lacks(branch.sha if branch else state.sha, state, place, seen),
            "locked": "" if (locked := _locked(place, seen, target)) is None else f"locked {locked}".strip(),
        },
    )


def _other_project(state: WorktreeState, place: Place, seen: Seen, target: Target) -> Wording:
    homes = target.here.homes
    there, here = short_path(place.base or state.root, *homes), short_path(target.here.root, *homes)
    same = same_repository(state, target.here.root, seen) == "same"
    what = "another checkout of the same repository" if same else "a different repository"
    return Wording(
        title="This conversation belongs to another checkout."
        if same
        else "This conversation belongs to another project.",
        reason=f"It ran in {there}; this is {here}, {what}.",
        labels={"open": f"Open {there} and continue there"},
        details={"open": f"{here} is not touched."},
    )


def _moved(state: WorktreeState, place: Place, seen: Seen, target: Target) -> Wording:
    here = short_path(target.here.root, *target.here.homes)
    sure = "is the same repository; this is certain" if place.certain else "looks like the same repository"
    return Wording(
        title="The project folder has moved.",
        reason=f"Was {short_path(state.root, *target.here.homes)}; {here} {sure}.",
        labels={"relink": f"Use {here} from now on"},
    )


def _worktree_removed(state: WorktreeState, place: Place, seen: Seen, target: Target) -> Wording:
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
    obstacle: dict[str, str] = {}
    if branch is not None and branch.checked_out_at == place.top:
        obstacle = {"newWorktree": f"{state.branch} still belongs to the deleted folder"}
    elif branch is not None and branch.checked_out_at is not None:
        taken = f"{state.branch} is checked out in {short_path(branch.checked_out_at, *homes)}"
        obstacle = dict.fromkeys(labels, taken)
    elif branch is None and state.branch is not None and not gone:
        obstacle = dict.fromkeys(labels, f"{state.branch} could not be looked at")
    elif branch is None and commit_is_gone(state, target.here.root, seen):
        obstacle = dict.fromkeys(labels, "neither its branch nor its commit is there any more")
    at_path = seen.get(FolderProbe(state.root))
    if isinstance(at_path, FolderSeen) and at_path.kind == "file":
        obstacle = {"recreate": f"a file is in the way at {where}", **obstacle}
    locked = _locked(place, seen, target)
    if locked is not None:
        why = f" ({one_line(locked)})" if locked else ""
        command = f"git worktree unlock {shlex.quote(place.top)}"
        obstacle = {"recreate": f"git keeps it locked{why}. Free it with `{command}`", **obstacle}
    lacking = folder_lacking(lacks(branch.sha if branch else state.sha, state, place, seen))
    return Wording(
        title="The worktree it ran in was deleted."
        if place.certain
        else "The folder it ran in is gone; it looks like a deleted worktree.",
        reason=f"It was {where}.{kept} Your checkout {short_path(target.here.root, *homes)} is not touched.",
        labels=labels,
        details={"recreate": f"{NOT_COMMITTED}{lacking}", "newWorktree": lacking.strip()},
        not_possible=obstacle,
    )


def _locked(place: Place, seen: Seen, target: Target) -> str | None:
    """Git's reason to keep the registered work tree; `None` when it is not locked."""
    here = _here(seen, target)
    entries = here.worktrees if here is not None else ()
    return next((entry.locked for entry in entries if entry.path == place.top), None)


def _lost(state: WorktreeState, place: Place, seen: Seen, target: Target) -> Wording:
    homes = target.here.homes
    where, here = short_path(_lost_folder(state, seen), *homes), short_path(target.here.root, *homes)
    title, reason = {
        DriftKind.STUB: (
            "The folder is not the worktree it was.",
            f"{where} is there, but it is only a plain folder now.",
        ),
        DriftKind.OTHER_REPOSITORY: (
            "Another repository is at that place now.",
            f"{where} holds a different repository than the one it ran in.",
        )
        if place.certain
        else (
            "Which repository is at that place is not known.",
            f"{where} could not be compared with the repository that it ran in.",
        ),
    }.get(
        place.kind or DriftKind.GONE,
        ("The folder it ran in is gone.", f"{where} is not there.")
        if place.certain
        else ("The folder it ran in could not be looked at.", f"What is at {where} is not known."),
    )
    labels = {}
    details, obstacle = {}, {}
    checkout = _here(seen, target)
    if place.source is not None and checkout is not None and target.here.root != place.top:
        labels["relink"] = f"Use {here} from now on"
        reason += f" {here} is a checkout of the same repository."
        details["relink"] = f"It is on {head_now(checkout)}."
        if checkout.in_progress:
            obstacle["relink"] = f"a {operation_name(checkout.in_progress)} is half finished there"
    return Wording(title=title, reason=reason, labels=labels, details=details, not_possible=obstacle)


def _lost_folder(state: WorktreeState, seen: Seen) -> str:
    """The folder that is not as recorded: the whole place, or only where it worked inside it."""
    return state.root if is_gone(state.root, seen) or not is_gone(state.cwd, seen) else state.cwd


def _differences(
    state: WorktreeState, place: Place, here: RepositorySeen | None, seen: Seen, target: Target
) -> tuple[Difference, ...]:
    homes = target.here.homes
    recorded, now = short_path(_lost_folder(state, seen), *homes), short_path(target.here.root, *homes)
    rows = [Difference(what="folder", recorded=recorded, now=now)]
    if state.origin or (here and here.origin):
        rows.append(
            Difference(
                what="repository",
                recorded=state.origin or "not known",
                now=(here.origin if here else None) or "none",
            )
        )
    if state.branch or (here and here.branch):
        head = head_now(here) if here else "none"
        rows.append(Difference(what="branch", recorded=head_then(state), now=head))
    if place.kind is DriftKind.WORKTREE_REMOVED:
        rows += branch_moved_row(state, place, seen)
    return tuple(rows)


def _here(seen: Seen, target: Target) -> RepositorySeen | None:
    here = seen.get(RepositoryProbe(target.here.root))
    return here if isinstance(here, RepositorySeen) else None
