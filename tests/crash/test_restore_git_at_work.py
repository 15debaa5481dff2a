"""The daemon is killed while git is in the middle of a checkout that a restore asked for.

A filter of the repository stops git there, kills the daemon, and lets git go on when the test says so.
"""

import contextlib
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from resumed.protocol.errors import ResumedError
from resumed.protocol.restore import Outcome
from tests.support import payments
from tests.support.repository import run_git
from tests.support.restore_worlds import (
    KEPT,
    Build,
    World,
    deleted_worktree,
    resume_and_look,
    switched_branch,
    try_resume,
)
from tests.support.wire import wait_for
from tests.support.workspace import resume

FILTER = """\
#!/bin/sh
if [ -p {gate} ]; then
  kill -9 $(cat {daemon})
  {then}
fi
cat
"""
WAIT = "timeout 300 cat {gate} >/dev/null; rm -f {gate}"
DIE = "rm -f {gate}; kill -9 $PPID"


class Gate(NamedTuple):
    """Where git stops."""

    world: World
    path: Path

    def open(self) -> None:
        """Let git go on, and wait until it has ended."""
        self.path.write_bytes(b"")
        wait_for(lambda: not self.path.exists() and not marks(self.world))


def gate(world: World, folder: Path, then: str) -> Gate:
    """Stop git at the first file that it checks out, in this repository and all its work trees."""
    path, daemon, program = folder / "gate", folder / "daemon", folder / "filter"
    daemon.write_text(str(world.daemon.process.pid))
    program.write_text(FILTER.format(gate=path, daemon=daemon, then=then.format(gate=path)))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    run_git(world.root, "config", "filter.gate.smudge", str(program))
    attributes = world.root / ".git" / "info" / "attributes"
    attributes.parent.mkdir(exist_ok=True)
    attributes.write_text("* filter=gate\n")
    os.mkfifo(path)
    return Gate(world, path)


def edits(world: World) -> tuple[str, str]:
    """The agent's uncommitted files."""
    return (world.root / "rounding.py").read_text(), (world.root / "test_rounding.py").read_text()


def marks(world: World) -> list[Path]:
    """What git leaves while it is at work: a locked index, or a work tree that is being made. Git may
    take any of it away while this looks, which `os.walk` passes over."""
    found = []
    for folder, _, names in os.walk(world.root / ".git"):
        if "index.lock" in names:
            found.append(Path(folder, "index.lock"))
        if "locked" in names:
            with contextlib.suppress(FileNotFoundError):
                if Path(folder, "locked").read_text().strip() == "initializing":
                    found.append(Path(folder, "locked"))
    return found


@pytest.mark.parametrize("build", [switched_branch, deleted_worktree])
async def test_git_that_ends_after_the_daemon(build: Build, tmp_path: Path) -> None:
    with build(tmp_path, "") as world:
        before = world.facts()
        stopped = gate(world, tmp_path, WAIT)
        assert await try_resume(world) is None
        assert marks(world)
        stopped.open()
        world.daemon.start_again()
        report, settled, _ = await resume_and_look(world)
        assert settled == before
        assert report.outcome in KEPT, report.headline
        assert all("was taken back first" in note for note in report.record.damage)


def is_switched(world: World) -> None:
    """The work tree is on the branch, with the agent's uncommitted files."""
    assert run_git(world.root, "branch", "--show-current") == "fix/payment"
    assert edits(world) == (payments.NEW_ROUNDING, payments.NEW_TESTS)


def is_made_again(world: World) -> None:
    """The folder holds what its branch does."""
    assert run_git(world.base / "repo-wt", "status", "--porcelain") == ""


@pytest.mark.parametrize(
    ("build", "is_as_chosen"), [(switched_branch, is_switched), (deleted_worktree, is_made_again)]
)
async def test_git_that_is_still_at_work_when_resume_is_pressed(
    build: Build, is_as_chosen: Callable[[World], None], tmp_path: Path
) -> None:
    with build(tmp_path, "") as world:
        stopped = gate(world, tmp_path, WAIT)
        assert await try_resume(world) is None
        world.daemon.start_again()
        with pytest.raises(ResumedError) as refused:
            await resume(world.root, world.thread, world.decide)
        assert "another git command is at work" in str(refused.value)
        assert marks(world)
        stopped.open()
        report, _ = await resume(world.root, world.thread, world.decide)
        assert report.outcome in KEPT, report.headline
        is_as_chosen(world)


async def test_git_that_dies_while_it_switches(tmp_path: Path) -> None:
    with switched_branch(tmp_path, "") as world:
        gate(world, tmp_path, DIE)
        assert await try_resume(world) is None
        world.daemon.start_again()
        with pytest.raises(ResumedError) as refused:
            await resume(world.root, world.thread, world.decide)
        assert "index.lock" in str(refused.value)
        (world.root / ".git" / "index.lock").unlink()
        report, _ = await resume(world.root, world.thread, world.decide)
        assert "was cut off: HEAD is as before" in " ".join(report.record.damage)
        assert report.outcome is Outcome.NEEDS_ANSWER
        assert run_git(world.root, "branch", "--show-current") == "main"
        assert edits(world) == (payments.NEW_ROUNDING, payments.NEW_TESTS)


async def test_git_that_dies_while_it_makes_the_folder(tmp_path: Path) -> None:
    with deleted_worktree(tmp_path, "") as world:
        main = world.facts().files
        gate(world, tmp_path, DIE)
        assert await try_resume(world) is None
        world.daemon.start_again()
        report, _ = await resume(world.root, world.thread, world.decide)
        assert report.outcome in KEPT, report.headline
        is_made_again(world)
        assert main.items() <= world.facts().files.items()
