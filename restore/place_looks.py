"""What to look at before the place is judged, its choices are offered and its commits are compared."""

import posixpath

from resumed.restore.place import (
    Place,
    WorktreeState,
    candidates,
    is_gone,
    judge,
    once_inside,
    recorded_tops,
    registered_entry,
)
from resumed.restore.place_head import branch_anchor
from resumed.restore.place_inner import inner_folder
from resumed.restore.probes import (
    AnyProbe,
    BranchProbe,
    BranchSeen,
    CommitProbe,
    FolderProbe,
    HistoryProbe,
    LooseProbe,
    RegistrationProbe,
    RepositoryProbe,
    RepositorySeen,
    Seen,
    SwitchProbe,
    TreeFolderProbe,
)
from resumed.restore.subsystem import Target


def place_probes(state: WorktreeState, target: Target) -> tuple[AnyProbe, ...]:
    """Both places, the branch and the commit in each, and names for a new folder."""
    here = target.here.root
    probes: list[AnyProbe] = [FolderProbe(state.root), FolderProbe(state.cwd)]
    for anchor in dict.fromkeys((state.root, here)):
        probes.append(RepositoryProbe(anchor))
        if state.branch:
            probes += [BranchProbe(anchor, state.branch), SwitchProbe(anchor, state.branch)]
        if state.sha:
            probes += [CommitProbe(anchor, state.sha), HistoryProbe(anchor, state.sha)]
    for base in dict.fromkeys((state.root, here)):
        probes += [FolderProbe(candidate) for candidate in candidates(base, state)]
    if state.silent:
        probes += [FolderProbe(folder) for folder in (state.cwd, *state.silent)]
        probes += [FolderProbe(state.last_folder), RepositoryProbe(state.last_folder)]
    if state.left is not None:
        probes.append(FolderProbe(state.left.root))
    return tuple(dict.fromkeys(probes))


def later_probes(state: WorktreeState, seen: Seen, target: Target) -> tuple[AnyProbe, ...]:
    """What to ask only when a first look told where the place is, and where the branch is now: names
    for a new folder, how the branch moved, and whether the folder inside would be there."""
    place, here = judge(state, seen, target), target.here.root
    probes: list[AnyProbe] = [
        FolderProbe(candidate) for candidate in candidates(place.base or place.top, state)
    ]
    anchor = branch_anchor(place)
    if anchor is not None:
        probes += _of_the_branch(anchor, state, place, seen)
        probes += _of_the_holder(anchor, state, place, seen)
        probes += _of_what_would_be_lost(anchor, place, seen)
        inside = inner_folder(state, recorded_tops(state, place))
        probes += _of_the_folder(inside, anchor, place.base or here, state, seen)
    if is_gone(state.root, seen):
        # Whether the folder was one in this work tree, the answers tell; then it is judged anew.
        probes += _of_the_folder(once_inside(state, seen, target), here, here, state, seen)
    return tuple(probe for probe in dict.fromkeys(probes) if probe not in seen)


def _of_the_branch(anchor: str, state: WorktreeState, place: Place, seen: Seen) -> list[AnyProbe]:
    """How it moved, where HEAD does not tell that."""
    tip = _tip(anchor, state, seen)
    is_head = place.repository is not None and place.repository.branch == state.branch
    if is_head or not state.branch or not state.sha or tip in (None, state.sha):
        return []
    return [HistoryProbe(anchor, state.sha, state.branch)]


def _of_the_holder(anchor: str, state: WorktreeState, place: Place, seen: Seen) -> list[AnyProbe]:
    """The other work tree that has the branch: it may be the recorded one, moved, or the place to go on."""
    branch = seen.get(BranchProbe(anchor, state.branch)) if state.branch else None
    at = branch.checked_out_at if isinstance(branch, BranchSeen) else None
    if at is None or at == place.base or not state.branch:
        return []
    probes: list[AnyProbe] = [RepositoryProbe(at), BranchProbe(at, state.branch)]
    if place.base is None:
        probes.append(SwitchProbe(at, state.branch))
        probes += [CommitProbe(at, state.sha), HistoryProbe(at, state.sha)] if state.sha else []
    inside = inner_folder(state, recorded_tops(state, place))
    return [*probes, FolderProbe(posixpath.join(at, inside))] if inside else probes


def _of_what_would_be_lost(anchor: str, place: Place, seen: Seen) -> list[AnyProbe]:
    """What git keeps for a deleted work tree, and whether a HEAD that may be moved is all that holds
    its commit."""
    repository = place.repository
    if repository is not None:
        return [LooseProbe(anchor, repository.sha)] if repository.detached and repository.sha else []
    around = seen.get(RepositoryProbe(anchor))
    entry = registered_entry(place, around)
    if entry is None:
        return []
    kept: list[AnyProbe] = [RegistrationProbe(anchor, entry.path)]
    return [*kept, LooseProbe(anchor, entry.sha)] if entry.branch is None and entry.sha else kept


def _of_the_folder(inside: str, anchor: str, top: str, state: WorktreeState, seen: Seen) -> list[AnyProbe]:
    """Whether it is there now, and in each commit that the work may go on from."""
    if not inside:
        return []
    repository = seen.get(RepositoryProbe(anchor))
    head = repository.sha if isinstance(repository, RepositorySeen) else None
    commits = dict.fromkeys((_tip(anchor, state, seen), state.sha, head))
    trees = [TreeFolderProbe(anchor, sha, inside) for sha in commits if sha]
    return [FolderProbe(posixpath.join(top, inside)), *trees]


def _tip(anchor: str, state: WorktreeState, seen: Seen) -> str | None:
    branch = seen.get(BranchProbe(anchor, state.branch)) if state.branch else None
    return branch.sha if isinstance(branch, BranchSeen) else None
