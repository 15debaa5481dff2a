from pathlib import Path

import pytest

from resumed.daemon.cli.workspaces import workspace_at
from tests.support.repository import make_project


def test_the_top_level_of_the_work_tree_is_found_from_below(tmp_path: Path) -> None:
    root = make_project(tmp_path / "shop").root
    below = root / "src" / "money"
    below.mkdir(parents=True)
    assert workspace_at(below) == root


def test_a_linked_work_tree_is_a_workspace_of_its_own(tmp_path: Path) -> None:
    project = make_project(tmp_path / "shop")
    linked = project.worktree(tmp_path / "linked", "feature")
    assert workspace_at(linked.root) == linked.root


def test_without_git_it_is_the_folder_itself(tmp_path: Path) -> None:
    assert workspace_at(tmp_path) == tmp_path


def test_a_repository_in_the_home_folder_holds_no_workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = make_project(tmp_path / "home").root
    monkeypatch.setenv("HOME", str(home))
    (home / "notes").mkdir()
    assert workspace_at(home / "notes") == home / "notes"
    assert workspace_at(home) == home


def test_an_empty_folder_named_git_is_no_repository(tmp_path: Path) -> None:
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    assert workspace_at(tmp_path / "shop") == tmp_path / "shop"
    assert workspace_at(tmp_path / "shop" / ".git") == tmp_path / "shop" / ".git"


def test_links_are_followed_first(tmp_path: Path) -> None:
    root = make_project(tmp_path / "shop").root
    (root / "src").mkdir()
    (tmp_path / "link").symlink_to(root / "src")
    assert workspace_at(tmp_path / "link") == root
