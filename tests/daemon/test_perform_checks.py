"""What must hold before a verb may change a repository."""

import os
from pathlib import Path

import pytest

from resumed.daemon.perform_checks import (
    Refused,
    Tools,
    branch_is_at,
    canonical,
    held_by_no_other,
    idle,
    named,
    plain_name,
    repository_at,
    work_tree_at,
)
from tests.support.git_port import seen_at
from tests.support.performer import real_performer
from tests.support.repository import make_project


def tools() -> Tools:
    """Real tools without patience."""
    return real_performer().tools


def test_canonical_resolves_the_parents_only(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "alias").symlink_to("real")
    (tmp_path / "real" / "link").symlink_to("elsewhere")
    assert canonical(f"{tmp_path}/alias/link/") == f"{tmp_path}/real/link"
    assert canonical(f"{tmp_path}/missing/new") == f"{tmp_path}/missing/new"
    for bad in ("new", "", "/", f"{tmp_path}/..", f"{tmp_path}/."):
        with pytest.raises(Refused):
            canonical(bad)


def test_named() -> None:
    assert named(("a", "b")) == "a, b"
    assert named(("a", "b", "c", "d", "e")) == "a, b, c and 2 more"
    assert named((os.fsdecode(b"\xff"),)) == "\\xff"


@pytest.mark.parametrize("name", ["", "-", "--force"])
def test_plain_name(name: str) -> None:
    plain_name("fix/payment")
    with pytest.raises(Refused, match="is not a branch's name"):
        plain_name(name)


async def test_places(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    (project.root / "inner").mkdir()
    assert (await repository_at(tools(), str(project.root / "inner"))).top_level == str(project.root)
    assert (await work_tree_at(tools(), str(project.root))).branch == "main"
    with pytest.raises(Refused, match="not the top"):
        await work_tree_at(tools(), str(project.root / "inner"))
    with pytest.raises(Refused, match="in no repository"):
        await repository_at(tools(), str(tmp_path))


async def test_idle(tmp_path: Path) -> None:
    await idle(tools(), str(tmp_path), "/here")
    (tmp_path / "index.lock").touch()
    with pytest.raises(Refused, match="another git command is at work in /here"):
        await idle(tools(), str(tmp_path), "/here")


async def test_branch_is_at(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    root, feature = str(project.root), project.branch_at("feature")
    await branch_is_at(tools(), root, "feature", feature)
    with pytest.raises(Refused, match=f"branch feature moved to {feature[:7]} meanwhile"):
        await branch_is_at(tools(), root, "feature", project.head())
    with pytest.raises(Refused, match="there is no branch missing"):
        await branch_is_at(tools(), root, "missing", feature)


async def test_held_by_no_other(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    linked = project.worktree(tmp_path / "linked", "feature")
    seen = await seen_at(project.root)
    held_by_no_other(seen, "feature", str(linked.root))
    held_by_no_other(seen, "free", str(project.root))
    with pytest.raises(Refused, match=f"feature is checked out in {linked.root}"):
        held_by_no_other(seen, "feature", str(project.root))
