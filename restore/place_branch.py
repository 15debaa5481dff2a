"""The question about another branch than the recorded one, in words for people."""

from resumed.protocol.restore import Difference, Drift, DriftKind
from resumed.restore.drift import Wording, asked
from resumed.restore.place import Place, WorktreeState, free_candidate
from resumed.restore.place_head import branch_at, commit_is_gone, holder, is_loose, switchable
from resumed.restore.place_inner import lacks, lacks_after_switch, lacks_now
from resumed.restore.place_names import (
    NO_NAME,
    branch_moved,
    branch_moved_row,
    files_words,
    folder_lacking,
    folder_words,
    head_now,
    head_then,
    is_elsewhere,
)
from resumed.restore.probes import RepositorySeen, Seen
from resumed.restore.subsystem import Target
from resumed.restore.wording import capital, count, listed, operation_name, short_path, short_sha

LOOSE, NOT_KNOWN, NOTHING = "loose", "notKnown", ""


def branch_question(kind: DriftKind, state: WorktreeState, place: Place, seen: Seen, target: Target) -> Drift:
    """Another branch, no branch, or the branch is gone."""
    repository = place.repository
    branch = branch_at(state, place, seen)
    return asked(
        kind,
        Wording(
            title=_branch_title(kind, state, place, target),
            reason=f"It was on {state.branch or 'no branch'}; {folder_words(place, target)} is on "
            f"{_on_now(repository)}.{branch_moved(state, place, seen)}{files_words(place, target)}",
            labels=_branch_labels(kind, state, place, seen, target),
            details=_branch_details(state, place, seen, target),
            not_possible=_branch_obstacles(kind, state, place, seen, target),
            suggested=None if _loses_commit(place, seen) == NOTHING else "newWorktree",
        ),
        differences=_branch_differences(state, place, seen),
        facts={
            "branch": (repository.branch or "") if repository else "",
            "sha": (repository.sha or "") if repository else "",
            "recorded": (branch.sha or "") if branch else "",
            "newFolder": free_candidate(state, place, seen) or "",
            "files": "\n".join(target.files_differ or ()),
            "holder": other.top_level if (other := holder(state, place, seen)) is not None else "",
            "loose": _loses_commit(place, seen),
            "lacking": " ".join(choice for choice, inside in _lacking(state, place, seen).items() if inside),
        },
    )


def _branch_title(kind: DriftKind, state: WorktreeState, place: Place, target: Target) -> str:
    folder = folder_words(place, target)
    if kind is DriftKind.BRANCH_DELETED:
        return f"The branch {state.branch} was deleted."
    if place.repository is not None and place.repository.unborn:
        return f"{capital(folder)} is on a branch without commits."
    if kind is DriftKind.DETACHED:
        return f"{capital(folder)} is on no branch."
    if is_elsewhere(place):
        return f"{folder} is on a different branch."
    return "You are on a different branch."


def _on_now(repository: RepositorySeen | None) -> str:
    if repository is None:
        return "a branch that is not known"
    if repository.unborn:
        return f"{repository.branch or 'a branch'}, which has no commits yet"
    return repository.branch or head_now(repository)


def _branch_labels(
    kind: DriftKind, state: WorktreeState, place: Place, seen: Seen, target: Target
) -> dict[str, str]:
    repository = place.repository
    now = (repository.branch or head_now(repository)) if repository is not None else "it"
    there = " there" if is_elsewhere(place) else ""
    labels = {"stay": f"Stay on {now}{there} and tell the agent"}
    candidate = free_candidate(state, place, seen)
    beside = f" {short_path(candidate, *target.here.homes)}" if candidate else ""
    if state.branch is None:
        labels["newWorktree"] = f"Open the recorded commit {short_sha(state.sha)} in a new folder{beside}"
        return labels
    if kind is DriftKind.BRANCH_DELETED:
        labels["newWorktree"] = (
            f"Make {state.branch} again at {short_sha(state.sha)}, in a new folder{beside}"
        )
        return labels
    labels["newWorktree"] = f"Continue on {state.branch} in a new folder{beside}"
    labels["switch"] = f"Switch {folder_words(place, target)} back to {state.branch}"
    other = holder(state, place, seen)
    if other is not None:
        labels["relink"] = f"Continue in {short_path(other.top_level, *target.here.homes)} from now on"
    return labels


