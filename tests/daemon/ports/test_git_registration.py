"""What git keeps for a work tree whose folder is gone."""

import shutil
from pathlib import Path

import pytest

from resumed.restore.probes import LooseSeen, RegistrationSeen
from tests.support.git_port import real_git
from tests.support.repository import Repository, make_project


def deleted(tmp_path: Path) -> tuple[Repository, Repository]:
    """A project and a linked work tree of it, whose folder is yet to be deleted."""
    project = make_project(tmp_path / "project")
    return project, project.worktree(tmp_path / "linked", "feature")


async def kept(project: Repository, linked: Repository) -> RegistrationSeen:
    return await real_git().registration(str(project.root), str(linked.root))


async def test_a_clean_one_keeps_nothing(tmp_path: Path) -> None:
    project, linked = deleted(tmp_path)
    git_dir = linked.git("rev-parse", "--absolute-git-dir").strip()
    shutil.rmtree(linked.root)
    assert await kept(project, linked) == RegistrationSeen(git_dir=git_dir)
    project.git("worktree", "prune")
    assert await kept(project, linked) == RegistrationSeen()


async def test_staged_changes_and_a_half_finished_merge_are_kept(tmp_path: Path) -> None:
    project, linked = deleted(tmp_path)
    linked.write({"staged.txt": "by the user\n"})
    linked.git("add", "staged.txt")
    shutil.rmtree(linked.root)
    assert (await kept(project, linked)).staged
    merging = project.worktree(tmp_path / "merging", "--detach")
    merging.write({"shared.txt": "four\n"})
    merging.git("commit", "--quiet", "--all", "--message", "four")
    merging.git("merge", "--no-ff", "--no-commit", "feature", ends_with=1)
    shutil.rmtree(merging.root)
    assert (await kept(project, merging)).in_progress == "merge"


async def test_a_work_tree_moved_by_hand_is_found_beside(tmp_path: Path) -> None:
    project, linked = deleted(tmp_path)
    linked.root.rename(tmp_path / "renamed")
    assert (await kept(project, linked)).used_by == str(tmp_path / "renamed")


async def test_what_a_merge_put_aside_is_a_reference_of_its_own(tmp_path: Path) -> None:
    project, linked = deleted(tmp_path)
    git_dir = Path(linked.git("rev-parse", "--absolute-git-dir"))
    (git_dir / "MERGE_AUTOSTASH").write_text(f"{project.head()}\n")
    shutil.rmtree(linked.root)
    assert (await kept(project, linked)).references


async def test_where_the_branch_is_gone_it_is_compared_with_where_head_was(tmp_path: Path) -> None:
    project, linked = deleted(tmp_path)
    shutil.rmtree(linked.root)
    project.git("update-ref", "-d", "refs/heads/feature")
    assert not (await kept(project, linked)).staged
    staged = project.worktree(tmp_path / "staged", "-b", "other")
    staged.write({"staged.txt": "by the user\n"})
    staged.git("add", "staged.txt")
    shutil.rmtree(staged.root)
    project.git("update-ref", "-d", "refs/heads/other")
    assert (await kept(project, staged)).staged


@pytest.mark.parametrize("inside", ["linked", "deep/er/linked", "project/.trees/linked"])
async def test_a_work_tree_moved_together_with_its_repository_is_found(tmp_path: Path, inside: str) -> None:
    (tmp_path / "dev").mkdir()
    project = make_project(tmp_path / "dev" / "project")
    linked = project.worktree(tmp_path / "dev" / inside, "feature")
    (tmp_path / "dev").rename(tmp_path / "moved")
    moved = Repository(tmp_path / "moved" / "project")
    found = await kept(moved, linked)
    assert found.used_by == str(tmp_path / "moved" / inside)
    moved.git("worktree", "repair", found.used_by)
    assert Repository(Path(found.used_by)).git("branch", "--show-current") == "feature"


async def test_a_copy_of_a_moved_work_tree_is_not_taken_for_it(tmp_path: Path) -> None:
    (tmp_path / "dev").mkdir()
    project = make_project(tmp_path / "dev" / "project")
    linked = project.worktree(tmp_path / "dev" / "linked", "feature")
    (tmp_path / "dev").rename(tmp_path / "moved")
    (tmp_path / "moved" / "linked").rename(tmp_path / "linked")
    # It lies where no move of a folder above both would have put it.
    assert (await kept(Repository(tmp_path / "moved" / "project"), linked)).used_by is None


async def test_a_commit_that_only_a_head_holds_is_loose(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    git, root = real_git(), str(project.root)
    assert await git.loose(root, project.head()) == LooseSeen(False)
    project.git("switch", "--quiet", "--detach")
    project.commit({"shared.txt": "loose\n"})
    assert await git.loose(root, project.head()) == LooseSeen(True)
    project.git("tag", "kept")
    assert await git.loose(root, project.head()) == LooseSeen(False)


async def test_references_and_submodules_of_its_own_are_kept(tmp_path: Path) -> None:
    project, linked = deleted(tmp_path)
    linked.git("update-ref", "refs/worktree/mine", "HEAD")
    (of_a_submodule := project.root / ".git" / "worktrees" / "linked" / "modules" / "lib").mkdir(parents=True)
    shutil.rmtree(linked.root)
    seen = await kept(project, linked)
    assert (seen.references, seen.submodules) == (True, False)
    (of_a_submodule / "HEAD").write_text("ref: refs/heads/main\n")
    assert (await kept(project, linked)).submodules
    assert not (await kept(project, linked)).settings
    (of_a_submodule.parents[1] / "info").mkdir()
    (of_a_submodule.parents[1] / "info" / "sparse-checkout").write_text("/*\n")
    assert (await kept(project, linked)).settings
