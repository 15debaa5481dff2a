"""The folder inside the work tree where the agent worked: whether it is there where the work goes on."""

import posixpath

from resumed.restore.place import Place, WorktreeState, is_gone, recorded_tops
from resumed.restore.place_head import branch_anchor
from resumed.restore.probes import FileSeen, Seen, TreeFileProbe
from resumed.restore.subsystem import Target


def inner_folder(state: WorktreeState, tops: tuple[str, ...]) -> str:
    """The session's folder relative to the recorded top level, by whichever of its names the record
    has it; empty when that is the top level itself."""
    for top in filter(None, tops):
        inside = top.rstrip("/") + "/"
        if state.cwd.startswith(inside):
            return state.cwd[len(inside) :]
    return ""


def folder_in(root: str, state: WorktreeState, target: Target) -> str:
    """The session's folder inside `root`, as it was inside the recorded top level."""
    return posixpath.join(root, inner_folder(state, _tops(target))).rstrip("/")


def folder_now(root: str, state: WorktreeState, seen: Seen, target: Target) -> str:
    """The same in a folder that is there; the top level when it is gone."""
    folder = folder_in(root, state, target)
    return root if is_gone(folder, seen) else folder


def folder_at(
    root: str, sha: str | None, state: WorktreeState, place: Place, seen: Seen, target: Target
) -> str:
    """The same in a folder that is yet to get the files of a commit; the top level when that has none."""
    return root if lacks(sha, state, place, seen) else folder_in(root, state, target)


def lacks(sha: str | None, state: WorktreeState, place: Place, seen: Seen) -> str:
    """The folder inside, if it was seen not to be in the commit's tree; else empty."""
    anchor = branch_anchor(place)
    inside = inner_folder(state, recorded_tops(state, place))
    if not inside or anchor is None or sha is None:
        return ""
    there = seen.get(TreeFileProbe(anchor, sha, inside))
    return inside if isinstance(there, FileSeen) and there.kind != "folder" else ""


def missing(state: WorktreeState, target: Target) -> str:
    """The folder inside, if the work goes on without it; else empty."""
    return inner_folder(state, _tops(target)) if target.cwd == target.root else ""


def _tops(target: Target) -> tuple[str, str]:
    return target.recorded_root, target.canonical_root
