"""Ids survive what a person would call the same place, and nothing else."""

import asyncio
import os
import shutil
from pathlib import Path

import pytest

from resumed.daemon.identity import Identities, Identity, IdentityFailed
from resumed.daemon.ports.git_command import GitFailed
from resumed.daemon.storage import disk
from resumed.daemon.storage.layout import Layout
from resumed.daemon.storage.streams import Streams
from resumed.restore.events.worktree import WorktreeMeta
from tests.support.clock import FakeClock
from tests.support.git_port import real_git
from tests.support.meta_streams import MemoryStreams
from tests.support.repository import Repository, make_project, make_repository, run_git


class Bench:
    """Identities over streams in memory; every question is asked by a process that just started."""

    def __init__(self, folder: Path) -> None:
        self.streams = MemoryStreams()
        self.lock = folder / "state" / "identity.lock"

    def process(self) -> Identities:
        """A new process over the same state."""
        return Identities(real_git(), self.streams, self.lock)

    async def identify(self, path: Path) -> tuple[str, str]:
        """Repository id and work tree id; minted if need be."""
        found = await self.process().identify(str(path))
        return found.repo_id, found.worktree_id

    async def known(self, path: Path) -> tuple[str, str] | None:
        """Repository id and work tree id, if known."""
        found = await self.process().known(str(path))
        return None if found is None else (found.repo_id, found.worktree_id)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


