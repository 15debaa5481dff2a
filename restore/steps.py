"""The closed union of what a restore may do, each with how to take it back and what must hold.

A verb is data: it can be journalled before it is done and taken up by another process after a
crash. Verbs that change a repository say exactly from what to what.
"""

import msgspec

from resumed.restore.probes import (
    AnyProbe,
    FolderProbe,
    FolderSeen,
    RepositoryProbe,
    RepositorySeen,
    Seen,
)


class Verb(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """Base of every verb."""


class AddWorktree(Verb, frozen=True, kw_only=True):
    """Create a linked work tree of the repository at `repository` in `path`, on `branch` at `sha`.

    `create_branch`: the branch is made at `sha` first (it did not exist). Without a branch HEAD is
    detached at `sha`. Where git has a work tree registered at exactly `path`, whose folder is gone, it is
    replaced if its HEAD is still `registered_at`, a full reference or a commit; what git kept for it is
    copied first, under `restore_id`. HEAD's log names the restore as the one that made it."""

    restore_id: str
    repository: str
    path: str
    sha: str
    branch: str | None = None
    create_branch: bool = False
    registered_at: str | None = None


class RemoveWorktree(Verb, frozen=True, kw_only=True):
    """Remove a work tree that this restore created, only if it is clean and still at `sha`; with
    `delete_branch`, the branch that the restore created too, if it is still at `sha`. The work tree that
    making it replaced, whose HEAD was `registered_at`, is registered again, as it was. Cut off anywhere,
    it goes on where it was when it is done again."""

    restore_id: str
    repository: str
    path: str
    sha: str
    branch: str | None = None
    delete_branch: bool = False
    registered_at: str | None = None


class SwitchBranch(Verb, frozen=True, kw_only=True):
    """Move HEAD of the work tree at `root` from exactly `from_*` to `to_*`; git's own rules protect
    uncommitted files. `to_branch` of `None` detaches at `to_sha`. HEAD's log names the restore as the one
    that moved it. `moved_by`: only if this restore moved it last."""

    restore_id: str = ""
    root: str
    from_branch: str | None
    from_sha: str
    to_branch: str | None
    to_sha: str
    moved_by: str | None = None


class RecordState(Verb, frozen=True, kw_only=True):
    """Append state to the new run's stream: pairs of event type and payload."""

    events: tuple[tuple[str, dict[str, object]], ...]


AnyVerb = AddWorktree | RemoveWorktree | SwitchBranch | RecordState


class PathAbsent(msgspec.Struct, frozen=True, tag=True):
    """Nothing is at this path."""

    path: str


class HeadAt(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """The work tree whose top level is `path` has this branch (or is detached) at this commit."""

    path: str
    branch: str | None
    sha: str


class RegisteredAt(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """The repository at `repository` has a work tree registered at `path`, whose folder is gone, with its
    HEAD at this full reference or commit."""

    repository: str
    path: str
    head: str


Condition = PathAbsent | HeadAt | RegisteredAt


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One step: what to do, how to take it back, what must hold before and what holds after."""

    subsystem: str
    title: str
    do: AnyVerb
    undo: AnyVerb | None = None
    expects: tuple[Condition, ...] = ()
    ensures: tuple[Condition, ...] = ()


def probe_of(condition: Condition) -> AnyProbe:
    """The probe whose observation decides the condition."""
    match condition:
        case PathAbsent(path):
            return FolderProbe(path)
        case HeadAt(path=path):
            return RepositoryProbe(path)
        case RegisteredAt(repository=repository):
            return RepositoryProbe(repository)


def holds(condition: Condition, seen: Seen) -> bool | None:
    """Whether the condition holds; `None` when that is not known."""
    observation = seen.get(probe_of(condition))
    match condition, observation:
        case PathAbsent(), FolderSeen(kind=kind):
            return kind == "absent"
        case HeadAt(path=path, branch=branch, sha=sha), RepositorySeen():
            return observation.top_level == path and observation.branch == branch and observation.sha == sha
        case RegisteredAt(path=path, head=head), RepositorySeen(worktrees=entries):
            return any(entry.path == path and entry.gone and entry.head == head for entry in entries)
        case _, None:
            return None
        case HeadAt(), _:
            return False
        case _:
            return None
