"""Where a thread ran and where that is now: which place it is, and what became of it.

Only facts that were seen decide. What could not be looked at counts as a different place. The record
may write a path through symbolic links: paths are compared only with the links resolved.
"""

import posixpath

import msgspec

from resumed.protocol.restore import DriftKind
from resumed.restore.probes import (
    AnyObservation,
    BranchProbe,
    BranchSeen,
    CommitProbe,
    CommitSeen,
    FileSeen,
    FolderProbe,
    FolderSeen,
    NoRepository,
    RegistrationProbe,
    RegistrationSeen,
    RepositoryProbe,
    RepositorySeen,
    Seen,
    TreeFolderProbe,
    WorktreeEntry,
)
from resumed.restore.subsystem import Target

CANDIDATES = 3


class Left(msgspec.Struct, frozen=True, kw_only=True):
    """Where the agent believes to be, while the place of a later restore has not reached any agent.
    `made` is the folder that was made new since, `branch_made` the branch that was made again, each
    empty when none was; `inside` is the folder inside the root where it worked, relative, if the work
    was to go on without that."""

    root: str
    branch: str | None
    sha: str | None
    made: str = ""
    branch_made: str = ""
    inside: str = ""


class WorktreeState(msgspec.Struct, kw_only=True):
    """Where the thread ran. `root` is the work tree's top level where it was recorded, else the
    folder of the first turn; `silent` are folders it changed to without anyone choosing; `kind` is
    main, linked, folder (no repository) or empty, `kinds` those of all its work trees by id;
    `sha_as_of` is `start` or `last`; `restoring` is true in a run that a restore began, until it is
    known that an agent took it up."""

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
    kinds: dict[str, str] = {}
    restoring: bool = False
    left: Left | None = None

    @property
    def had_git(self) -> bool:
        """Whether the record names any repository."""
        return bool(self.sha or self.origin or self.git_id)

    @property
    def git_id(self) -> str | None:
        """The id of the recorded repository; a folder without one has an id of its own."""
        return None if self.kind == "folder" else self.repo_id


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """The judgement. `kind` is the drift of the place itself, or `None` when it is as recorded.

    `base` is the work tree whose branch and commit are compared (`None`: there is none);
    `top` is the top level of the recorded place, its links resolved: git's where it tells, else the
    recorded folder; `inside` is the recorded folder in it, empty or `/…`. `anchor` is the path by
    which its probes are keyed; `source` is a work tree of the same repository from which another one
    can be made; `certain` whether the evidence leaves no doubt.
    """

    kind: DriftKind | None
    base: str | None
    top: str
    inside: str = ""
    anchor: str
    repository: RepositorySeen | None
    source: str | None
    certain: bool = True


def canonical(path: str, seen: Seen) -> str:
    """The path with its symbolic links resolved, as far as it was looked at."""
    folder = seen.get(FolderProbe(path))
    return (folder.canonical if isinstance(folder, FolderSeen) else "") or path


def is_gone(path: str, seen: Seen) -> bool:
    """Whether it was seen that no folder is there."""
    folder = seen.get(FolderProbe(path))
    return isinstance(folder, FolderSeen) and folder.kind in ("absent", "file")


def strayed(state: WorktreeState, seen: Seen) -> bool:
    """Whether it went to another folder by itself; the same one by another name is none."""
    began = canonical(state.cwd, seen)
    return any(canonical(folder, seen) != began for folder in state.silent)


def candidates(base: str, state: WorktreeState) -> tuple[str, ...]:
    """Names for a new folder beside `base`: `<base>.<branch>`, then with `-2`, `-3`."""
    label = (state.branch or (state.sha or "")[:7]).replace("/", "-")
    stem = f"{base.rstrip('/')}.{label}"
    return tuple(stem if n == 1 else f"{stem}-{n}" for n in range(1, CANDIDATES + 1))


def free_candidate(state: WorktreeState, place: Place, seen: Seen) -> str | None:
    """The first name beside the place where nothing is, not even a link that leads nowhere."""
    for candidate in candidates(place.base or place.top, state):
        folder = seen.get(FolderProbe(candidate))
        if not isinstance(folder, FolderSeen) or folder.kind != "absent":
            continue
        path = folder.canonical or candidate
        if posixpath.basename(path) == posixpath.basename(candidate):
            return path
    return None


