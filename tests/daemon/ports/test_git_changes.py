"""Which uncommitted files stand in the way of a switch; git itself is the judge."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from resumed.daemon.ports.git_changes import uncommitted
from resumed.daemon.ports.git_command import GitCommand, GitFailed
from resumed.restore.probes import SwitchSeen
from tests.support.git_port import real_git
from tests.support.repository import Repository, make_project


async def seen(project: Repository) -> SwitchSeen:
    """What a switch to `feature` would do."""
    return await real_git().switch(str(project.root), "feature")


async def test_clean(tmp_path: Path) -> None:
    assert await seen(make_project(tmp_path / "project")) == SwitchSeen()


@pytest.mark.parametrize(
    ("files", "overwritten", "carried"),
    [
        ({"shared.txt": "mine\n"}, ("shared.txt",), ()),
        ({"kept.txt": "mine\n"}, (), ("kept.txt",)),
        ({"kept.txt": None}, (), ("kept.txt",)),
        ({"shared.txt": None}, ("shared.txt",), ()),
        ({"added.txt": "mine\n"}, ("added.txt",), ()),
        ({"added.txt/inner": "mine\n"}, ("added.txt/",), ()),
        ({"new/one": "1", "new/two": "2", "third": "3"}, (), ("new/", "third")),
        ({os.fsdecode(b"caf\xe9 \xff"): "odd"}, (), (os.fsdecode(b"caf\xe9 \xff"),)),
    ],
)
async def test_changed_and_untracked(
    tmp_path: Path, files: Mapping[str, str | None], overwritten: tuple[str, ...], carried: tuple[str, ...]
) -> None:
    project = make_project(tmp_path / "project")
    project.write(files)
    assert await seen(project) == SwitchSeen(overwritten=overwritten, carried=carried)


@pytest.mark.parametrize("name", ["shared.txt", "added.txt"])
async def test_staged(tmp_path: Path, name: str) -> None:
    project = make_project(tmp_path / "project")
    project.write({name: "mine\n", "kept.txt": "mine\n"})
    project.git("add", "--all")
    assert await seen(project) == SwitchSeen(overwritten=(name,), carried=("kept.txt",))
    project.git("switch", "feature", ends_with=1)


async def test_an_ignored_file_that_the_branch_creates(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    (project.root / ".git" / "info" / "exclude").write_text("added.txt\nother.log\n")
    project.write({"added.txt": "mine\n", "other.log": "log"})
    assert await seen(project) == SwitchSeen(overwritten=("added.txt",))


async def test_an_untracked_file_where_the_branch_has_a_folder(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    project.git("switch", "--quiet", "feature")
    project.commit({"deep/er/file": "x"})
    project.git("switch", "--quiet", "main")
    project.write({"deep": "mine\n"})
    assert (await seen(project)).overwritten == ("deep",)


async def test_a_committed_file_that_becomes_a_folder(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    project.git("switch", "--quiet", "feature")
    project.commit({"kept.txt": None})
    project.commit({"kept.txt/inner": "x"})
    project.git("switch", "--quiet", "main")
    assert await seen(project) == SwitchSeen()
    project.git("switch", "--quiet", "feature")


async def test_a_committed_folder_that_becomes_a_file(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    project.commit({"added.txt/inner": "x"})
    assert await seen(project) == SwitchSeen()
    project.write({"added.txt/mine": "x"})
    assert (await seen(project)).overwritten == ("added.txt/mine",)
    project.git("switch", "feature", ends_with=1)


async def test_names_are_not_patterns(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    project.write({"[s]hared.txt": "mine\n", "*": "mine\n"})
    assert await seen(project) == SwitchSeen(carried=("*", "[s]hared.txt"))


async def test_looking_runs_no_filter_of_the_repository(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    ran = tmp_path / "ran"
    for kind in ("clean", "smudge"):
        project.git("config", f"filter.evil.{kind}", f"sh -c 'touch {ran}; cat'")
    project.git("config", "filter.evil.process", f"sh -c 'touch {ran}'")
    project.git("config", "filter.evil.required", "true")
    (project.root / ".git" / "info").mkdir(exist_ok=True)
    (project.root / ".git" / "info" / "attributes").write_text("* filter=evil\n")
    (project.root / "shared.txt").write_text("changed\n")
    os.utime(project.root / "kept.txt", (1, 1))
    changed = await uncommitted(GitCommand(), str(project.root), "--untracked-files=normal")
    assert "shared.txt" in changed
    assert not ran.exists()
    project.git("config", "filter.a=b.clean", "cat")
    with pytest.raises(GitFailed, match="odd name"):
        await uncommitted(GitCommand(), str(project.root))
