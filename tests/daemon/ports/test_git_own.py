"""What only one work tree holds is found, also where `git status` says nothing of it."""

from pathlib import Path

import pytest

from tests.support.git_port import real_git
from tests.support.repository import Repository, make_project


def _assumed(linked: Repository, _: Path) -> None:
    linked.git("update-index", "--assume-unchanged", "kept.txt")


def _skipped(linked: Repository, _: Path) -> None:
    linked.git("update-index", "--skip-worktree", "kept.txt")


def _referred(linked: Repository, _: Path) -> None:
    linked.git("update-ref", "refs/worktree/mine", "HEAD")


def _put_aside(_: Repository, git_dir: Path) -> None:
    (git_dir / "MERGE_AUTOSTASH").write_text("x\n")


def _set(linked: Repository, _: Path) -> None:
    linked.git("config", "extensions.worktreeConfig", "true")
    linked.git("config", "--worktree", "a.b", "mine")


def _committed(linked: Repository, _: Path) -> None:
    linked.git("switch", "-q", "--detach")
    linked.commit({"loose.txt": "loose\n"})
    linked.git("switch", "-q", "feature")


CASES = {
    "told not to look at": (_assumed, _skipped),
    "references that only it has": (_referred, _put_aside),
    "settings that only it has": (_set,),
    "commits that only its log holds": (_committed,),
}


@pytest.mark.parametrize(("said", "do"), [(said, do) for said, each in CASES.items() for do in each])
async def test_each_kind_is_named(tmp_path: Path, said: str, do: object) -> None:
    project = make_project(tmp_path / "project")
    linked = project.worktree(tmp_path / "linked", "feature")
    assert await real_git().only_there(str(linked.root)) == ()
    assert callable(do)
    do(linked, project.root / ".git" / "worktrees" / "linked")
    (found,) = await real_git().only_there(str(linked.root))
    assert said in found


async def test_what_a_branch_holds_is_not_only_there(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    linked = project.worktree(tmp_path / "linked", "feature")
    _committed(linked, tmp_path)
    loose = linked.git("rev-parse", "HEAD@{1}")
    project.git("branch", "kept", loose)
    assert await real_git().only_there(str(linked.root)) == ()


async def test_sparse_patterns_that_git_copied_are_not_its_own(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    project.git("sparse-checkout", "set", "--no-cone", "/kept.txt")
    linked = project.worktree(tmp_path / "linked", "feature")
    assert await real_git().only_there(str(linked.root)) == ()
