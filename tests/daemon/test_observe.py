"""Every probe gets an answer, whatever happens."""

import asyncio
import hashlib
import os
from pathlib import Path

import pytest

from resumed.daemon.identity import Identities, Identity
from resumed.daemon.observe import Observer, Patience
from resumed.daemon.ports.git import Git
from resumed.daemon.ports.policy import Policy
from resumed.daemon.storage.errors import StorageFailed
from resumed.restore.probes import (
    AnyProbe,
    BranchProbe,
    BranchSeen,
    CeilingProbe,
    CeilingSeen,
    CommitProbe,
    CommitSeen,
    FileProbe,
    FileSeen,
    FolderProbe,
    FolderSeen,
    HistoryProbe,
    HistorySeen,
    NoRepository,
    RepositoryProbe,
    RepositorySeen,
    SwitchProbe,
    SwitchSeen,
    TreeFileProbe,
    Unseen,
)
from tests.support.git_port import real_git
from tests.support.meta_streams import MemoryStreams
from tests.support.repository import make_project


class Nowhere:
    """Knows no place."""

    async def known(self, path: str) -> Identity | None:
        """Nothing is known."""
        return None


class Broken:
    """Cannot tell any place."""

    async def known(self, path: str) -> Identity | None:
        """The streams cannot be read."""
        raise StorageFailed("the streams cannot be read")


def observer(folder: Path, patience: Patience | None = None) -> Observer:
    """An observer over the real world with its settings in `folder`."""
    policy = Policy(str(folder / "settings.toml"), str(folder / "requirements.toml"))
    return Observer(real_git(), policy, Nowhere(), patience or Patience())


async def test_every_kind_of_probe(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    root, head, feature = str(project.root), project.head(), project.branch_at("feature")
    (tmp_path / "settings.toml").write_text('[permissions]\nsandbox = "read-only"\n')
    seen = await observer(tmp_path).observe(
        (
            FolderProbe(root),
            RepositoryProbe(root),
            RepositoryProbe(str(tmp_path)),
            BranchProbe(root, "feature"),
            CommitProbe(root, head),
            HistoryProbe(root, feature),
            SwitchProbe(root, "feature"),
            FileProbe(f"{root}/kept.txt"),
            TreeFileProbe(root, feature, "added.txt"),
            CeilingProbe("codex"),
        )
    )
    stat = project.root.stat()
    assert seen[FolderProbe(root)] == FolderSeen("folder", stat.st_dev, stat.st_ino, os.path.realpath(root))
    repository = seen[RepositoryProbe(root)]
    assert isinstance(repository, RepositorySeen)
    assert (repository.branch, repository.repo_id, repository.worktree_id) == ("main", None, None)
    assert seen[RepositoryProbe(str(tmp_path))] == NoRepository()
    assert seen[BranchProbe(root, "feature")] == BranchSeen(sha=feature)
    assert seen[CommitProbe(root, head)] == CommitSeen(True, project.git("rev-parse", "HEAD^{tree}"))
    assert seen[HistoryProbe(root, feature)] == HistorySeen("descendant")
    assert seen[SwitchProbe(root, "feature")] == SwitchSeen()
    kept, added = hashlib.sha256(b"kept\n").hexdigest(), hashlib.sha256(b"added\n").hexdigest()
    assert seen[FileProbe(f"{root}/kept.txt")] == FileSeen(
        kind="regular", sha256=kept, size=5, content=b"kept\n"
    )
    assert seen[TreeFileProbe(root, feature, "added.txt")] == FileSeen(
        kind="regular", sha256=added, size=6, content=b"added\n"
    )
    assert seen[CeilingProbe("codex")] == CeilingSeen(
        sandbox="read-only", source=str(tmp_path / "settings.toml")
    )
    assert len(seen) == 10


async def test_ids_of_known_places(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    linked = project.worktree(tmp_path / "linked", "feature")
    places = Identities(real_git(), MemoryStreams(), tmp_path / "identity.lock")
    ids = await places.identify(str(project.root))
    observing = Observer(real_git(), Policy(""), places)
    main, other = RepositoryProbe(str(project.root)), RepositoryProbe(str(linked.root))
    seen = await observing.observe((main, other))
    told = [
        (answer.repo_id, answer.worktree_id)
        for answer in (seen[main], seen[other])
        if isinstance(answer, RepositorySeen)
    ]
    assert told == [(ids.repo_id, ids.worktree_id), (ids.repo_id, None)]


async def test_without_ids_the_place_is_still_seen(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    probe = RepositoryProbe(str(project.root))
    seen = (await Observer(real_git(), Policy(""), Broken()).observe((probe,)))[probe]
    assert isinstance(seen, RepositorySeen)
    assert seen.repo_id is None


async def test_failures_are_unseen_and_say_why(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    root = str(project.root)
    (tmp_path / "settings.toml").write_text("nonsense")
    probes: tuple[AnyProbe, ...] = (
        BranchProbe(str(tmp_path), "main"),
        CommitProbe(root, "HEAD"),
        HistoryProbe(root, "0" * 40),
        SwitchProbe(root, "missing"),
        TreeFileProbe(root, project.head(), "../outside"),
        CeilingProbe("codex"),
        RepositoryProbe("/\0"),
    )
    for probe, answer in (await observer(tmp_path).observe(probes)).items():
        assert isinstance(answer, Unseen), probe
        assert answer.reason.startswith("failed: "), probe


@pytest.mark.parametrize("kind", ["slow", "fast"])
async def test_a_probe_that_takes_too_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    project = make_project(tmp_path / "project")
    root, head = str(project.root), project.head()

    async def hang(*_: object) -> HistorySeen:
        await asyncio.Event().wait()
        return HistorySeen("same")

    probe: AnyProbe = HistoryProbe(root, head) if kind == "slow" else CommitProbe(root, head)
    monkeypatch.setattr(Git, "history" if kind == "slow" else "commit", hang)
    patience = Patience(fast=60, slow=0.05) if kind == "slow" else Patience(fast=0.05, slow=60)
    seen = await observer(tmp_path, patience).observe((probe, FolderProbe(root)))
    assert seen[probe] == Unseen("timeout")
    assert isinstance(seen[FolderProbe(root)], FolderSeen) or kind == "fast"


async def test_a_surprise_is_unseen_and_logged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def surprise(*_: object) -> CommitSeen:
        raise KeyError("x")

    monkeypatch.setattr(Git, "commit", surprise)
    probe = CommitProbe(str(tmp_path), "0" * 40)
    assert await observer(tmp_path).observe((probe,)) == {probe: Unseen("failed: KeyError")}
    assert "CommitProbe" in caplog.text


async def test_equal_probes_are_looked_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []

    async def count(_: Git, path: str) -> NoRepository:
        looked.append(path)
        return NoRepository()

    monkeypatch.setattr(Git, "repository", count)
    await observer(tmp_path).observe((RepositoryProbe("/a"), RepositoryProbe("/a"), RepositoryProbe("/b")))
    assert looked == ["/a", "/b"]
