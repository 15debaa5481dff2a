"""The folder inside the work tree where the agent worked: whether it is there where the work goes on."""

import posixpath

from resumed.restore.place import Place, WorktreeState, is_gone, recorded_tops, within
from resumed.restore.place_head import branch_anchor, branch_at, switchable
from resumed.restore.probes import FileSeen, Seen, SwitchSeen, TreeFolderProbe
from resumed.restore.subsystem import Target


def inner_folder(state: WorktreeState, tops: tuple[str, ...]) -> str:
    """The session's folder relative to the recorded top level, by whichever of its names the record
    has it; empty when that is the top level itself. Where it was to go on without the folder, and no
    agent has been told, it is still the agent's."""
    for top in filter(None, tops):
        inside = top.rstrip("/") + "/"
        if state.cwd.startswith(inside):
            return state.cwd[len(inside) :]
    return state.left.inside if state.left is not None else ""


def folder_in(root: str, state: WorktreeState, target: Target) -> str:
    """The session's folder inside `root`, as it was inside the recorded top level."""
    return posixpath.join(root, inner_folder(state, _tops(target))).rstrip("/")


def folder_now(root: str, state: WorktreeState, seen: Seen, target: Target) -> str:
    """The same in a folder that is there; the top level when it is gone."""
    folder = folder_in(root, state, target)
    return root if is_gone(folder, seen) else folder


def folder_at(root: str, lacking: str, state: WorktreeState, target: Target) -> str:
    """The same in a folder that is yet to change; the top level when it will be `lacking`."""
    return root if lacking else folder_in(root, state, target)


def lacks(sha: str | None, state: WorktreeState, place: Place, seen: Seen) -> str:
    """The folder inside, if it was seen not to be in the commit's tree; else empty."""
    inside = inner_folder(state, recorded_tops(state, place))
    return inside if inside and _in_tree(inside, sha, place, seen) is False else ""


def lacks_now(state: WorktreeState, place: Place, seen: Seen) -> str:
    """The folder inside, if it was seen not to be in the work tree as that is; else empty."""
    inside = inner_folder(state, recorded_tops(state, place))
    return inside if inside and place.base and is_gone(posixpath.join(place.base, inside), seen) else ""


def lacks_after_switch(state: WorktreeState, place: Place, seen: Seen) -> str:
    """The folder inside, if a switch to the recorded branch would leave none; else empty. Files that
    git does not track stay, and the folder with them."""
    branch, repository = branch_at(state, place, seen), place.repository
    inside = lacks(branch.sha, state, place, seen) if branch is not None else ""
    if not inside or repository is None or lacks_now(state, place, seen):
        return inside
    switch = switchable(state, place, seen)
    carried = switch.carried if isinstance(switch, SwitchSeen) else ()
    stays = any(within(path, inside) or (path.endswith("/") and within(inside, path)) for path in carried)
    return inside if _in_tree(inside, repository.sha, place, seen) and not stays else ""


def missing(state: WorktreeState, target: Target) -> str:
    """The folder inside, if the work goes on without it; else empty."""
    return inner_folder(state, _tops(target)) if target.cwd == target.root else ""


def _in_tree(inside: str, sha: str | None, place: Place, seen: Seen) -> bool | None:
    anchor = branch_anchor(place)
    there = seen.get(TreeFolderProbe(anchor, sha, inside)) if anchor and sha else None
    return there.kind == "folder" if isinstance(there, FileSeen) else None


def _tops(target: Target) -> tuple[str, str]:
    return target.recorded_root, target.canonical_root
