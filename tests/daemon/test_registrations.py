"""Copies of what git keeps for deleted work trees."""

import os
import shutil
from pathlib import Path

import pytest

from resumed.daemon.registrations import KEPT_SECONDS, NotCopied, Registrations
from tests.support.repository import Repository, every_byte, make_project


def deleted(tmp_path: Path) -> tuple[Repository, Path, str]:
    """A project, git's folder for a work tree of it that was deleted, and that work tree's path."""
    project = make_project(tmp_path / "project")
    linked = project.worktree(tmp_path / "linked", "feature")
    shutil.rmtree(linked.root)
    return project, project.root / ".git" / "worktrees" / "linked", str(linked.root)


def look(file: Path) -> tuple[int, int]:
    """A file's mode, and when it was changed, in milliseconds."""
    seen = file.stat()
    return seen.st_mode, seen.st_mtime_ns // 1_000_000


def test_put_back_every_byte_and_mode_and_time(tmp_path: Path) -> None:
    project, git_dir, path = deleted(tmp_path)
    (git_dir / "logs").chmod(0o775)
    (git_dir / "hook").write_text("#!/bin/sh\n")
    (git_dir / "hook").chmod(0o755)
    (git_dir / "link").symlink_to("HEAD")
    os.mkfifo(git_dir / "fsmonitor--daemon.ipc")
    registrations = Registrations(tmp_path / "rescue")
    registrations.keep("r", str(git_dir))
    (git_dir / "fsmonitor--daemon.ipc").unlink()
    before = every_byte(project.root)
    looks = {file.name: look(file) for file in git_dir.iterdir()}
    shutil.rmtree(git_dir.parent)
    registrations.put_back("r", str(project.root / ".git"))
    assert every_byte(project.root) == before
    assert {file.name: look(file) for file in git_dir.iterdir()} == looks
    assert not list((project.root / ".git").glob("resumed-*"))
    assert path in project.git("worktree", "list")


@pytest.mark.parametrize("old", [b"one\n", b"one", b"", None])
def test_a_log_goes_on_with_the_one_before(tmp_path: Path, old: bytes | None) -> None:
    _, git_dir, _ = deleted(tmp_path)
    log = git_dir / "logs" / "HEAD"
    log.unlink()
    if old is not None:
        log.write_bytes(old)
    registrations = Registrations(tmp_path / "rescue")
    registrations.keep("r", str(git_dir))
    log.write_bytes(b"two\n")
    log.chmod(0o664)
    registrations.continue_log("r", str(git_dir))
    assert log.read_bytes() == (b"one\ntwo\n" if old else b"two\n")
    assert look(log)[0] & 0o777 == 0o664
    assert [each.name for each in log.parent.iterdir()] == ["HEAD"]
    log.unlink()
    registrations.continue_log("r", str(git_dir))
    assert not log.exists(), "git was told to keep none"


def test_each_restore_has_its_own_copy(tmp_path: Path) -> None:
    project, git_dir, _ = deleted(tmp_path)
    registrations = Registrations(tmp_path / "rescue")
    registrations.keep("one", str(git_dir))
    (git_dir / "HEAD").write_text("ref: refs/heads/other\n")
    registrations.keep("two", str(git_dir))
    shutil.rmtree(git_dir)
    registrations.put_back("one", str(project.root / ".git"))
    assert (git_dir / "HEAD").read_text() == "ref: refs/heads/feature\n"
    for restore_id in ("one", "two"):
        registrations.check(restore_id)
    with pytest.raises(NotCopied, match="is not there any more"):
        registrations.check("three")


def test_a_name_that_is_taken_meanwhile_is_left_alone(tmp_path: Path) -> None:
    project, git_dir, path = deleted(tmp_path)
    registrations = Registrations(tmp_path / "rescue")
    registrations.keep("r", str(git_dir))
    shutil.rmtree(git_dir)
    project.git("branch", "other")
    other = project.worktree(tmp_path / "elsewhere" / "linked", "other")
    registrations.put_back("r", str(project.root / ".git"))
    listed = project.git("worktree", "list", "--porcelain")
    assert f"worktree {path}\n" in listed
    assert f"worktree {other.root}\n" in listed


def test_a_copy_that_was_cut_off_is_made_again(tmp_path: Path) -> None:
    project, git_dir, _ = deleted(tmp_path)
    registrations = Registrations(tmp_path / "rescue")
    registrations.keep("r", str(git_dir))
    (copy,) = registrations.folder.glob("*.tar")
    copy.with_suffix(".staged").write_bytes(b"half")
    registrations.keep("r", str(git_dir))
    assert sorted(each.name for each in registrations.folder.iterdir()) == ["r.tar"]
    assert oct(copy.stat().st_mode & 0o777) == "0o600"
    (project.root / ".git" / "resumed-r" / "half").mkdir(parents=True)
    shutil.rmtree(git_dir)
    registrations.put_back("r", str(project.root / ".git"))
    assert not list((project.root / ".git").glob("resumed-*"))
    assert not (git_dir / "half").exists()


def test_copies_are_kept_for_their_time(tmp_path: Path) -> None:
    _, git_dir, _ = deleted(tmp_path)
    registrations = Registrations(tmp_path / "rescue")
    for where in ("a", "b"):
        registrations.keep(where, str(git_dir))
    first, second = registrations.folder.glob("*.tar")
    made = first.stat().st_mtime
    os.utime(first, (made, made - KEPT_SECONDS - 60))
    os.utime(second, (made, made - KEPT_SECONDS + 60))
    registrations.forget_old()
    assert not first.exists()
    assert second.exists()


def test_a_damaged_copy_is_none(tmp_path: Path) -> None:
    project, git_dir, _ = deleted(tmp_path)
    registrations = Registrations(tmp_path / "rescue")
    registrations.keep("r", str(git_dir))
    (copy,) = registrations.folder.glob("*.tar")
    copy.write_bytes(b"no archive")
    with pytest.raises(NotCopied, match="is not there any more"):
        registrations.check("r")
    with pytest.raises(NotCopied, match="could not be put back: "):
        registrations.put_back("r", str(project.root / ".git"))


def test_what_cannot_be_copied_or_put_back_is_said(tmp_path: Path) -> None:
    project, git_dir, _ = deleted(tmp_path)
    registrations = Registrations(tmp_path / "rescue")
    with pytest.raises(NotCopied, match="could not be copied: No such file"):
        registrations.keep("r", str(git_dir.parent / "missing"))
    assert not list(registrations.folder.iterdir())
    with pytest.raises(NotCopied, match="could not be put back: No such file"):
        registrations.put_back("r", str(project.root / ".git"))


def test_what_cannot_be_put_back_leaves_nothing(tmp_path: Path) -> None:
    project, git_dir, _ = deleted(tmp_path)
    registrations = Registrations(tmp_path / "rescue")
    registrations.keep("r", str(git_dir))
    shutil.rmtree(git_dir.parent)
    git_dir.parent.write_text("in the way\n")
    before = every_byte(project.root)
    with pytest.raises(NotCopied, match="could not be put back: "):
        registrations.put_back("r", str(project.root / ".git"))
    assert every_byte(project.root) == before
