"""What became of the recorded branch and commit, seen from HEAD of the place.

Only what was seen decides: a branch or a history that could not be looked at is neither deleted nor
rewritten.
"""

from resumed.protocol.restore import DriftKind
from resumed.restore.place import Place, WorktreeState
from resumed.restore.probes import (
    BranchProbe,
    BranchSeen,
    CommitProbe,
    CommitSeen,
    HistoryProbe,
    HistorySeen,
    LooseProbe,
    LooseSeen,
    RepositoryProbe,
    RepositorySeen,
    Seen,
    SwitchProbe,
    SwitchSeen,
)
from resumed.restore.subsystem import Target
from resumed.restore.wording import operation_name

# While one of these is half finished HEAD is only on its way; where it stands means nothing.
UNDER_WAY = ("rebase", "bisect")


def commit_drift(state: WorktreeState, place: Place, seen: Seen) -> DriftKind | None:
    """What became of the recorded commit, seen from HEAD of the place."""
    repository = place.repository
    if repository is None or state.sha is None or repository.sha == state.sha:
        return None
    if repository.in_progress in UNDER_WAY:
        return None
    if commit_is_gone(state, place.anchor, seen):
        return DriftKind.COMMIT_GONE
    return DriftKind.ADVANCED if relation(state, place, seen) == "ancestor" else DriftKind.REWRITTEN


def relation(state: WorktreeState, place: Place, seen: Seen) -> str:
    """How the recorded commit relates to HEAD (see `HistorySeen`); empty when that is not known."""
    history = seen.get(HistoryProbe(place.anchor, state.sha)) if state.sha else None
    return history.relation if isinstance(history, HistorySeen) else ""


def commit_is_gone(state: WorktreeState, anchor: str, seen: Seen) -> bool:
    """Whether the recorded commit is not known, or was seen not to be in the repository there."""
    commit = seen.get(CommitProbe(anchor, state.sha)) if state.sha else None
    return state.sha is None or (isinstance(commit, CommitSeen) and not commit.present)


def branch_drift(state: WorktreeState, place: Place, seen: Seen) -> DriftKind | None:
    """What became of the recorded branch, seen from HEAD of the place."""
    repository = place.repository
    if repository is None or repository.branch == state.branch:
        return None
    if state.branch is None:
        # It was on no branch, which only a recorded commit tells; during a rebase HEAD is on its way.
        told = state.sha is not None and repository.in_progress not in UNDER_WAY
        return DriftKind.BRANCH_DIFFERS if told else None
    if branch_is_gone(state, place, seen):
        return DriftKind.BRANCH_DELETED
    return DriftKind.DETACHED if repository.detached or repository.unborn else DriftKind.BRANCH_DIFFERS


def branch_at(state: WorktreeState, place: Place, seen: Seen) -> BranchSeen | None:
    """The recorded branch as it is now; `None` when it is gone or could not be looked at."""
    branch = _branch_seen(state, place, seen)
    return branch if branch is not None and branch.sha is not None else None


def branch_is_gone(state: WorktreeState, place: Place, seen: Seen) -> bool:
    """Whether it was seen that the recorded branch is not there any more."""
    branch = _branch_seen(state, place, seen)
    return branch is not None and branch.sha is None


def holder(state: WorktreeState, place: Place, seen: Seen) -> RepositorySeen | None:
    """The other work tree that has the recorded branch checked out, its folder seen to be there."""
    branch = branch_at(state, place, seen)
    at = branch.checked_out_at if branch is not None else None
    if at is None or at in (place.base, place.top):
        return None
    there = seen.get(RepositoryProbe(at))
    is_there = isinstance(there, RepositorySeen) and (there.top_level, there.branch) == (at, state.branch)
    return there if is_there and isinstance(there, RepositorySeen) else None


def is_loose(anchor: str | None, sha: str | None, seen: Seen) -> bool | None:
    """Whether only a HEAD holds the commit; `None` when that is not known."""
    looked = seen.get(LooseProbe(anchor, sha)) if anchor and sha else None
    return looked.loose if isinstance(looked, LooseSeen) else None


def checkout_here(seen: Seen, target: Target) -> RepositorySeen | None:
    """The work tree in which Resume was pressed."""
    here = seen.get(RepositoryProbe(target.here.root))
    return here if isinstance(here, RepositorySeen) else None


def branch_anchor(place: Place) -> str | None:
    """By which path the branch, and what is in its commits, was looked at; `None`: nowhere."""
    return place.anchor if place.base is not None else place.source


def branch_relation(state: WorktreeState, place: Place, seen: Seen) -> str:
    """How the recorded commit relates to the recorded branch as it is now (see `HistorySeen`); empty
    when that is not known."""
    anchor = branch_anchor(place)
    if anchor is None or state.sha is None or state.branch is None:
        return ""
    history = seen.get(HistoryProbe(anchor, state.sha, state.branch))
    return history.relation if isinstance(history, HistorySeen) else ""


def _branch_seen(state: WorktreeState, place: Place, seen: Seen) -> BranchSeen | None:
    anchor = branch_anchor(place)
    if state.branch is None or anchor is None:
        return None
    branch = seen.get(BranchProbe(anchor, state.branch))
    return branch if isinstance(branch, BranchSeen) else None


def tree_equal(state: WorktreeState, place: Place, seen: Seen) -> bool:
    """Whether the recorded commit and HEAD hold the same files."""
    if place.repository is None or state.sha is None:
        return False
    commit = seen.get(CommitProbe(place.anchor, state.sha))
    return isinstance(commit, CommitSeen) and commit.tree is not None and commit.tree == place.repository.tree


def switchable(state: WorktreeState, place: Place, seen: Seen) -> SwitchSeen | str:
    """What a switch back would do, or why it is not possible yet."""
    branch = branch_at(state, place, seen)
    if branch is None or state.branch is None:
        return "the branch is gone" if branch_is_gone(state, place, seen) else "the branch could not be seen"
    if branch.checked_out_at not in (None, place.base):
        return f"{state.branch} is checked out elsewhere"
    if place.repository is None:
        return "there is no repository"
    if place.repository.in_progress:
        return f"a {operation_name(place.repository.in_progress)} is half finished"
    if place.repository.sha is None:
        return "there is no commit to come back to"
    switch = seen.get(SwitchProbe(place.anchor, state.branch))
    if not isinstance(switch, SwitchSeen):
        return "the uncommitted files could not be looked at"
    return switch
