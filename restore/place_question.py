"""The question about the place itself: gone, moved, deleted, replaced, or another project's."""

from resumed.protocol.restore import Difference, Drift, DriftKind
from resumed.restore.drift import Wording, asked
from resumed.restore.place import (
    Place,
    WorktreeState,
    free_candidate,
    is_gone,
    registered_entry,
    same_repository,
)
from resumed.restore.place_head import branch_at, branch_is_gone, commit_is_gone, holder, is_loose
from resumed.restore.place_inner import lacks
from resumed.restore.place_names import branch_moved, branch_moved_row, folder_lacking, head_now, head_then
from resumed.restore.probes import (
    FolderProbe,
    FolderSeen,
    NoRepository,
    RegistrationProbe,
    RegistrationSeen,
    RepositoryProbe,
    RepositorySeen,
    Seen,
    Unseen,
    WorktreeEntry,
)
from resumed.restore.subsystem import Target
from resumed.restore.wording import failure_words, one_line, operation_name, short_path, short_sha

BY_HAND = "git"
"""Begins a command that is only shown: a person runs it, we never do."""

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
            "registered": _kept_facts(place, seen, target),
            "holder": other.top_level if (other := holder(state, place, seen)) is not None else "",
        },
    )


def _other_project(state: WorktreeState, place: Place, seen: Seen, target: Target) -> Wording:
    homes = target.here.homes
    there, here = short_path(place.base or state.root, *homes), short_path(target.here.root, *homes)
    same = same_repository(state, target.here.root, seen) == "same"
    what = "another checkout of the same repository" if same else "a different repository"
    was_made = state.left is not None and state.left.made == place.base
    ran = f"The last Resume made {there} for it" if was_made else f"It ran in {there}"
    return Wording(
        title="This conversation belongs to another checkout."
        if same
        else "This conversation belongs to another project.",
        reason=f"{ran}; this is {here}, {what}.",
        labels={"open": f"Open {there} and continue there"},
        details={"open": f"{here} is not touched."},
    )


def _moved(state: WorktreeState, place: Place, seen: Seen, target: Target) -> Wording:
    there = short_path(place.base or target.here.root, *target.here.homes)
    sure = "is the same repository; this is certain" if place.certain else "looks like the same repository"
    here = seen.get(RepositoryProbe(target.here.root))
    entries = here.worktrees if isinstance(here, RepositorySeen) else ()
    unknown_to_git = any(entry.gone and entry.path == place.top for entry in entries)
    return Wording(
        title="The project folder has moved.",
        reason=f"Was {short_path(state.root, *target.here.homes)}; {there} {sure}.",
        labels={"relink": f"Use {there} from now on"},
        details={"relink": "Tell git too: run `git worktree repair` there." if unknown_to_git else ""},
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
        entry = registered_entry(place, _here(seen, target))
        became = "moved" if _moved_away(entry, seen, target) else "deleted"
        obstacle = {"newWorktree": f"{state.branch} still belongs to the {became} folder"}
    elif branch is not None and branch.checked_out_at is not None:
        held = _here(seen, target)
        is_gone_too = any(
            each.gone and each.path == branch.checked_out_at for each in (held.worktrees if held else ())
        )
        gone_too = ", whose folder is gone too" if is_gone_too else ""
        taken = f"{state.branch} is checked out in {short_path(branch.checked_out_at, *homes)}{gone_too}"
        obstacle = dict.fromkeys(labels, taken)
    elif branch is None and state.branch is not None and not gone:
        obstacle = dict.fromkeys(labels, f"{state.branch} could not be looked at")
    elif branch is None and commit_is_gone(state, target.here.root, seen):
        obstacle = dict.fromkeys(labels, "neither its branch nor its commit is there any more")
    at_path = seen.get(FolderProbe(state.root))
    if isinstance(at_path, FolderSeen) and at_path.kind == "file":
        obstacle = {"recreate": f"a file is in the way at {where}", **obstacle}
    entry = registered_entry(place, _here(seen, target))
    lost, way_out = _kept(place, entry, seen, target)
    commands = {"recreate": way_out} if lost and "recreate" not in obstacle else {}
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


def _kept_facts(place: Place, seen: Seen, target: Target) -> str:
    entry = registered_entry(place, _here(seen, target))
    if entry is None:
        return ""
    lost, _ = _kept(place, entry, seen, target)
    return f"{entry.branch or entry.sha}: {lost}"


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
            f"{where} could not be compared with the repository that it ran in{_why(state, seen, target)}.",
        ),
    }.get(
        place.kind or DriftKind.GONE,
        ("The folder it ran in is gone.", f"{where} is not there.")
        if place.certain
        else (
            "The folder it ran in could not be looked at.",
            f"What is at {where} is not known{_why(state, seen, target)}.",
        ),
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


def _why(state: WorktreeState, seen: Seen, target: Target) -> str:
    """Why a look at the recorded folder failed, behind a colon; empty where that is not known."""
    looks = (seen.get(FolderProbe(state.root)), seen.get(RepositoryProbe(state.root)))
    failed = (look.reason for look in looks if isinstance(look, Unseen))
    words = next(filter(None, (failure_words(reason, *target.here.homes) for reason in failed)), "")
    return f": {words}" if words else ""


def _lost_folder(state: WorktreeState, seen: Seen) -> str:
    """The folder that is not as recorded: the whole place, or only where it worked inside it."""
    return state.root if is_gone(state.root, seen) or not is_gone(state.cwd, seen) else state.cwd


def _differences(
    state: WorktreeState, place: Place, here: RepositorySeen | None, seen: Seen, target: Target
) -> tuple[Difference, ...]:
    homes = target.here.homes
    recorded, now = short_path(_lost_folder(state, seen), *homes), short_path(target.here.root, *homes)
    rows = [Difference(what="folder", recorded=recorded, now=now)]
    looked = isinstance(seen.get(RepositoryProbe(target.here.root)), RepositorySeen | NoRepository)
    nothing = "none" if looked else "not known"
    if state.origin or (here and here.origin):
        rows.append(
            Difference(
                what="repository",
                recorded=state.origin or "not known",
                now=(here.origin or "none") if here else nothing,
            )
        )
    if state.branch or (here and here.branch):
        head = head_now(here) if here else nothing
        rows.append(Difference(what="branch", recorded=head_then(state), now=head))
    if place.kind is DriftKind.WORKTREE_REMOVED:
        rows += branch_moved_row(state, place, seen)
    return tuple(rows)


def _here(seen: Seen, target: Target) -> RepositorySeen | None:
    here = seen.get(RepositoryProbe(target.here.root))
    return here if isinstance(here, RepositorySeen) else None
