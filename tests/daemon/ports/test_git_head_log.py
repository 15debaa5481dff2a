"""Git's own log of HEAD tells which restore made a work tree, and which moved its HEAD last."""

from pathlib import Path

import pytest

from resumed.daemon.ports.git import Git
from resumed.daemon.ports.git_command import GitCommand
from resumed.daemon.ports.git_write import GitWriter
from resumed.restore.probes import HeadLogSeen
from tests.support.repository import Repository, make_project


async def _log(path: Path) -> HeadLogSeen:
    return await Git(GitCommand()).head_log(str(path))


def _writer() -> GitWriter:
    return GitWriter(GitCommand())


async def test_a_work_tree_names_the_restore_that_made_it(tmp_path: Path) -> None:
    project, path = make_project(tmp_path / "project"), tmp_path / "linked"
    (await _writer().add_worktree(str(project.root), (), str(path), "feature", "one")).expect()
    assert await _log(path) == HeadLogSeen(begun_by="one", moved_by="one")
    Repository(path).git("switch", "-q", "--detach")
    assert await _log(path) == HeadLogSeen(begun_by="one", moved_by="")


async def test_head_names_the_restore_that_moved_it_last(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    (await _writer().switch(str(project.root), ("feature",), "two")).expect()
    assert await _log(project.root) == HeadLogSeen(moved_by="two")
    project.git("switch", "-q", "main")
    project.git("switch", "-q", "feature")
    assert await _log(project.root) == HeadLogSeen(moved_by="")


async def test_a_branch_that_is_renamed_or_begins_anew_makes_no_work_tree(tmp_path: Path) -> None:
    project, path = make_project(tmp_path / "project"), tmp_path / "linked"
    (await _writer().add_worktree(str(project.root), (), str(path), "feature", "one")).expect()
    linked = Repository(path)
    linked.git("branch", "-m", "feature", "renamed")
    assert await _log(path) == HeadLogSeen(begun_by="one", moved_by="")
    linked.git("switch", "-q", "--orphan", "new")
    linked.commit({"a.txt": "a\n"})
    assert (await _log(path)).begun_by == "one"
    project.git("worktree", "remove", "--force", str(path))
    project.git("worktree", "add", "-q", str(path), "renamed")
    assert await _log(path) == HeadLogSeen(begun_by="", moved_by="")


async def test_git_still_finds_the_branch_before(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    (await _writer().switch(str(project.root), ("feature",), "two")).expect()
    project.git("switch", "-q", "-")
    assert project.git("branch", "--show-current") == "main"


async def test_without_a_log_nothing_is_known(tmp_path: Path) -> None:
    project, path = make_project(tmp_path / "project"), tmp_path / "linked"
    project.git("config", "core.logAllRefUpdates", "false")
    (await _writer().add_worktree(str(project.root), (), str(path), "feature", "one")).expect()
    assert await _log(path) == HeadLogSeen()


@pytest.mark.parametrize("content", [b"", b"\n", b"garbage", b"\0" * 100, b"resumed <one> 1 +0000\n"])
async def test_what_is_no_log_says_nothing(tmp_path: Path, content: bytes) -> None:
    project = make_project(tmp_path / "project")
    (project.root / ".git" / "logs" / "HEAD").write_bytes(content)
    assert await _log(project.root) == HeadLogSeen()


async def test_the_end_of_a_long_log_is_read(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    log = project.root / ".git" / "logs" / "HEAD"
    log.write_bytes(log.read_bytes() * 2000)
    (await _writer().switch(str(project.root), ("feature",), "two")).expect()
    assert (await _log(project.root)).moved_by == "two"
