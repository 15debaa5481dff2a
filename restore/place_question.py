"""The question about the place itself: gone, moved, deleted, replaced, or another project's."""

from resumed.protocol.restore import Difference, Drift, DriftKind
from resumed.restore.drift import Wording, asked
from resumed.restore.place import (
    Place,
    WorktreeState,
    free_candidate,
    is_gone,
    same_repository,
)
from resumed.restore.place_head import branch_at, checkout_here, holder
from resumed.restore.place_inner import lacks
from resumed.restore.place_names import branch_moved_row, head_now, head_then
from resumed.restore.place_removed import kept_facts, worktree_removed
from resumed.restore.probes import (
    FolderProbe,
    NoRepository,
    RepositoryProbe,
    RepositorySeen,
    Seen,
    Unseen,
)
from resumed.restore.subsystem import Target
from resumed.restore.wording import failure_words, operation_name, short_path


def place_question(state: WorktreeState, place: Place, seen: Seen, target: Target) -> Drift:
    """The question about the place itself."""
    kind = place.kind or DriftKind.GONE
    wording = {
        DriftKind.OTHER_PROJECT: _other_project,
        DriftKind.MOVED: _moved,
        DriftKind.WORKTREE_REMOVED: worktree_removed,
    }.get(kind, _lost)(state, place, seen, target)
    here = checkout_here(seen, target)
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
            "registered": kept_facts(place, seen, target),
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
    checkout = checkout_here(seen, target)
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