def judge(state: WorktreeState, seen: Seen, target: Target) -> Place:
    """Decide what became of the recorded place."""
    here = target.here.root
    source = here if same_repository(state, here, seen) == "same" else None
    folder = seen.get(FolderProbe(state.root))
    root = canonical(state.root, seen)
    lost = _Lost(state=state, root=root, source=source)
    if not isinstance(folder, FolderSeen) or folder.kind == "unreadable":
        return lost.place(DriftKind.GONE, certain=False)
    if folder.kind != "folder":
        return _absent(lost, seen, target)
    there = seen.get(RepositoryProbe(state.root))
    if is_gone(state.cwd, seen) and not _on_another_branch(state, there):
        inner = msgspec.structs.replace(lost, root=canonical(state.cwd, seen))
        return inner.place(DriftKind.GONE)
    if isinstance(there, NoRepository):
        if state.had_git:
            return lost.place(DriftKind.STUB)
        return _found(lost, None, here)
    if not isinstance(there, RepositorySeen):
        return lost.place(DriftKind.GONE, certain=False)
    if there.top_level != root and (state.root_recorded or _registered(there, root)):
        return lost.place(DriftKind.STUB)
    same = same_repository(state, state.root, seen)
    if same == "different" or (same == "unknown" and state.had_git):
        return lost.place(DriftKind.OTHER_REPOSITORY, certain=same == "different")
    return _found(lost, there, here)


def same_repository(state: WorktreeState, anchor: str, seen: Seen) -> str:
    """Whether the repository at `anchor` is the recorded one: `same`, `different` or `unknown`."""
    there = seen.get(RepositoryProbe(anchor))
    if not isinstance(there, RepositorySeen):
        return "different" if isinstance(there, NoRepository) and state.had_git else "unknown"
    if state.git_id and there.repo_id:
        return "same" if state.git_id == there.repo_id else "different"
    commit = seen.get(CommitProbe(anchor, state.sha)) if state.sha else None
    has_commit = commit.present if isinstance(commit, CommitSeen) else None
    if state.origin and there.origin:
        if state.origin == there.origin or has_commit:
            return "same"
        return "different"
    if has_commit is None:
        return "unknown"
    return "same" if has_commit else "different"


def once_inside(state: WorktreeState, seen: Seen, target: Target) -> str:
    """The gone folder where it began, relative to the work tree in which Resume was pressed; empty
    when it was not in it, or is known to have been a work tree itself."""
    root, here = canonical(state.root, seen), target.here.root
    if state.root_recorded or root == here or not within(root, here):
        return ""
    return root[len(here.rstrip("/")) + 1 :]


def recorded_tops(state: WorktreeState, place: Place) -> tuple[str, str]:
    """What recorded paths are relative to: the top level of the recorded place, as the record writes
    it and with its symbolic links resolved."""
    return as_recorded(state.root, place.inside) or place.top, place.top


def as_recorded(folder: str, inside: str) -> str:
    """The top level as the record writes it, if it writes the folder as one that is `inside` it."""
    return folder.removesuffix(inside) if folder.endswith(inside) else ""


def within(path: str, folder: str) -> bool:
    """Whether the path is the folder or in it."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def registered_entry(place: Place, repository: AnyObservation | None) -> WorktreeEntry | None:
    """Git's entry for a work tree whose folder is gone, at exactly this place."""
    entries = repository.worktrees if isinstance(repository, RepositorySeen) else ()
    return next((entry for entry in entries if entry.gone and entry.path == place.top), None)


