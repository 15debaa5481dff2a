"""Finding the work tree around a path."""

import os
from pathlib import Path

import pytest

from resumed.daemon.ports.git_command import GitFailed
from resumed.daemon.ports.git_place import locate, pointer_of
from tests.support.repository import Repository, make_project, make_repository, run_git


def top_level(path: str) -> str | None:
    """The folder of the work tree around a path."""
    place = locate(path)
    return None if place is None else place.top_level


def test_folder_inside_a_main_work_tree(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    (project.root / "a" / "b").mkdir(parents=True)
    place = locate(str(project.root / "a" / "b"))
    assert place is not None
    assert (place.top_level, place.kind) == (str(project.root), "main")
    assert place.git_dir == place.common_dir == str(project.root / ".git")
    seen = (project.root / ".git").stat()
    assert place.common_id == f"{seen.st_dev}:{seen.st_ino}"


def test_file_in_a_work_tree(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    assert top_level(str(project.root / "shared.txt")) == str(project.root)


def test_linked_work_tree(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    linked = project.worktree(tmp_path / "linked", "feature")
    place = locate(str(linked.root))
    assert place is not None
    assert (place.top_level, place.kind) == (str(linked.root), "linked")
    assert place.git_dir == str(project.root / ".git" / "worktrees" / "linked")
    assert place.common_dir == str(project.root / ".git")


def test_through_a_symbolic_link(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    (tmp_path / "alias").symlink_to(project.root)
    assert top_level(str(tmp_path / "alias")) == str(project.root)


def test_no_repository_and_nothing_there(tmp_path: Path) -> None:
    assert locate(str(tmp_path)) is None
    assert locate(str(tmp_path / "missing")) is None


def test_bare_repository_has_no_work_tree(tmp_path: Path) -> None:
    bare = make_repository(tmp_path / "bare.git", "--bare")
    place = locate(str(bare.root))
    assert place is not None
    assert place.kind == "bare"


def test_inside_a_git_dir_is_no_work_tree(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    assert locate(str(project.root / ".git" / "hooks")) is None
    assert locate(str(project.root / ".git")) is None


def test_submodule(tmp_path: Path) -> None:
    inner = make_project(tmp_path / "inner")
    outer = make_project(tmp_path / "outer")
    outer.git("submodule", "add", "--quiet", str(inner.root), "sub")
    place = locate(str(outer.root / "sub"))
    assert place is not None
    assert (place.top_level, place.kind) == (str(outer.root / "sub"), "main")
    assert place.git_dir == str(outer.root / ".git" / "modules" / "sub")


def test_moved_main_repository_leaves_its_linked_one_unknown(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    linked = project.worktree(tmp_path / "linked", "feature")
    project.root.rename(tmp_path / "elsewhere")
    with pytest.raises(GitFailed, match="is not there"):
        locate(str(linked.root))


def test_a_stub_belongs_to_its_parent_repository(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    stub = project.root / "stub"
    stub.mkdir()
    assert top_level(str(stub)) == str(project.root)


def test_an_empty_git_folder_is_none(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    (project.root / "odd" / ".git").mkdir(parents=True)
    assert top_level(str(project.root / "odd")) == str(project.root)


def test_core_worktree_does_not_mislead(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    linked = project.worktree(tmp_path / "linked", "feature")
    project.git("config", "extensions.worktreeConfig", "true")
    project.git("config", "core.worktree", str(project.root))
    assert run_git(linked.root, "rev-parse", "--show-toplevel") == str(project.root)
    assert top_level(str(linked.root)) == str(linked.root)


def test_name_that_is_not_utf8(tmp_path: Path) -> None:
    root = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    project = make_project(root)
    assert isinstance(project, Repository)
    assert top_level(str(root)) == str(root)


@pytest.mark.parametrize(
    ("content", "points"),
    [
        ("gitdir: /gone\n", "/gone"),
        ("gitdir: ../x/y\r\n", "{folder}/../x/y"),
        ("something else\n", None),
        (None, None),
    ],
)
def test_where_a_git_file_points_is_read_whatever_is_there(
    tmp_path: Path, content: str | None, points: str | None
) -> None:
    if content is not None:
        (tmp_path / ".git").write_text(content)
    expected = None if points is None else points.format(folder=tmp_path)
    assert pointer_of(str(tmp_path)) == expected
