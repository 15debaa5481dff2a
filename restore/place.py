"""Where a thread ran and where that is now: which place it is, and what became of it.

Only facts that were seen decide. What could not be looked at counts as a different place.
"""

import posixpath

import msgspec

from resumed.protocol.restore import DriftKind
from resumed.restore.probes import (
    AnyProbe,
    BranchProbe,
    BranchSeen,
    CommitProbe,
    CommitSeen,
    FolderProbe,
    FolderSeen,
    HistoryProbe,
    HistorySeen,
    NoRepository,
    RepositoryProbe,
    RepositorySeen,
    Seen,
    SwitchProbe,
    SwitchSeen,
)
from resumed.restore.subsystem import Target

CANDIDATES = 3


class WorktreeState(msgspec.Struct, kw_only=True):
    """Where the thread ran. `root` is the work tree's top level where it was recorded, else the
    folder of the first turn; `silent` are folders it changed to without anyone choosing; `kind` is
    main, linked or empty; `sha_as_of` is `start` or `last`."""

    root: str = ""
    root_recorded: bool = False
    cwd: str = ""
    last_folder: str = ""
    silent: list[str] = []
    branch: str | None = None
    sha: str | None = None
    sha_as_of: str = "start"
    origin: str | None = None
    repo_id: str | None = None
    worktree_id: str | None = None
    kind: str = ""
    paths: dict[str, str] = {}

    @property
    def had_git(self) -> bool:
        """Whether the record names any repository."""
        return bool(self.sha or self.origin or self.repo_id)


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """The judgement. `kind` is the drift of the place itself, or `None` when it is as recorded.

    `base` is the work tree whose branch and commit are compared (`None`: there is none);
    `anchor` is the path by which its probes are keyed; `source` is a work tree of the same
    repository from which another one can be made; `certain` whether the evidence leaves no doubt.
    """

    kind: DriftKind | None
    base: str | None
    anchor: str
    repository: RepositorySeen | None
    source: str | None
    certain: bool = True


def place_probes(state: WorktreeState, target: Target) -> tuple[AnyProbe, ...]:
    """Everything the judgement, the choices and the comparison of commits may need."""
    here = target.here.root
    probes: list[AnyProbe] = [FolderProbe(state.root)]
    for anchor in dict.fromkeys((state.root, here)):
        probes.append(RepositoryProbe(anchor))
        if state.branch:
            probes += [BranchProbe(anchor, state.branch), SwitchProbe(anchor, state.branch)]
        if state.sha:
            probes += [CommitProbe(anchor, state.sha), HistoryProbe(anchor, state.sha)]
    for base in dict.fromkeys((state.root, here)):
        probes += [FolderProbe(candidate) for candidate in candidates(base, state)]
    if state.silent:
        probes += [FolderProbe(state.last_folder), RepositoryProbe(state.last_folder)]
    return tuple(dict.fromkeys(probes))


def candidates(base: str, state: WorktreeState) -> tuple[str, ...]:
    """Names for a new folder beside `base`: `<base>.<branch>`, then with `-2`, `-3`."""
    label = (state.branch or (state.sha or "")[:7]).replace("/", "-")
    stem = f"{base.rstrip('/')}.{label}"
    return tuple(stem if n == 1 else f"{stem}-{n}" for n in range(1, CANDIDATES + 1))


def free_candidate(base: str, state: WorktreeState, seen: Seen) -> str | None:
    """The first of `candidates` where nothing is."""
    for candidate in candidates(base, state):
        if seen.get(FolderProbe(candidate)) == FolderSeen("absent"):
            return candidate
    return None


def judge(state: WorktreeState, seen: Seen, target: Target) -> Place:
    """Decide what became of the recorded place."""
    here = target.here.root
    source = here if same_repository(state, here, seen) == "same" else None
    folder = seen.get(FolderProbe(state.root))
    if not isinstance(folder, FolderSeen) or folder.kind == "unreadable":
        return _lost(DriftKind.GONE, state, source, certain=False)
    if folder.kind != "folder":
        return _absent(state, seen, target, source)
    there = seen.get(RepositoryProbe(state.root))
    if isinstance(there, NoRepository):
        if state.had_git:
            return _lost(DriftKind.STUB, state, source)
        return _found(state, state.root, None, here, source)
    if not isinstance(there, RepositorySeen):
        return _lost(DriftKind.GONE, state, source, certain=False)
    if _is_stub(state, there):
        return _lost(DriftKind.STUB, state, source)
    same = same_repository(state, state.root, seen)
    if same == "different" or (same == "unknown" and state.had_git):
        return _lost(DriftKind.OTHER_REPOSITORY, state, source, certain=same == "different")
    return _found(state, there.top_level, there, here, there.top_level)