async def test_minted_once_with_its_evidence(bench: Bench, tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    project.git("remote", "add", "origin", "git@example.com:acme/shop.git")
    assert await bench.known(project.root) is None
    first = await bench.process().identify(str(project.root / "."))
    assert await bench.identify(project.root) == (first.repo_id, first.worktree_id)
    assert await bench.known(project.root) == (first.repo_id, first.worktree_id)
    ((name, (event,)),) = bench.streams.streams.items()
    assert name == f"worktree:{first.worktree_id}"
    assert isinstance(event.payload, WorktreeMeta)
    git_dir = (project.root / ".git").stat()
    assert event.payload.path == str(project.root)
    assert event.payload.evidence == {
        "kind": "main",
        "common_dir": f"{git_dir.st_dev}:{git_dir.st_ino}",
        "git_dir": f"{git_dir.st_dev}:{git_dir.st_ino}",
        "admin_name": "main",
        "remotes": "example.com/acme/shop",
        "roots": project.git("rev-list", "--max-parents=0", "HEAD"),
    }


async def test_linked_work_trees_share_the_repository(bench: Bench, tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    linked = project.worktree(tmp_path / "linked", "feature")
    main = await bench.identify(project.root)
    assert await bench.known(linked.root) == (main[0], "")
    other = await bench.identify(linked.root)
    assert other[0] == main[0]
    assert other[1] != main[1]
    assert await bench.known(linked.root) == other


async def test_moves(bench: Bench, tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    linked = project.worktree(tmp_path / "linked", "feature")
    main, other = await bench.identify(project.root), await bench.identify(linked.root)
    linked.root.rename(tmp_path / "linked-2")
    assert await bench.identify(tmp_path / "linked-2") == other
    project.root.rename(tmp_path / "project-2")
    assert await bench.identify(tmp_path / "project-2") == main


async def test_a_copy_gets_a_new_id(bench: Bench, tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    project.git("remote", "add", "origin", "git@example.com:acme/shop.git")
    linked = project.worktree(tmp_path / "linked", "feature")
    main, other = await bench.identify(project.root), await bench.identify(linked.root)
    shutil.copytree(linked.root, tmp_path / "linked-copy")
    shutil.copytree(project.root, tmp_path / "project-copy")
    of_linked = await bench.identify(tmp_path / "linked-copy")
    of_main = await bench.identify(tmp_path / "project-copy")
    assert of_linked[0] == of_main[0] == main[0]
    assert len({main[1], other[1], of_linked[1], of_main[1]}) == 4


async def test_a_new_clone_is_the_same_repository_and_a_fork_is_not(bench: Bench, tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    for name, address in (("one", "acme"), ("two", "acme"), ("fork", "me")):
        run_git(tmp_path, "clone", "--quiet", str(project.root), name)
        run_git(tmp_path / name, "remote", "set-url", "origin", f"https://example.com/{address}/shop.git")
    one, two = await bench.identify(tmp_path / "one"), await bench.identify(tmp_path / "two")
    fork = await bench.identify(tmp_path / "fork")
    assert one[0] == two[0] != fork[0]
    assert one[1] != two[1]


async def test_another_repository_at_the_same_place(bench: Bench, tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    before = await bench.identify(project.root)
    shutil.rmtree(project.root)
    make_repository(project.root).commit({"other.txt": "other\n"}, "unrelated")
    assert await bench.known(project.root) is None
    after = await bench.identify(project.root)
    assert before[0] != after[0]
    assert before[1] != after[1]


async def test_an_inode_given_out_again(bench: Bench, tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    before = await bench.identify(project.root)
    # The same folder, emptied and filled anew, is what a reused inode looks like.
    for entry in (project.root / ".git").iterdir():
        shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    make_repository(project.root).commit({"other.txt": "other\n"}, "unrelated")
    assert (await bench.identify(project.root))[0] != before[0]


async def test_a_branch_with_another_root_is_the_same_repository(bench: Bench, tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    before = await bench.identify(project.root)
    project.git("switch", "--quiet", "--orphan", "pages")
    project.commit({"index.html": "x"})
    assert await bench.identify(project.root) == before


async def test_history_rewritten_with_the_remote_kept(bench: Bench, tmp_path: Path) -> None:
    project = make_repository(tmp_path / "project")
    project.git("remote", "add", "origin", "https://example.com/acme/shop")
    project.commit({"a": "a"}, "first")
    before = await bench.identify(project.root)
    project.git("commit", "--quiet", "--amend", "--message", "rewritten")
    project.git("reflog", "expire", "--expire=now", "--all")
    project.git("gc", "--quiet", "--prune=now")
    assert await bench.identify(project.root) == before


async def test_a_linked_work_tree_made_again_at_its_place(bench: Bench, tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    linked = project.worktree(tmp_path / "linked", "feature")
    before = await bench.identify(linked.root)
    project.git("worktree", "remove", str(linked.root))
    project.worktree(linked.root, "feature")
    assert await bench.identify(linked.root) == before


async def test_a_new_work_tree_where_a_moved_one_was(bench: Bench, tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    project.git("branch", "other")
    linked = project.worktree(tmp_path / "linked", "feature")
    before = await bench.identify(linked.root)
    project.git("worktree", "move", str(linked.root), str(tmp_path / "moved"))
    project.worktree(linked.root, "other")
    assert (await bench.identify(linked.root))[1] != before[1]
    assert await bench.identify(tmp_path / "moved") == before


async def test_shallow_and_unborn_have_no_roots(bench: Bench, tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    run_git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{project.root}", "shallow")
    make_repository(tmp_path / "unborn")
    for name in ("shallow", "unborn"):
        found = await bench.process().identify(str(tmp_path / name))
        assert found.evidence["roots"] == "", name
        assert await bench.identify(tmp_path / name) == (found.repo_id, found.worktree_id)


async def test_a_git_that_fails_keeps_the_identity(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = make_project(tmp_path / "project")
    before = await bench.identify(project.root)

    async def fail(*_: object) -> None:
        raise GitFailed("git took longer than 2 s")

    for question in ("roots", "remotes", "commit"):
        monkeypatch.setattr(f"resumed.daemon.ports.git.Git.{question}", fail)
    assert await bench.identify(project.root) == before


async def test_a_broken_pointer_keeps_the_identity(bench: Bench, tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    linked = project.worktree(tmp_path / "linked", "feature")
    before = await bench.identify(linked.root)
    project.root.rename(tmp_path / "away")
    assert await bench.identify(linked.root) == before
    strange = Repository(tmp_path / "strange")
    strange.write({".git": "gitdir: /nowhere\n"})
    with pytest.raises(IdentityFailed, match="is not there"):
        await bench.identify(strange.root)
    assert await bench.known(strange.root) is None


async def test_plain_folders(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    one, two = await bench.identify(tmp_path / "one"), await bench.identify(tmp_path / "two")
    assert await bench.identify(tmp_path / "one") == one
    assert not set(one) & set(two)
    make_project(tmp_path / "one")
    assert not set(await bench.identify(tmp_path / "one")) & set(one)
    with pytest.raises(IdentityFailed):
        await bench.identify(tmp_path / "missing")


async def test_many_at_once_mint_one(bench: Bench, tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    found = await asyncio.gather(*(bench.identify(project.root) for _ in range(8)))
    assert len(set(found)) == len(bench.streams.streams) == 1


async def test_waits_for_the_process_that_mints(bench: Bench, tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    held = disk.lock(bench.lock)
    assert held is not None
    waiting = asyncio.create_task(bench.identify(project.root))
    await asyncio.wait((waiting,), timeout=0.1)
    assert not waiting.done()
    assert bench.streams.streams == {}
    os.close(held)
    await waiting


async def test_over_the_real_streams(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    found: list[Identity] = []
    for _ in range(2):
        layout = Layout.open(tmp_path / "state")
        streams = Streams(layout, FakeClock().now)
        identities = Identities(real_git(), streams, layout.home / "identity.lock")
        found.append(await identities.identify(str(project.root)))
        await streams.close()
    assert found[0].worktree_id == found[1].worktree_id
    assert found[0].repo_id == found[1].repo_id
