"""Which operation is half finished, read from real ones."""

from pathlib import Path

from resumed.daemon.ports.git import Git
from resumed.daemon.ports.git_command import GitCommand
from resumed.daemon.ports.git_progress import InProgress, at_work, in_progress
from resumed.restore.probes import RepositorySeen
from tests.support.git_port import seen_at
from tests.support.repository import Repository, make_project


def conflicting(tmp_path: Path) -> Repository:
    """On `main`, which conflicts with `feature`."""
    project = make_project(tmp_path / "project")
    project.commit({"shared.txt": "three\n"})
    return project


def unfinished(project: Repository) -> InProgress | None:
    """What is half finished in the main work tree."""
    return in_progress(str(project.root / ".git"), frozenset())


def test_nothing(tmp_path: Path) -> None:
    assert unfinished(make_project(tmp_path / "project")) is None


def test_merge(tmp_path: Path) -> None:
    project = conflicting(tmp_path)
    project.git("merge", "feature", ends_with=1)
    assert unfinished(project) == InProgress("merge")


def test_squash(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    project.git("merge", "--squash", "feature")
    assert unfinished(project) == InProgress("squash")
    project.git("commit", "--quiet", "--message", "squashed")
    assert unfinished(project) is None


def test_rebase_by_merging(tmp_path: Path) -> None:
    project = conflicting(tmp_path)
    project.git("switch", "--quiet", "feature")
    project.commit({"later.txt": "later\n"})
    project.git("rebase", "--merge", "main", ends_with=1)
    assert unfinished(project) == InProgress("rebase", done=1, total=2, branch="feature")


def test_rebase_by_applying(tmp_path: Path) -> None:
    project = conflicting(tmp_path)
    project.git("switch", "--quiet", "feature")
    project.git("rebase", "--apply", "main", ends_with=1)
    assert unfinished(project) == InProgress("rebase", done=1, total=1, branch="feature")


def test_rebase_of_a_detached_head_has_no_branch(tmp_path: Path) -> None:
    project = conflicting(tmp_path)
    project.git("switch", "--quiet", "--detach", "feature")
    project.git("rebase", "main", ends_with=1)
    assert unfinished(project) == InProgress("rebase", done=1, total=1, branch=None)


def test_am(tmp_path: Path) -> None:
    project = conflicting(tmp_path)
    (tmp_path / "patch").write_text(project.git("format-patch", "--stdout", "-1", "feature") + "\n")
    project.git("am", str(tmp_path / "patch"), ends_with=128)
    assert unfinished(project) == InProgress("am", done=1, total=1)


def test_cherry_pick_and_revert(tmp_path: Path) -> None:
    project = conflicting(tmp_path)
    project.git("cherry-pick", "feature", ends_with=1)
    assert unfinished(project) == InProgress("cherryPick")
    project.git("cherry-pick", "--abort")
    project.commit({"shared.txt": "four\n"})
    project.git("revert", "--no-edit", "HEAD~1", ends_with=1)
    assert unfinished(project) == InProgress("revert")


def test_between_two_picks_of_a_series(tmp_path: Path) -> None:
    project = conflicting(tmp_path)
    project.git("switch", "--quiet", "feature")
    project.commit({"later.txt": "later\n"})
    project.git("switch", "--quiet", "main")
    project.git("cherry-pick", "feature~1", "feature", ends_with=1)
    project.write({"shared.txt": "both\n"})
    project.git("add", "shared.txt")
    project.git("commit", "--quiet", "--message", "picked by hand")
    assert not (project.root / ".git" / "CHERRY_PICK_HEAD").exists()
    assert unfinished(project) == InProgress("cherryPick")


def test_bisect(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    project.git("bisect", "start", "feature", "main")
    assert unfinished(project) == InProgress("bisect", branch="main")
    project.git("bisect", "reset")
    project.git("switch", "--quiet", "--detach")
    project.git("bisect", "start", "feature", "main")
    assert unfinished(project) == InProgress("bisect")


async def test_a_linked_work_tree_has_its_own(tmp_path: Path) -> None:
    project = conflicting(tmp_path)
    linked = project.worktree(tmp_path / "linked", "feature")
    linked.git("merge", "main", ends_with=1)
    assert (await seen_at(linked.root)).in_progress == "merge"
    assert (await seen_at(project.root)).in_progress is None


async def test_references_that_are_no_files_are_asked_of_git(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    # Stands for a git with reftable, which keeps no file for this reference.
    fake = tmp_path / "fake-git"
    fake.write_text('#!/bin/sh\ncase " $* " in *" CHERRY_PICK_HEAD "*) exit 0;; esac\nexec git "$@"\n')
    fake.chmod(0o755)
    git = Git(GitCommand(str(fake)))
    plain = await git.repository(str(project.root))
    (project.root / ".git" / "reftable").mkdir()
    told = await git.repository(str(project.root))
    assert isinstance(plain, RepositorySeen)
    assert isinstance(told, RepositorySeen)
    assert (plain.in_progress, told.in_progress) == (None, "cherryPick")


def test_another_git_at_work(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    git_dir = project.root / ".git"
    assert not at_work(str(git_dir))
    (git_dir / "index.lock").touch()
    assert at_work(str(git_dir))
    (git_dir / "index.lock").unlink()
    (git_dir / "locked").write_text("initializing\n")
    assert at_work(str(git_dir))
    (git_dir / "locked").write_text("on a removable disk\n")
    assert not at_work(str(git_dir))
