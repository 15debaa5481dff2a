"""Taking a work tree away, cut off anywhere, goes on where it was and takes nothing of anybody else."""

import contextlib
import errno
import itertools
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from resumed.daemon import registrations, removals
from resumed.daemon.ports import git_command
from tests.support.git_port import seen_at
from tests.support.performer import perform, performed, refused
from tests.support.repository import every_byte, make_project
from tests.support.worktree_verbs import FEATURE, on_new, over, undo_of


@pytest.fixture(autouse=True)
def _state_folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RESUMED_HOME", str(tmp_path_factory.mktemp("state")))


class Cut(BaseException):
    """The process ends here."""


def cut_at(monkeypatch: pytest.MonkeyPatch, n: int) -> Callable[[], bool]:
    """End at the n-th place between two parts of taking a work tree away; tells whether it came to that."""
    passages = itertools.count(1)
    met: list[bool] = []

    def passage(name: str) -> None:
        if next(passages) == n:
            met.append(True)
            raise Cut

    for module in (removals, registrations, git_command):
        monkeypatch.setattr(module, "passage", passage)
    return lambda: bool(met)


@pytest.mark.parametrize("registered", [True, False])
async def test_taking_back_goes_on_wherever_it_was_cut_off(
    tmp_path: Path, registered: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = make_project(tmp_path / "project")
    verb = on_new(project, tmp_path / "linked")
    if registered:
        shutil.rmtree(project.worktree(tmp_path / "linked", "feature").root)
        verb = over(verb, FEATURE)
    before = every_byte(tmp_path)
    for n in range(1, 30):
        await performed(verb)
        with monkeypatch.context() as patched:
            has_met = cut_at(patched, n)
            with contextlib.suppress(Cut):
                await perform(undo_of(verb))
        if not has_met():
            break
        await performed(undo_of(verb))
        assert every_byte(tmp_path) == before, n
    assert n > 8


@pytest.mark.parametrize("kind", ["folder", "work tree"])
async def test_what_somebody_made_there_while_it_was_cut_off_stays(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = make_project(tmp_path / "project")
    shutil.rmtree(project.worktree(tmp_path / "linked", "feature").root)
    verb = over(on_new(project, tmp_path / "linked"), FEATURE)
    await performed(verb)
    with monkeypatch.context() as patched, contextlib.suppress(Cut):
        cut_at(patched, 2)
        await perform(undo_of(verb))
    assert not (tmp_path / "linked").exists()
    if kind == "folder":
        (tmp_path / "linked").mkdir()
        (tmp_path / "linked" / "mine.txt").write_text("mine\n")
        reason = await refused(undo_of(verb))
        assert reason.startswith(f"something is at {tmp_path / 'linked'} now")
    else:
        project.git("worktree", "add", "--quiet", "--force", "--detach", str(tmp_path / "linked"))
        (tmp_path / "linked" / "mine.txt").write_text("mine\n")
        await performed(undo_of(verb))
        assert len((await seen_at(tmp_path / "linked")).worktrees) == 2
    assert (tmp_path / "linked" / "mine.txt").read_text() == "mine\n"
    assert not [path.name for path in tmp_path.iterdir() if path.name.startswith(".resumed")]
    assert not list((project.root / ".git").glob("resumed-*"))


async def test_what_cannot_be_deleted_is_named_and_the_old_one_is_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = make_project(tmp_path / "project")
    shutil.rmtree(project.worktree(tmp_path / "linked", "feature").root)
    before = every_byte(project.root / ".git" / "worktrees")
    verb = over(on_new(project, tmp_path / "linked"), FEATURE)
    await performed(verb)

    remove = shutil.rmtree

    def refuse(folder: Path, **more: Any) -> None:
        if str(folder) == str(tmp_path / ".resumed-r"):
            raise PermissionError(errno.EACCES, "Permission denied", str(folder))
        remove(folder, **more)

    with monkeypatch.context() as patched:
        patched.setattr(shutil, "rmtree", refuse)
        reason = await refused(undo_of(verb))
    assert reason == f"{tmp_path / '.resumed-r'} could not be deleted: Permission denied"
    for _ in range(2):
        assert every_byte(project.root / ".git" / "worktrees") == before
        await performed(undo_of(verb))
    assert [path.name for path in tmp_path.iterdir()] == ["project"]
