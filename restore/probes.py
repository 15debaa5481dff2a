"""The closed union of questions to the world, and of what can be seen.

A probe is a value; the daemon answers it with an observation. A probe that fails, times out or has
no source yields `Unseen`, which is never read as "unchanged".
"""

import msgspec


class Probe(msgspec.Struct, frozen=True, tag=True):
    """Base of every probe. `slow` ones may take up to the slow limit and gate only their steps."""


class FolderProbe(Probe, frozen=True):
    """Is there a folder at this absolute path?"""

    path: str


class RepositoryProbe(Probe, frozen=True):
    """Which git work tree does this absolute path belong to, and where is its HEAD?"""

    path: str


class BranchProbe(Probe, frozen=True):
    """Does the repository at `path` have the local branch, where, and who has it checked out?"""

    path: str
    branch: str


class CommitProbe(Probe, frozen=True):
    """Does the repository at `path` hold this commit?"""

    path: str
    sha: str


class HistoryProbe(Probe, frozen=True):
    """How does `sha` relate to HEAD of the work tree at `path`, or to the `branch` there? Slow."""

    path: str
    sha: str
    branch: str | None = None


class SwitchProbe(Probe, frozen=True):
    """Which uncommitted files would a switch of `path` to `branch` overwrite or carry? Slow."""

    path: str
    branch: str


class LooseProbe(Probe, frozen=True):
    """Is the commit in the repository at `path` on no branch, tag or remote branch? Slow."""

    path: str
    sha: str


class RegistrationProbe(Probe, frozen=True):
    """What does git keep for the work tree that is registered at `worktree`, whose folder is gone, in
    the repository at `path`? Slow."""

    path: str
    worktree: str


class HeadLogProbe(Probe, frozen=True):
    """Which restore made the work tree at this absolute path, and which moved its HEAD last?"""

    path: str


class FileProbe(Probe, frozen=True):
    """The file at this absolute path, its hash and (up to a limit) its bytes."""

    path: str


class TreeFileProbe(Probe, frozen=True):
    """The file at `relative` in the tree of `sha` in the repository at `path`."""

    path: str
    sha: str
    relative: str


class TreeFolderProbe(Probe, frozen=True):
    """What is at `relative`, once a folder, in the tree of `sha` in the repository at `path`. The
    answer is a `FileSeen` of that kind."""

    path: str
    sha: str
    relative: str


class CeilingProbe(Probe, frozen=True):
    """What a managed policy or our own settings allow this agent at most."""

    agent: str


SLOW_PROBES = (HistoryProbe, SwitchProbe, LooseProbe, RegistrationProbe)


class Observation(msgspec.Struct, frozen=True, tag=True):
    """Base of every observation."""


class Unseen(Observation, frozen=True):
    """Not known, and why: `timeout`, `failed: …` or `no source`."""

    reason: str


class FolderSeen(Observation, frozen=True):
    """`kind`: absent, folder, file or unreadable. Device and inode are 0 when absent. `canonical` is
    the path with its symbolic links resolved, also of what is absent; empty when that is not known."""

    kind: str
    device: int = 0
    inode: int = 0
    canonical: str = ""


class NoRepository(Observation, frozen=True):
    """The path is in no git work tree."""


class WorktreeEntry(msgspec.Struct, frozen=True):
    """One registered work tree. `gone`: it is registered, but its folder is not there. `locked`: why
    git was told to keep it, empty without a reason; `None` when it was not."""

    path: str
    branch: str | None
    sha: str | None
    gone: bool
    locked: str | None = None

    @property
    def head(self) -> str | None:
        """What its HEAD says: a full reference, or a commit."""
        return f"refs/heads/{self.branch}" if self.branch else self.sha


class RepositorySeen(Observation, frozen=True, kw_only=True):
    """The work tree that a path belongs to. `kind`: main, linked or bare. `common_id` is the
    common git dir's `device:inode`. `in_progress`: merge, rebase, cherryPick, revert, bisect, am or
    squash, with `done` of `total` steps where git tells. During a rebase `branch` is the branch
    being rebased. `origin` is normalised. Ids are ours, where this place is known to us."""

    top_level: str
    git_dir: str
    common_dir: str
    common_id: str
    kind: str
    branch: str | None
    sha: str | None
    tree: str | None = None
    detached: bool = False
    unborn: bool = False
    in_progress: str | None = None
    done: int | None = None
    total: int | None = None
    origin: str | None = None
    repo_id: str | None = None
    worktree_id: str | None = None
    worktrees: tuple[WorktreeEntry, ...] = ()


class BranchSeen(Observation, frozen=True, kw_only=True):
    """`sha` is `None` when there is no such branch; `checked_out_at` is a work tree's path."""

    sha: str | None
    checked_out_at: str | None = None


class CommitSeen(Observation, frozen=True):
    """Is the commit in the object store, and its tree's id."""

    present: bool
    tree: str | None = None


class HistorySeen(Observation, frozen=True):
    """`same`, `ancestor` (of HEAD or the branch), `descendant` (that is behind it) or `diverged`."""

    relation: str


class SwitchSeen(Observation, frozen=True, kw_only=True):
    """`overwritten`: uncommitted files that differ between the two branches (git would refuse).
    `carried`: uncommitted files that a switch would take along."""

    overwritten: tuple[str, ...] = ()
    carried: tuple[str, ...] = ()


class LooseSeen(Observation, frozen=True):
    """Nothing but a HEAD holds the commit: without that, git forgets it after a while."""

    loose: bool


class RegistrationSeen(Observation, frozen=True, kw_only=True):
    """`git_dir` is git's folder for the work tree, empty when it is not registered. `staged`: its index
    holds what its HEAD does not; `references`: it has some of its own; `submodules`: it holds their
    repositories; `settings`: it has a configuration or sparse patterns of its own. `in_progress` as in
    `RepositorySeen`. `used_by` is another folder that takes this for its own git dir: the work tree was moved
    without git's knowing, alone or together with the repository."""

    git_dir: str = ""
    staged: bool = False
    references: bool = False
    submodules: bool = False
    settings: bool = False
    in_progress: str | None = None
    used_by: str | None = None


class HeadLogSeen(Observation, frozen=True, kw_only=True):
    """Who made the work tree and who moved its HEAD last, by HEAD's log: the `restore_id` of ours, empty
    for anybody else, `None` where the log does not tell."""

    begun_by: str | None = None
    moved_by: str | None = None


class FileSeen(Observation, frozen=True, kw_only=True):
    """`kind`: absent, regular, link, folder or other. `content` is `None` above the limit."""

    kind: str
    sha256: str | None = None
    size: int = 0
    content: bytes | None = None


class CeilingSeen(Observation, frozen=True, kw_only=True):
    """The widest approval and sandbox allowed; `None` means no limit. `source` names the file."""

    approval: str | None = None
    sandbox: str | None = None
    source: str = ""


AnyProbe = (
    FolderProbe
    | RepositoryProbe
    | BranchProbe
    | CommitProbe
    | HistoryProbe
    | SwitchProbe
    | LooseProbe
    | RegistrationProbe
    | HeadLogProbe
    | FileProbe
    | TreeFileProbe
    | TreeFolderProbe
    | CeilingProbe
)
AnyObservation = (
    Unseen
    | FolderSeen
    | NoRepository
    | RepositorySeen
    | BranchSeen
    | CommitSeen
    | HistorySeen
    | SwitchSeen
    | LooseSeen
    | RegistrationSeen
    | HeadLogSeen
    | FileSeen
    | CeilingSeen
)
Seen = dict[AnyProbe, AnyObservation]
