"""The list of registered work trees."""

import os
import shutil
from pathlib import Path

from resumed.daemon.ports.git_command import GitCommand
from resumed.daemon.ports.git_place import locate
from resumed.daemon.ports.git_worktrees import registered
from resumed.restore.probes import WorktreeEntry
from tests.support.repository import make_project, make_repository


async def listed(path: Path, command: GitCommand | None = None) -> tuple[WorktreeEntry, ...]:
    """The work trees of the repository around `path`."""
    place = locate(str(path))
    assert place is not None
    return await registered(command or GitCommand(), place)


async def test_gone_locked_and_detached(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    project.git("branch", "other")
    gone = project.worktree(tmp_path / "gone", "feature")
    locked = project.worktree(tmp_path / "locked", "other")
    project.worktree(tmp_path / "detached", "--detach")
    locked.git("worktree", "lock", "--reason", "on a\nremovable disk", str(locked.root))
    gone.root.rename(tmp_path / "away")
    locked.root.rename(tmp_path / "away-too")
    head, feature = project.head(), project.branch_at("feature")
    assert await listed(project.root) == (
        WorktreeEntry(str(project.root), "main", head, False),
        WorktreeEntry(str(tmp_path / "detached"), None, head, False),
        WorktreeEntry(str(gone.root), "feature", feature, True),
        WorktreeEntry(str(locked.root), "other", head, True, "on a\nremovable disk"),
    )


async def test_below_a_folder_that_became_a_link(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    project.git("branch", "other")
    project.worktree(tmp_path / "old" / "there", "feature")
    project.worktree(tmp_path / "old" / "gone", "other")
    shutil.rmtree(tmp_path / "old" / "gone")
    (tmp_path / "old").rename(tmp_path / "new")
    (tmp_path / "old").symlink_to("new")
    new = tmp_path / "new"
    assert [(each.path, each.gone) for each in (await listed(project.root))[1:]] == [
        (str(new / "gone"), True),
        (str(new / "there"), False),
    ]


async def test_a_plain_folder_at_a_registered_path_is_gone(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    linked = project.worktree(tmp_path / "linked", "feature")
    (linked.root / ".git").unlink()
    assert [entry.gone for entry in await listed(project.root)] == [False, True]


async def test_unborn_has_no_commit(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "project")
    assert await listed(repository.root) == (WorktreeEntry(str(repository.root), "main", None, False),)


async def test_odd_names(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9\nlocked yes"))
    project.worktree(odd, "feature")
    assert [entry.path for entry in await listed(project.root)] == [str(project.root), str(odd)]


async def test_a_rebase_in_another_work_tree_holds_its_branch(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    project.commit({"shared.txt": "three\n"})
    linked = project.worktree(tmp_path / "linked", "feature")
    linked.git("rebase", "main", ends_with=1)
    assert [entry.branch for entry in await listed(project.root)] == ["main", "feature"]


async def test_a_git_without_null_ended_lists(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    project.worktree(tmp_path / "linked", "feature")
    old = tmp_path / "old-git"
    old.write_text('#!/bin/sh\ncase " $* " in *" list --porcelain -z "*) exit 129;; esac\nexec git "$@"\n')
    old.chmod(0o755)
    assert await listed(project.root, GitCommand(str(old))) == await listed(project.root)