def _branch_details(state: WorktreeState, place: Place, seen: Seen, target: Target) -> dict[str, str]:
    here = short_path(place.base or target.here.root, *target.here.homes)
    differ = target.files_differ
    stay = f"{count(len(differ), 'file')} it edited will differ." if differ else ""
    lacking = {choice: folder_lacking(inside) for choice, inside in _lacking(state, place, seen).items()}
    commit = short_sha(place.repository.sha) if place.repository is not None else ""
    loses = {
        LOOSE: f"The commit {commit}, which is there now, is on no branch: git forgets it after a while.",
        NOT_KNOWN: f"Whether a branch holds the commit {commit}, which is there now, is not known.",
    }.get(_loses_commit(place, seen), "")
    on_none = "On no branch. " if state.branch is None else ""
    return {
        "newWorktree": f"{on_none}{here} stays as it is.{lacking['newWorktree']}",
        "switch": f"{loses}{lacking['switch']}".strip(),
        "relink": f"{state.branch} is checked out there.",
        "stay": f"{stay}{lacking['stay']}".strip(),
    }


def _loses_commit(place: Place, seen: Seen) -> str:
    """Whether a switch would leave a commit behind that nothing else holds: `LOOSE`, `NOT_KNOWN` or
    `NOTHING`."""
    repository = place.repository
    if repository is None or not repository.detached or repository.sha is None:
        return NOTHING
    loose = is_loose(place.anchor, repository.sha, seen)
    return {True: LOOSE, False: NOTHING, None: NOT_KNOWN}[loose]


def _lacking(state: WorktreeState, place: Place, seen: Seen) -> dict[str, str]:
    """The folder inside where it worked, by the choices that leave it out; empty by the others."""
    branch = branch_at(state, place, seen)
    return {
        "newWorktree": lacks(branch.sha if branch else state.sha, state, place, seen),
        "switch": lacks_after_switch(state, place, seen),
        "stay": lacks_now(state, place, seen),
    }


def _branch_differences(state: WorktreeState, place: Place, seen: Seen) -> tuple[Difference, ...]:
    now = head_now(place.repository) if place.repository is not None else "not known"
    row = Difference(what="branch", recorded=head_then(state), now=now)
    return (row, *branch_moved_row(state, place, seen))


def _branch_obstacles(
    kind: DriftKind, state: WorktreeState, place: Place, seen: Seen, target: Target
) -> dict[str, str]:
    obstacles: dict[str, str] = {}
    branch = branch_at(state, place, seen)
    taken = ""
    if branch is not None and branch.checked_out_at is not None:
        where = short_path(branch.checked_out_at, *target.here.homes)
        entries = place.repository.worktrees if place.repository is not None else ()
        is_gone = any(each.gone and each.path == branch.checked_out_at for each in entries)
        taken = f"{state.branch} is checked out in {where}{', whose folder is gone' if is_gone else ''}"
    if free_candidate(state, place, seen) is None:
        obstacles["newWorktree"] = NO_NAME
    elif taken:
        obstacles["newWorktree"] = taken
    elif state.branch is None and commit_is_gone(state, place.anchor, seen):
        obstacles["newWorktree"] = f"the commit {short_sha(state.sha)} is gone"
    elif branch is None and state.branch is not None and kind is not DriftKind.BRANCH_DELETED:
        obstacles["newWorktree"] = f"{state.branch} could not be looked at"
    if kind is DriftKind.BRANCH_DELETED:
        if state.sha is None:
            obstacles["newWorktree"] = "the commit it was at is not known"
        elif commit_is_gone(state, place.anchor, seen):
            obstacles["newWorktree"] = f"the commit {short_sha(state.sha)} is gone too"
        return obstacles
    other = holder(state, place, seen)
    if other is not None and other.in_progress:
        obstacles["relink"] = f"a {operation_name(other.in_progress)} is half finished there"
    switch = switchable(state, place, seen)
    if taken:
        obstacles["switch"] = taken
    elif isinstance(switch, str):
        obstacles["switch"] = switch
    elif switch.overwritten:
        obstacles["switch"] = (
            f"would overwrite {count(len(switch.overwritten), 'uncommitted file')}: "
            f"{listed(switch.overwritten)}. Commit or stash it first"
        )
    return obstacles
