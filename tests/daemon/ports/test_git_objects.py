"""Look-ups answer alike through pygit2 and through git."""

import hashlib
import os
from pathlib import Path

import pygit2
import pytest

from resumed.daemon.ports.git import CONTENT_LIMIT
from resumed.daemon.ports.git_command import GitCommand, GitFailed
from resumed.daemon.ports.git_objects import GitObjects
from resumed.daemon.ports.git_place import Place, locate
from resumed.restore.probes import FileSeen
from tests.support.repository import Repository, make_project, make_repository

FORMATS = ["sha1", "sha256"]


def place_of(repository: Repository) -> Place:
    """Where the repository is."""
    place = locate(str(repository.root))
    assert place is not None
    return place


def look_ups(limit: int = CONTENT_LIMIT) -> GitObjects:
    """The look-ups under test."""
    return GitObjects(GitCommand(), limit)


def test_pygit2_still_cannot_open_sha256(tmp_path: Path) -> None:
    # Otherwise the tests below would no longer reach the way through git.
    repository = make_repository(tmp_path / "project", "--object-format=sha256")
    with pytest.raises(pygit2.GitError):
        pygit2.Repository(str(repository.root))


@pytest.mark.parametrize("object_format", FORMATS)
async def test_head(tmp_path: Path, object_format: str) -> None:
    repository = make_repository(tmp_path / "project", f"--object-format={object_format}")
    unborn = await look_ups().head(place_of(repository))
    assert (unborn.branch, unborn.sha, unborn.tree, unborn.origin) == ("main", None, None, None)
    sha = repository.commit({"a.txt": "a\n"})
    repository.git("remote", "add", "origin", "https://example.com/a")
    head = await look_ups().head(place_of(repository))
    assert (head.branch, head.sha, head.origin) == ("main", sha, "https://example.com/a")
    assert head.tree == repository.git("rev-parse", "HEAD^{tree}")
    repository.git("switch", "--quiet", "--detach")
    detached = await look_ups().head(place_of(repository))
    assert (detached.reference, detached.branch, detached.sha) == (None, None, sha)


@pytest.mark.parametrize("object_format", FORMATS)
async def test_branch_and_commit(tmp_path: Path, object_format: str) -> None:
    project = make_project(tmp_path / "project", f"--object-format={object_format}")
    place, feature = place_of(project), project.branch_at("feature")
    assert await look_ups().branch(place, "feature") == feature
    for name in ("missing", "feature~0", "--all", "feat*"):
        assert await look_ups().branch(place, name) is None, name
    assert await look_ups().commit_tree(place, feature) == project.git("rev-parse", "feature^{tree}")
    assert await look_ups().commit_tree(place, "0" * len(feature)) is None
    assert await look_ups().commit_tree(place, project.git("rev-parse", "feature^{tree}")) is None


@pytest.mark.parametrize("object_format", FORMATS)
async def test_tree_file(tmp_path: Path, object_format: str) -> None:
    project = make_repository(tmp_path / "project", f"--object-format={object_format}")
    odd = os.fsdecode(b"caf\xe9.txt")
    project.write({"folder/with space.txt": b"raw\r\n\x00", "folder/[a]*.txt": "glob\n", odd: "odd\n"})
    (project.root / "run.sh").write_text("#!/bin/sh\n")
    (project.root / "run.sh").chmod(0o755)
    (project.root / "link").symlink_to("folder/with space.txt")
    sha = project.commit({})
    place = place_of(project)

    async def at(relative: str) -> FileSeen:
        return await look_ups().tree_file(place, sha, relative)

    raw = b"raw\r\n\x00"
    assert await at("folder/with space.txt") == FileSeen(
        kind="regular", sha256=hashlib.sha256(raw).hexdigest(), size=6, content=raw
    )
    assert (await at("folder/[a]*.txt")).content == b"glob\n"
    assert (await at(odd)).content == b"odd\n"
    assert (await at("run.sh")).kind == "regular"
    link = await at("link")
    assert (link.kind, link.content) == ("link", b"folder/with space.txt")
    assert await at("folder") == FileSeen(kind="folder")
    assert await at("./folder//") == FileSeen(kind="folder")
    for missing in ("missing", "folder/missing", "run.sh/inside", "*.txt", "folder/[a]b.txt"):
        assert await at(missing) == FileSeen(kind="absent"), missing
    for outside in ("../x", "/etc/passwd", "", ".", "a\0b"):
        with pytest.raises(GitFailed, match="not a path inside"):
            await at(outside)


async def test_submodule_in_a_tree_is_other(tmp_path: Path) -> None:
    inner, outer = make_project(tmp_path / "inner"), make_project(tmp_path / "outer")
    outer.git("submodule", "add", "--quiet", str(inner.root), "sub")
    sha = outer.commit({})
    assert await look_ups().tree_file(place_of(outer), sha, "sub") == FileSeen(kind="other")


async def test_above_the_limit_there_is_a_hash_and_no_content(tmp_path: Path) -> None:
    project = make_repository(tmp_path / "project")
    sha = project.commit({"ten.txt": "0123456789"})
    for limit, content in ((10, b"0123456789"), (9, None)):
        seen = await look_ups(limit).tree_file(place_of(project), sha, "ten.txt")
        digest = hashlib.sha256(b"0123456789").hexdigest()
        assert (seen.size, seen.sha256, seen.content) == (10, digest, content)


async def test_missing_commit(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    with pytest.raises(GitFailed, match="not in this repository"):
        await look_ups().tree_file(place_of(project), "0" * 40, "shared.txt")
