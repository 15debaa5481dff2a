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
)
from resumed.restore.place_head import branch_anchor, branch_at
from resumed.restore.place_inner import inner_folder
from resumed.restore.probes import (
    AnyProbe,
    BranchProbe,
    CommitProbe,
    FolderProbe,
    HistoryProbe,
    RepositoryProbe,
    Seen,
    SwitchProbe,
    TreeFileProbe,
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
    place = judge(state, seen, target)
    probes: list[AnyProbe] = [
        FolderProbe(candidate) for candidate in candidates(place.base or place.top, state)
    ]
    once = once_inside(state, seen, target)
    if is_gone(state.root, seen) and once and state.sha:
        probes.append(TreeFileProbe(target.here.root, state.sha, once))
    probes += _of_the_branch(state, place, seen)
    inside = inner_folder(state, recorded_tops(state, place))
    if inside:
        probes.append(FolderProbe(posixpath.join(place.base or target.here.root, inside)))
    return tuple(probe for probe in dict.fromkeys(probes) if probe not in seen)


def _of_the_branch(state: WorktreeState, place: Place, seen: Seen) -> list[AnyProbe]:
    anchor = branch_anchor(place)
    if anchor is None:
        return []
    probes: list[AnyProbe] = []
    branch = branch_at(state, place, seen)
    tip = branch.sha if branch is not None else None
    if state.branch and state.sha and tip not in (None, state.sha):
        probes.append(HistoryProbe(anchor, state.sha, state.branch))
    inside = inner_folder(state, recorded_tops(state, place))
    if inside:
        probes += [TreeFileProbe(anchor, sha, inside) for sha in (tip, state.sha) if sha]
    return probes
