"""The commands that change a repository refuse to force or discard."""

from pathlib import Path

from resumed.daemon.ports.git_command import GitCommand
from resumed.daemon.ports.git_write import GitWriter
from tests.support.repository import every_byte, make_project


def writer() -> GitWriter:
    """The writer over the real git."""
    return GitWriter(GitCommand())


async def test_work_tree_made_and_removed(tmp_path: Path) -> None:
    project, path = make_project(tmp_path / "project"), tmp_path / "linked"
    made = await writer().add_worktree(str(project.root), (), str(path), "feature", "r")
    assert (made.code, made.said) == (0, b"")
    assert (path / "added.txt").read_text() == "added\n"
    assert (await writer().remove_worktree(str(project.root), str(path))).code == 0
    assert not path.exists()


async def test_a_work_tree_with_files_is_not_removed(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    linked = project.worktree(tmp_path / "linked", "feature")
    linked.write({"mine.txt": "mine\n"})
    before = every_byte(tmp_path)
    assert (await writer().remove_worktree(str(project.root), str(linked.root))).code != 0
    assert every_byte(tmp_path) == before


async def test_a_branch_is_deleted_only_at_its_commit(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    feature = project.branch_at("feature")
    assert (await writer().delete_branch(str(project.root), "feature", project.head())).code != 0
    assert project.branch_at("feature") == feature
    assert (await writer().delete_branch(str(project.root), "feature", feature)).code == 0
    project.git("show-ref", "--verify", "--quiet", "refs/heads/feature", ends_with=1)


async def test_switch_protects_files_and_makes_no_branch_of_a_remote_one(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    project.git("update-ref", "refs/remotes/origin/far", "feature")
    project.git("config", "remote.origin.url", str(tmp_path))
    project.git("config", "remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*")
    assert (await writer().switch(str(project.root), ("far",), "r")).code != 0
    project.write({"shared.txt": "mine\n"})
    assert (await writer().switch(str(project.root), ("feature",), "r")).code != 0
    assert (project.root / "shared.txt").read_text() == "mine\n"
    assert project.git("branch", "--show-current") == "main"
