"""What the port tells of real repositories."""

from pathlib import Path

import pytest

from resumed.daemon.ports.git_command import GitFailed
from resumed.restore.probes import (
    BranchSeen,
    CommitSeen,
    HistorySeen,
    NoRepository,
    SwitchSeen,
    WorktreeEntry,
)
from tests.support.git_port import real_git, seen_at
from tests.support.repository import every_byte, make_project, make_repository, run_git

MISSING = "0123456789012345678901234567890123456789"


async def test_main_work_tree(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    project.git("remote", "add", "origin", "git@GitHub.com:acme/shop.git")
    seen = await seen_at(project.root)
    assert (seen.top_level, seen.kind, seen.branch) == (str(project.root), "main", "main")
    assert (seen.sha, seen.tree) == (project.head(), project.git("rev-parse", "HEAD^{tree}"))
    assert seen.origin == "github.com/acme/shop"
    assert (seen.detached, seen.unborn, seen.in_progress) == (False, False, None)
    assert seen.worktrees == (WorktreeEntry(str(project.root), "main", project.head(), False),)


async def test_linked_work_tree(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    linked = project.worktree(tmp_path / "linked", "feature")
    main, seen = await seen_at(project.root), await seen_at(linked.root)
    assert (seen.kind, seen.branch, seen.sha) == ("linked", "feature", linked.head())
    assert seen.common_id == main.common_id
    assert seen.worktrees == main.worktrees
    assert [entry.branch for entry in seen.worktrees] == ["main", "feature"]


async def test_bare_repository_and_its_linked_work_tree(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    run_git(tmp_path, "clone", "--quiet", "--bare", str(project.root), "bare.git")
    run_git(tmp_path / "bare.git", "worktree", "add", "--quiet", str(tmp_path / "linked"), "feature")
    bare, linked = await seen_at(tmp_path / "bare.git"), await seen_at(tmp_path / "linked")
    assert (bare.kind, bare.top_level) == ("bare", str(tmp_path / "bare.git"))
    assert (linked.kind, linked.branch) == ("linked", "feature")
    assert [entry.path for entry in bare.worktrees] == [str(tmp_path / "linked")]
    assert bare.worktrees == linked.worktrees


async def test_submodule_is_a_repository_of_its_own(tmp_path: Path) -> None:
    inner, outer = make_project(tmp_path / "inner"), make_project(tmp_path / "outer")
    outer.git("submodule", "add", "--quiet", str(inner.root), "sub")
    seen = await seen_at(outer.root / "sub")
    assert (seen.kind, seen.top_level) == ("main", str(outer.root / "sub"))
    assert [(entry.path, entry.gone) for entry in seen.worktrees] == [(str(outer.root / "sub"), False)]


async def test_detached(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    project.git("switch", "--quiet", "--detach", "feature")
    seen = await seen_at(project.root)
    assert (seen.detached, seen.branch, seen.sha) == (True, None, project.branch_at("feature"))


async def test_unborn(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "project")
    seen = await seen_at(repository.root)
    assert (seen.unborn, seen.detached, seen.branch) == (True, False, "main")
    assert (seen.sha, seen.tree) == (None, None)


async def test_rebase_shows_the_real_branch(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    project.commit({"shared.txt": "three\n"})
    project.git("switch", "--quiet", "feature")
    project.git("rebase", "--quiet", "main", ends_with=1)
    seen = await seen_at(project.root)
    assert (seen.in_progress, seen.done, seen.total) == ("rebase", 1, 1)
    assert (seen.branch, seen.detached) == ("feature", False)
    assert seen.worktrees[0].branch == "feature"


async def test_no_repository(tmp_path: Path) -> None:
    assert await real_git().repository(str(tmp_path)) == NoRepository()
    assert await real_git().repository(str(tmp_path / "missing")) == NoRepository()


async def test_removed_but_registered(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    linked = project.worktree(tmp_path / "linked", "feature")
    linked.root.rename(tmp_path / "moved")
    main, moved = await seen_at(project.root), await seen_at(tmp_path / "moved")
    assert main.worktrees[1] == WorktreeEntry(str(linked.root), "feature", project.branch_at("feature"), True)
    assert (moved.kind, moved.top_level, moved.branch) == ("linked", str(tmp_path / "moved"), "feature")


async def test_a_damaged_repository_is_not_known(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    (project.root / ".git" / "HEAD").write_text("nonsense\n")
    with pytest.raises(GitFailed):
        await real_git().repository(str(project.root))


@pytest.mark.parametrize("kind", ["sparse", "split", "sha256"])
async def test_what_pygit2_cannot_open(tmp_path: Path, kind: str) -> None:
    options = ("--object-format=sha256",) if kind == "sha256" else ()
    project = make_project(tmp_path / "project", *options)
    if kind == "sparse":
        project.git("sparse-checkout", "set", "--cone", "--sparse-index", "nowhere")
    if kind == "split":
        project.git("update-index", "--split-index")
    project.write({"kept.txt": "changed\n"})
    seen = await seen_at(project.root)
    assert (seen.branch, seen.sha) == ("main", project.head())
    assert seen.tree == project.git("rev-parse", "HEAD^{tree}")
    git, root = real_git(), str(project.root)
    assert (await git.switch(root, "feature")).carried == ("kept.txt",)
    assert (await git.history(root, project.branch_at("feature"))).relation == "descendant"


async def test_git_variables_do_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project, other = make_project(tmp_path / "project"), make_project(tmp_path / "other")
    other.git("switch", "--quiet", "feature")
    monkeypatch.setenv("GIT_DIR", str(other.root / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other.root))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other.root / ".git" / "index"))
    seen = await seen_at(project.root)
    assert (seen.top_level, seen.branch) == (str(project.root), "main")
    assert await real_git().switch(str(project.root), "feature") == SwitchSeen()


async def test_branch(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    linked = project.worktree(tmp_path / "linked", "feature")
    project.git("branch", "free")
    git, root = real_git(), str(project.root)
    assert await git.branch(root, "feature") == BranchSeen(sha=linked.head(), checked_out_at=str(linked.root))
    assert await git.branch(root, "free") == BranchSeen(sha=project.head())
    for name in ("missing", "feature~0", "feature@{0}", "../feature", "", "two words"):
        assert (await git.branch(root, name)).sha is None, name


async def test_branch_of_a_gone_work_tree_counts_unless_it_lives_on(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    linked = project.worktree(tmp_path / "linked", "feature")
    linked.root.rename(tmp_path / "away")
    assert (await real_git().branch(str(project.root), "feature")).checked_out_at == str(linked.root)


async def test_commit(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    git, root, tree = real_git(), str(project.root), project.git("rev-parse", "HEAD^{tree}")
    assert await git.commit(root, project.head()) == CommitSeen(present=True, tree=tree)
    assert await git.commit(root, MISSING) == CommitSeen(present=False)
    assert await git.commit(root, tree) == CommitSeen(present=False)
    for text in ("HEAD", project.head()[:10], "--all", ""):
        with pytest.raises(GitFailed, match="full id"):
            await git.commit(root, text)


async def test_history(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    first, second = project.head(), project.branch_at("feature")
    git, root = real_git(), str(project.root)
    assert await git.history(root, first) == HistorySeen("same")
    assert await git.history(root, second) == HistorySeen("descendant")
    project.git("switch", "--quiet", "feature")
    assert await git.history(root, first) == HistorySeen("ancestor")
    project.git("commit", "--quiet", "--amend", "--message", "again")
    assert await git.history(root, second) == HistorySeen("diverged")
    with pytest.raises(GitFailed, match="not in this repository"):
        await git.history(root, MISSING)
    project.git("switch", "--quiet", "main")
    assert await git.history(root, second, "feature") == HistorySeen("diverged")
    assert await git.history(root, first, "feature") == HistorySeen("ancestor")
    with pytest.raises(GitFailed, match="no branch"):
        await git.history(root, first, "not-there")


async def test_history_of_a_shallow_clone_is_not_called_diverged(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    old = project.branch_at("feature")
    project.commit({"shared.txt": "three\n"})
    run_git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{project.root}", "shallow")
    run_git(tmp_path / "shallow", "fetch", "--quiet", "--depth=1", "origin", old)
    with pytest.raises(GitFailed, match="shallow"):
        await real_git().history(str(tmp_path / "shallow"), old)


async def test_roots_and_remotes(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    git, root = real_git(), str(project.root)
    assert await git.remotes(root) == ()
    project.git("remote", "add", "fork", "https://example.com/me/shop.git")
    project.git("remote", "add", "origin", "https://example.com/acme/shop.git")
    assert await git.remotes(root) == ("example.com/acme/shop", "example.com/me/shop")
    first = project.git("rev-list", "--max-parents=0", "HEAD")
    assert await git.roots(root, 5.0) == (first,)
    run_git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{project.root}", "shallow")
    assert await git.roots(str(tmp_path / "shallow"), 5.0) == ()
    assert await git.roots(str(make_repository(tmp_path / "unborn").root), 5.0) == ()


async def test_core_worktree_of_another_folder_is_refused(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    linked = project.worktree(tmp_path / "linked", "feature")
    project.git("config", "extensions.worktreeConfig", "true")
    project.git("config", "core.worktree", str(project.root))
    assert (await seen_at(linked.root)).top_level == str(linked.root)
    with pytest.raises(GitFailed, match=r"core\.worktree"):
        await real_git().switch(str(linked.root), "main")


async def test_looking_changes_nothing(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    marker = tmp_path / "hook-ran"
    hook = project.root / ".git" / "evil"
    hook.write_text(f"#!/bin/sh\ntouch {marker}\n")
    hook.chmod(0o755)
    project.git("config", "core.fsmonitor", str(hook))
    (project.root / "kept.txt").touch()
    before = every_byte(project.root)
    git, root = real_git(), str(project.root)
    await git.repository(root)
    await git.switch(root, "feature")
    await git.history(root, project.branch_at("feature"))
    await git.uncommitted(root)
    assert every_byte(project.root) == before
    assert not marker.exists()
