"""What a place, its branch and its commit are called in sentences for people."""

from resumed.protocol.restore import Difference, DriftKind
from resumed.restore.place import Place, WorktreeState
from resumed.restore.place_head import branch_at, branch_relation
from resumed.restore.probes import RepositorySeen, Seen
from resumed.restore.subsystem import Target
from resumed.restore.wording import count, listed, short_path, short_sha


def folder_words(place: Place, target: Target) -> str:
    """The folder whose branch is compared: `this folder`, or its path when it is another project's."""
    if place.base is None or not is_elsewhere(place):
        return "this folder"
    return short_path(place.base, *target.here.homes)


def where_words(place: Place, target: Target) -> str:
    """`here`, or `in <path>` when it is another project's folder."""
    return f"in {folder_words(place, target)}" if is_elsewhere(place) else "here"


def is_elsewhere(place: Place) -> bool:
    """Whether the recorded place is another project than the one in which Resume was pressed."""
    return place.kind is DriftKind.OTHER_PROJECT


def head_now(repository: RepositorySeen) -> str:
    """Branch and commit of a work tree."""
    if repository.unborn:
        return f"{repository.branch or 'a branch'} (no commits yet)"
    return f"{repository.branch or 'no branch'} ({short_sha(repository.sha)})"


def head_then(state: WorktreeState) -> str:
    """The recorded branch and commit, as far as they were recorded."""
    if state.sha is None:
        return state.branch or "not recorded"
    return f"{state.branch or 'no branch'} ({short_sha(state.sha)})"


NO_NAME = "no free name for a new folder was found"


def branch_moved(state: WorktreeState, place: Place, seen: Seen) -> str:
    """That the recorded branch, which is there, is not at the recorded commit any more: a sentence
    with the space before it; empty when it is, or when either is not known."""
    branch = branch_at(state, place, seen)
    if branch is None or state.sha in (None, branch.sha):
        return ""
    became = {
        "ancestor": "has new commits since",
        "diverged": "was rewritten since",
        "descendant": "was set back to an older commit",
    }.get(branch_relation(state, place, seen), "has moved")
    recorded = "when the run began" if state.sha_as_of == "start" else "in the record"
    return (
        f" {state.branch} {became}: it is at {short_sha(branch.sha)} now"
        f" ({recorded}: {short_sha(state.sha)})."
    )


def branch_moved_row(state: WorktreeState, place: Place, seen: Seen) -> tuple[Difference, ...]:
    """The same as a row of what differs; none when it has not moved."""
    branch = branch_at(state, place, seen)
    if branch is None or state.sha in (None, branch.sha):
        return ()
    now = f"{short_sha(branch.sha)} on {state.branch}"
    return (Difference(what="commit", recorded=short_sha(state.sha), now=now),)


def folder_lacking(inside: str) -> str:
    """That there would be no such folder, where the agent worked: a sentence with the space before it,
    or nothing."""
    return f" {inside}, where it worked, is not there." if inside else ""


def files_words(place: Place, target: Target) -> str:
    """Which touched files differ in the folder as it is: a sentence with the space before it; empty where
    they were not compared."""
    where = "there" if is_elsewhere(place) else "here"
    if target.files_differ is None:
        return ""
    if not target.files_differ:
        return f" The files it edited are the same {where}."
    differ = "differs" if len(target.files_differ) == 1 else "differ"
    files = f"{count(len(target.files_differ), 'file')} it edited {differ} {where}"
    return f" {files}: {listed(target.files_differ)}."
