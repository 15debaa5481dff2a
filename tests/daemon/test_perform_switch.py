"""Switching: exactly from one place to another, and nothing lost."""

import asyncio
import os
from pathlib import Path

import msgspec
import pytest

from resumed.restore.effects import NotPerformed, Performed
from resumed.restore.steps import SwitchBranch
from tests.support.git_port import seen_at
from tests.support.performer import performed, real_performer, refused
from tests.support.repository import Repository, every_byte, make_project


def to_feature(project: Repository) -> SwitchBranch:
    """From `main` to `feature`."""
    return SwitchBranch(
        restore_id="r",
        root=str(project.root),
        from_branch="main",
        from_sha=project.branch_at("main"),
        to_branch="feature",
        to_sha=project.branch_at("feature"),
    )


async def refused_unchanged(project: Repository, verb: SwitchBranch) -> str:
    """Why the verb is refused; fails the test if anything changed."""
    before = every_byte(project.root)
    reason = await refused(verb)
    assert every_byte(project.root) == before
    return reason


async def test_there_and_back_with_uncommitted_files(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    project.write({"kept.txt": "mine\n", "new.txt": "new\n"})
    verb = to_feature(project)
    evidence = await performed(verb)
    assert evidence == {
        "path": str(project.root),
        "branch": "feature",
        "sha": verb.to_sha,
        "already": False,
    }
    assert (project.root / "shared.txt").read_text() == "two\n"
    assert (await performed(verb))["already"] is True
    back = SwitchBranch(
        restore_id="r",
        root=verb.root,
        from_branch="feature",
        from_sha=verb.to_sha,
        to_branch="main",
        to_sha=verb.from_sha,
    )
    await performed(back)
    assert project.git("status", "--porcelain") == " M kept.txt\n?? new.txt"
    assert (project.root / "kept.txt").read_text() == "mine\n"


@pytest.mark.parametrize("branch", ["feature", None])
async def test_head_that_a_person_moved_there_is_not_moved_back(tmp_path: Path, branch: str | None) -> None:
    project = make_project(tmp_path / "project")
    verb = msgspec.structs.replace(to_feature(project), to_branch=branch)
    back = msgspec.structs.replace(
        verb,
        from_branch=branch,
        from_sha=verb.to_sha,
        to_branch="main",
        to_sha=verb.from_sha,
        moved_by=verb.restore_id,
    )
    await performed(verb)
    project.git("switch", "--quiet", "main")
    project.git("switch", "--quiet", *(["--detach"] if branch is None else []), "feature")
    assert (await performed(verb))["already"] is True
    assert "somebody else moved HEAD" in await refused_unchanged(project, back)
    project.git("switch", "--quiet", "main")
    await performed(verb)
    await performed(back)
    assert project.git("branch", "--show-current") == "main"


async def test_detach_and_back(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    main, feature = project.head(), project.branch_at("feature")
    root = str(project.root)
    await performed(
        SwitchBranch(
            restore_id="r", root=root, from_branch="main", from_sha=main, to_branch=None, to_sha=feature
        )
    )
    assert (await seen_at(root)).detached
    await performed(
        SwitchBranch(
            restore_id="r", root=root, from_branch=None, from_sha=feature, to_branch="main", to_sha=main
        )
    )
    assert (await seen_at(root)).branch == "main"


@pytest.mark.parametrize("name", ["shared.txt", "added.txt"])
async def test_names_what_would_be_overwritten(tmp_path: Path, name: str) -> None:
    project = make_project(tmp_path / "project")
    project.write({name: "mine\n"})
    reason = await refused_unchanged(project, to_feature(project))
    assert reason == f"it would overwrite uncommitted files: {name}"


async def test_an_ignored_file_is_not_overwritten_either(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    (project.root / ".git" / "info" / "exclude").write_text("added.txt\n")
    project.write({"added.txt": "mine\n"})
    assert "added.txt" in await refused_unchanged(project, to_feature(project))


async def test_head_has_moved(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    verb = to_feature(project)
    project.commit({"more.txt": "more\n"})
    reason = await refused_unchanged(project, verb)
    assert reason == f"{project.root} is not on main at {verb.from_sha[:7]} any more"


async def test_the_branch_has_moved_or_is_gone(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    verb = to_feature(project)
    project.git("branch", "--force", "feature", "main")
    assert "branch feature moved to" in await refused_unchanged(project, verb)
    project.git("branch", "-D", "feature")
    assert await refused_unchanged(project, verb) == "there is no branch feature"


async def test_the_branch_is_checked_out_elsewhere(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    project.worktree(tmp_path / "linked", "feature")
    reason = await refused_unchanged(project, to_feature(project))
    assert reason == f"feature is checked out in {tmp_path / 'linked'}"


async def test_something_is_half_finished(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    project.git("bisect", "start")
    assert "a bisect is half finished" in await refused_unchanged(project, to_feature(project))


async def test_another_git_is_at_work(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    (project.root / ".git" / "index.lock").touch()
    assert "another git command is at work" in await refused_unchanged(project, to_feature(project))


async def test_waits_for_another_git(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    lock = project.root / ".git" / "index.lock"
    lock.touch()
    waiting = asyncio.create_task(real_performer(patience=60).perform(to_feature(project)))
    await asyncio.sleep(0)
    lock.unlink()
    assert isinstance(await waiting, Performed)


async def test_not_the_top_of_a_work_tree(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    (project.root / "inner").mkdir()
    verb = to_feature(Repository(project.root / "inner"))
    assert "is not the top of a work tree" in await refused_unchanged(project, verb)


async def test_files_that_git_would_look_for_elsewhere(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    project.git("branch", "free")
    linked = project.worktree(tmp_path / "linked", "feature")
    project.git("config", "extensions.worktreeConfig", "true")
    project.git("config", "core.worktree", str(project.root))
    verb = SwitchBranch(
        restore_id="r",
        root=str(linked.root),
        from_branch="feature",
        from_sha=project.branch_at("feature"),
        to_branch="free",
        to_sha=project.branch_at("free"),
    )
    before = every_byte(tmp_path)
    assert "core.worktree" in await refused(verb)
    assert every_byte(tmp_path) == before


async def test_hooks_do_not_run(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    hook = project.root / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path / 'hook-ran'}\n")
    hook.chmod(0o755)
    await performed(to_feature(project))
    assert not (tmp_path / "hook-ran").exists()


async def test_what_git_itself_refuses_is_told(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    fake = tmp_path / "fake-git"
    fake.write_text(
        '#!/bin/sh\ncase " $* " in *" switch "*) echo "fatal: no room on disk" >&2; exit 128;; esac\n'
        'exec git "$@"\n'
    )
    fake.chmod(0o755)
    before = every_byte(project.root)
    outcome = await real_performer(str(fake)).perform(to_feature(project))
    assert outcome == NotPerformed("git would not switch: no room on disk")
    assert every_byte(project.root) == before


async def test_a_switch_that_stops_midway_names_what_it_left(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    fake = tmp_path / "fake-git"
    fake.write_text(
        '#!/bin/sh\ncase " $* " in *" switch "*) echo half > shared.txt; echo "fatal: killed" >&2; exit 1;;'
        ' esac\nexec git "$@"\n'.replace("> shared.txt", f"> {project.root}/shared.txt")
    )
    fake.chmod(0o755)
    outcome = await real_performer(str(fake)).perform(to_feature(project))
    assert outcome == NotPerformed(
        "git did not finish (killed): HEAD is where it was, but shared.txt changed", left=True
    )


async def test_a_folder_that_cannot_be_written_is_seen_before_head_moves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = make_project(tmp_path / "project")
    real = os.access
    # Root may write everywhere, so that the system's refusal has to be told to it.
    monkeypatch.setattr(
        "resumed.daemon.perform_switch.os.access",
        lambda path, mode: path != str(project.root) and real(path, mode),
    )
    assert "cannot be written" in await refused_unchanged(project, to_feature(project))


async def test_a_head_that_moved_without_its_files_is_no_success(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    fake = tmp_path / "fake-git"
    fake.write_text(
        '#!/bin/sh\ncase " $* " in *" switch "*)'
        f' exec git -C {project.root} symbolic-ref HEAD refs/heads/feature;; esac\nexec git "$@"\n'
    )
    fake.chmod(0o755)
    outcome = await real_performer(str(fake)).perform(to_feature(project))
    assert isinstance(outcome, NotPerformed)
    assert "git moved HEAD, but could not write added.txt, shared.txt" in outcome.reason
