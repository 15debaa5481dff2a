"""Verbs that make a work tree of a test's project, and take it back."""

from pathlib import Path

import msgspec

from resumed.restore.steps import AddWorktree, RemoveWorktree
from tests.support.repository import Repository

FEATURE = "refs/heads/feature"


def on_feature(project: Repository, path: Path) -> AddWorktree:
    """A work tree at `path` on the existing branch `feature`."""
    return AddWorktree(
        restore_id="r",
        repository=str(project.root),
        path=str(path),
        sha=project.branch_at("feature"),
        branch="feature",
    )


def on_new(project: Repository, path: Path) -> AddWorktree:
    """A work tree at `path` on a branch `new` that does not exist yet."""
    sha = project.branch_at("feature")
    return AddWorktree(
        restore_id="r",
        repository=str(project.root),
        path=str(path),
        sha=sha,
        branch="new",
        create_branch=True,
    )


def undo_of(verb: AddWorktree) -> RemoveWorktree:
    """Takes the work tree back."""
    return RemoveWorktree(
        restore_id="r",
        repository=verb.repository,
        path=verb.path,
        sha=verb.sha,
        branch=verb.branch,
        delete_branch=verb.create_branch,
        registered_at=verb.registered_at,
    )


def over(verb: AddWorktree, registered_at: str) -> AddWorktree:
    """The same, where git has a work tree at that path whose HEAD is `registered_at`."""
    return msgspec.structs.replace(verb, registered_at=registered_at)
