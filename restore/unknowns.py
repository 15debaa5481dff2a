"""What could not be looked at and mattered: a short line each, for people.

A look that failed but decided nothing is none: at a path that is no repository, for a branch that is
not there, at a place that is not the one in question.
"""

from typing import assert_never

from resumed.protocol.restore import DriftKind
from resumed.restore.permission_wording import POLICY
from resumed.restore.place import Place, WorktreeState, judge, same_repository, strayed
from resumed.restore.place_head import branch_anchor, branch_at, branch_drift, commit_drift
from resumed.restore.probes import (
    AnyProbe,
    BranchProbe,
    CeilingProbe,
    CommitProbe,
    FileProbe,
    FolderProbe,
    HeadLogProbe,
    HistoryProbe,
    LooseProbe,
    RegistrationProbe,
    RepositoryProbe,
    RepositorySeen,
    Seen,
    SwitchProbe,
    TreeFileProbe,
    TreeFolderProbe,
    Unseen,
)
from resumed.restore.subsystem import Target
from resumed.restore.wording import failure_words, short_path, short_sha


def unknowns(state: WorktreeState, seen: Seen, target: Target) -> tuple[str, ...]:
    """Of the place, of every file that was looked for, and of the policy."""
    others = (_other(probe, observation, target) for probe, observation in _unseen(seen))
    return tuple(dict.fromkeys((*place_unknowns(state, seen, target), *filter(None, others))))


def place_unknowns(state: WorktreeState, seen: Seen, target: Target) -> tuple[str, ...]:
    """Of the place alone."""
    place = judge(state, seen, target)
    found = (
        _why(what, observation, target)
        for probe, observation in _unseen(seen)
        if (what := _of_place(probe, state, place, seen, target))
    )
    return tuple(dict.fromkeys(found))


def _unseen(seen: Seen) -> list[tuple[AnyProbe, Unseen]]:
    return [(probe, each) for probe, each in seen.items() if isinstance(each, Unseen)]


def _of_place(probe: AnyProbe, state: WorktreeState, place: Place, seen: Seen, target: Target) -> str:
    """What the probe would have told of the place, if the judgement or a choice rests on it."""
    match probe:
        case FolderProbe(path):
            in_question = path == state.root or (path == state.last_folder and strayed(state, seen))
            return f"what is at {short_path(path, *target.here.homes)}" if in_question else ""
        case RepositoryProbe(path):
            doubted = path == state.root and place.kind is DriftKind.GONE and not place.certain
            wanted = path == target.here.root and place.base is None
            last = path == state.last_folder and strayed(state, seen)
            named = short_path(path, *target.here.homes)
            return f"which repository {named} is" if doubted or wanted or last else ""
        case BranchProbe(path, branch):
            asked = branch_drift(state, place, seen) is not None
            lost = place.kind is DriftKind.WORKTREE_REMOVED and path == place.source
            return f"what became of the branch {branch}" if (asked and path == place.anchor) or lost else ""
        case CommitProbe(path, sha):
            known = isinstance(seen.get(RepositoryProbe(path)), RepositorySeen)
            moved = path == place.anchor and commit_drift(state, place, seen) is not None
            doubted = place.base is None and same_repository(state, path, seen) == "unknown"
            return (
                f"whether the commit {short_sha(sha)} is still there" if known and (moved or doubted) else ""
            )
        case HistoryProbe(path, sha, str() as branch):
            asked = path == branch_anchor(place)
            return f"how {branch} moved since the commit {short_sha(sha)}" if asked else ""
        case HistoryProbe(path, sha):
            moved = path == place.anchor and commit_drift(state, place, seen) is DriftKind.REWRITTEN
            asked = moved and branch_drift(state, place, seen) is None
            unborn = place.repository is not None and place.repository.unborn
            return f"how the commit {short_sha(sha)} relates to the one here" if asked and not unborn else ""
        case SwitchProbe(path, branch):
            return (
                f"what a switch to {branch} would overwrite" if _may_switch(path, state, place, seen) else ""
            )
        case TreeFolderProbe(path, relative=name):
            asked = path == branch_anchor(place) and _moves(place, state, seen)
            return f"whether {name} is there" if asked else ""
        case RegistrationProbe(_, worktree):
            return f"what git keeps of {short_path(worktree, *target.here.homes)}"
        case LooseProbe(_, sha):
            return f"whether a branch holds the commit {short_sha(sha)}"
        case FileProbe() | TreeFileProbe() | CeilingProbe() | HeadLogProbe():
            return ""
        case _:
            assert_never(probe)


def _moves(place: Place, state: WorktreeState, seen: Seen) -> bool:
    """Whether a choice may lead to another commit than the one that is checked out."""
    lost = place.kind is DriftKind.WORKTREE_REMOVED
    return (
        lost or branch_drift(state, place, seen) is not None or commit_drift(state, place, seen) is not None
    )


def _may_switch(path: str, state: WorktreeState, place: Place, seen: Seen) -> bool:
    """Whether only the look at the uncommitted files was missing for the choice to switch back."""
    repository = place.repository
    if path != place.anchor or repository is None or repository.in_progress or repository.unborn:
        return False
    branch = branch_at(state, place, seen)
    differs = branch_drift(state, place, seen) is not None
    return differs and branch is not None and branch.checked_out_at in (None, place.base)


def _other(probe: AnyProbe, observation: Unseen, target: Target) -> str:
    match probe:
        case FileProbe(path):
            root = f"{target.root}/" if target.root else ""
            name = path.removeprefix(root) if root else path
            return _why(f"whether {short_path(name, *target.here.homes)} changed", observation, target)
        case TreeFileProbe(relative=name):
            return _why(f"whether {name} changed", observation, target)
        case CeilingProbe():
            return _why(POLICY, observation, target)
        case (
            FolderProbe()
            | RepositoryProbe()
            | BranchProbe()
            | CommitProbe()
            | HistoryProbe()
            | SwitchProbe()
            | LooseProbe()
            | RegistrationProbe()
            | HeadLogProbe()
            | TreeFolderProbe()
        ):
            return ""
        case _:
            assert_never(probe)


def _why(what: str, observation: Unseen, target: Target) -> str:
    """With the reason where one is known."""
    reason = failure_words(observation.reason, *target.here.homes)
    return f"{what} ({reason})" if reason else what
