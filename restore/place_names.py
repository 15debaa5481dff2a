"""What a place, its branch and its commit are called in sentences for people."""

from resumed.protocol.restore import DriftKind
from resumed.restore.place import Place, WorktreeState
from resumed.restore.probes import RepositorySeen
from resumed.restore.subsystem import Target
from resumed.restore.wording import short_path, short_sha


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