def same_repository(state: WorktreeState, anchor: str, seen: Seen) -> str:
    """Whether the repository at `anchor` is the recorded one: `same`, `different` or `unknown`."""
    there = seen.get(RepositoryProbe(anchor))
    if not isinstance(there, RepositorySeen):
        return "different" if isinstance(there, NoRepository) and state.had_git else "unknown"
    if state.repo_id and there.repo_id:
        return "same" if state.repo_id == there.repo_id else "different"
    commit = seen.get(CommitProbe(anchor, state.sha)) if state.sha else None
    has_commit = commit.present if isinstance(commit, CommitSeen) else None
    if state.origin and there.origin:
        if state.origin == there.origin or has_commit:
            return "same"
        return "different"
    if has_commit is None:
        return "unknown"
    return "same" if has_commit else "different"


def commit_drift(state: WorktreeState, place: Place, seen: Seen) -> DriftKind | None:
    """What became of the recorded commit, seen from HEAD of the place."""
    repository = place.repository
    if repository is None or state.sha is None or repository.sha == state.sha:
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
    if repository is None or state.branch is None or repository.branch == state.branch:
        return None
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


def _branch_seen(state: WorktreeState, place: Place, seen: Seen) -> BranchSeen | None:
    anchor = place.anchor if place.base is not None else place.source
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
        return f"{state.branch} is checked out in {branch.checked_out_at}"
    if place.repository is None or place.repository.in_progress:
        return "something is half finished here"
    if place.repository.sha is None:
        return "this folder has no commit to come back to"
    switch = seen.get(SwitchProbe(place.anchor, state.branch))
    if not isinstance(switch, SwitchSeen):
        return "the uncommitted files could not be looked at"
    return switch


def folder_in(root: str, state: WorktreeState, recorded_root: str) -> str:
    """The session's folder inside `root`, as it was inside the recorded top level."""
    inside = recorded_root.rstrip("/") + "/"
    if state.cwd.startswith(inside):
        return posixpath.join(root, state.cwd[len(inside) :])
    return root


def recorded_top(state: WorktreeState, place: Place) -> str:
    """What recorded paths are relative to: the top level that the recorded folder belongs to."""
    base = place.base if place.anchor == state.root else None
    return base if base is not None and (state.root + "/").startswith(base.rstrip("/") + "/") else state.root


def _lost(kind: DriftKind, state: WorktreeState, source: str | None, certain: bool = True) -> Place:
    return Place(kind=kind, base=None, anchor=state.root, repository=None, source=source, certain=certain)


def _found(
    state: WorktreeState, base: str, repository: RepositorySeen | None, here: str, source: str | None
) -> Place:
    at_home = base == here or (repository is None and (base + "/").startswith(here.rstrip("/") + "/"))
    return Place(
        kind=None if at_home else DriftKind.OTHER_PROJECT,
        base=base,
        anchor=state.root,
        repository=repository,
        source=source,
    )


def _absent(state: WorktreeState, seen: Seen, target: Target, source: str | None) -> Place:
    here = seen.get(RepositoryProbe(target.here.root))
    if source is None or not isinstance(here, RepositorySeen):
        return _lost(DriftKind.GONE, state, None)
    registered = any(entry.path == state.root for entry in here.worktrees)
    same_worktree = state.worktree_id is not None and here.worktree_id == state.worktree_id
    if same_worktree and not registered:
        return _moved(target, here, certain=True)
    if state.worktree_id is not None and here.worktree_id is not None and not registered:
        # Resume was pressed in another work tree than the recorded one, so that one did not move here.
        kind = DriftKind.GONE if state.kind == "main" else DriftKind.WORKTREE_REMOVED
        return _lost(kind, state, source)
    if registered or state.kind == "linked":
        return _lost(DriftKind.WORKTREE_REMOVED, state, source)
    if state.kind == "main" or (state.branch is not None and here.branch == state.branch):
        return _moved(target, here, certain=state.kind == "main")
    return _lost(DriftKind.WORKTREE_REMOVED, state, source, certain=False)


def _moved(target: Target, here: RepositorySeen, certain: bool) -> Place:
    return Place(
        kind=DriftKind.MOVED,
        base=here.top_level,
        anchor=target.here.root,
        repository=here,
        source=here.top_level,
        certain=certain,
    )


def _is_stub(state: WorktreeState, there: RepositorySeen) -> bool:
    if there.top_level == state.root:
        return False
    return state.root_recorded or any(entry.path == state.root for entry in there.worktrees)