class _Lost(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of the recorded place, should it turn out to be lost."""

    state: WorktreeState
    root: str
    source: str | None

    def place(self, kind: DriftKind, *, certain: bool = True, top: str | None = None) -> Place:
        """The place as lost in this way."""
        return Place(
            kind=kind,
            base=None,
            top=top or self.root,
            inside=self.root[len(top) :] if top else "",
            anchor=self.state.root,
            repository=None,
            source=self.source,
            certain=certain,
        )


def _found(lost: _Lost, repository: RepositorySeen | None, here: str) -> Place:
    root = lost.root
    base = repository.top_level if repository is not None else root
    at_home = base == here or (repository is None and within(base, here))
    top = base if within(root, base) else root
    return Place(
        kind=None if at_home else DriftKind.OTHER_PROJECT,
        base=base,
        top=top,
        inside=root[len(top) :],
        anchor=lost.state.root,
        repository=repository,
        source=base if repository is not None else lost.source,
    )


def _absent(lost: _Lost, seen: Seen, target: Target) -> Place:
    state, here = lost.state, seen.get(RepositoryProbe(target.here.root))
    if lost.source is None or not isinstance(here, RepositorySeen):
        return lost.place(DriftKind.GONE)
    registered = _registered(here, lost.root)
    if registered is None and _was_a_folder_here(state, seen, target):
        return _inner_gone(lost, here)
    moved = _moved_to(state, here, registered, seen, target)
    if moved is not None:
        return _moved(lost, moved, certain=True)
    if state.worktree_id is not None and here.worktree_id is not None and not registered:
        # Resume was pressed in another work tree than the recorded one, so that one did not move here.
        kind = DriftKind.GONE if state.kind == "main" else DriftKind.WORKTREE_REMOVED
        return lost.place(kind)
    if registered or state.kind == "linked":
        return lost.place(DriftKind.WORKTREE_REMOVED, top=registered)
    if state.kind == "main" or (state.branch is not None and here.branch == state.branch):
        # It may as well be a second clone of the same repository.
        return _moved(lost, here, certain=False)
    return lost.place(DriftKind.WORKTREE_REMOVED, certain=False)


def _was_a_folder_here(state: WorktreeState, seen: Seen, target: Target) -> bool:
    """Whether the recorded commit tells that the gone folder was one in this work tree."""
    once = once_inside(state, seen, target)
    if not once or state.sha is None:
        return False
    there = seen.get(TreeFolderProbe(target.here.root, state.sha, once))
    return isinstance(there, FileSeen) and there.kind == "folder"


def _inner_gone(lost: _Lost, here: RepositorySeen) -> Place:
    """A folder in this work tree is gone; with another branch it would be there again."""
    if not _on_another_branch(lost.state, here):
        return lost.place(DriftKind.GONE)
    return Place(
        kind=None,
        base=here.top_level,
        top=here.top_level,
        inside=lost.root[len(here.top_level) :],
        anchor=here.top_level,
        repository=here,
        source=here.top_level,
    )


def _on_another_branch(state: WorktreeState, there: AnyObservation | None) -> bool:
    return (
        isinstance(there, RepositorySeen)
        and state.branch is not None
        and there.branch != state.branch
        and there.in_progress is None
    )


def _moved_to(
    state: WorktreeState, here: RepositorySeen, registered: str | None, seen: Seen, target: Target
) -> RepositorySeen | None:
    """The work tree that is the recorded one, in another place: by its id, or by git's own folder for
    it, which a move by hand leaves as it was."""
    branch = seen.get(BranchProbe(target.here.root, state.branch)) if state.branch else None
    at = branch.checked_out_at if isinstance(branch, BranchSeen) else None
    holder = seen.get(RepositoryProbe(at)) if at else None
    for tree in (here, holder):
        if isinstance(tree, RepositorySeen) and state.worktree_id and tree.worktree_id == state.worktree_id:
            return tree
    kept = seen.get(RegistrationProbe(target.here.root, registered)) if registered else None
    is_here = isinstance(kept, RegistrationSeen) and here.kind == "linked" and kept.git_dir == here.git_dir
    return here if is_here else None


def _moved(lost: _Lost, to: RepositorySeen, *, certain: bool) -> Place:
    return Place(
        kind=DriftKind.MOVED,
        base=to.top_level,
        top=lost.root,
        anchor=to.top_level,
        repository=to,
        source=to.top_level,
        certain=certain,
    )


def _registered(repository: RepositorySeen, root: str) -> str | None:
    """The registered work tree that the folder was, or was in before it went away."""
    around = [
        entry.path
        for entry in repository.worktrees
        if entry.path == root or (entry.gone and within(root, entry.path))
    ]
    return max(around, key=len, default=None)
