"""What a restore writes into a repository has the modes that git, run by the user, would have given.

Beside the repository that is restored stands a twin of it, in which plain git does the same.
"""

import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from resumed.protocol.restore import Outcome
from tests.support.repository import Repository
from tests.support.workspace import choosing, resume
from tests.support.world import Work, World, inhabited

IDLE = Work(edits={}, commits=False)
SHARING = ("022", None), ("002", None), ("077", None), ("022", "group"), ("077", "0664")


@pytest.fixture(params=SHARING, ids=lambda case: f"umask-{case[0]}-{case[1] or 'own'}")
def sharing(request: pytest.FixtureRequest) -> Iterator[str | None]:
    """Run the test under a user's umask; the value is the repository's `core.sharedRepository`, if any."""
    umask, shared = request.param
    before = os.umask(int(umask, 8))
    yield shared
    os.umask(before)


def committed(world: World, name: str, shared: str | None) -> Repository:
    """A repository on `fix/payment`, whose last commit changes a file and adds one and a program."""
    repository = world.payments(name)
    if shared is not None:
        repository.git("config", "core.sharedRepository", shared)
    repository.write({"bin/run": "#!/bin/sh\n", "rounding.py": "half = 1\n", "data/new.txt": "new\n"})
    (repository.root / "bin" / "run").chmod(0o777)
    repository.commit({})
    return repository


def modes(folder: Path) -> dict[str, str]:
    """The mode of everything in a folder and of itself, by relative path."""
    paths = (folder, *folder.rglob("*"))
    return {str(path.relative_to(folder)): oct(stat.S_IMODE(path.lstat().st_mode)) for path in paths}


def loose(folder: Path) -> dict[str, str]:
    """What in a folder somebody else than its owner may read or write."""
    return {path: mode for path, mode in modes(folder).items() if int(mode, 8) & 0o077}


async def test_a_switch_writes_as_git_does(tmp_path: Path, sharing: str | None) -> None:
    with inhabited(tmp_path) as world:
        repository, twin = committed(world, "payments", sharing), committed(world, "twin", sharing)
        thread = await world.work("payments", IDLE)
        for each in (repository, twin):
            each.git("switch", "--quiet", "main")
        report, _ = await resume(repository.root, thread, choosing(branchDiffers="switch"))
        twin.git("switch", "--quiet", "fix/payment")
        assert report.outcome is Outcome.RESTORED, report.headline
        assert modes(repository.root) == modes(twin.root)
        assert loose(world.state) == {}


async def test_a_folder_made_again_is_written_as_git_does(tmp_path: Path, sharing: str | None) -> None:
    with inhabited(tmp_path) as world:
        repository, twin = committed(world, "payments", sharing), committed(world, "twin", sharing)
        for each in (repository, twin):
            each.git("switch", "--quiet", "main")
        linked = repository.worktree(world.home / "trees" / "deep" / "wx", "fix/payment").root
        twin.worktree(world.home / "twin-trees" / "deep" / "wx", "fix/payment")
        thread = await world.work("trees/deep/wx", IDLE)
        world.let_go()
        for trees in ("trees", "twin-trees"):
            shutil.rmtree(world.home / trees)
        root = world.serve("payments")
        recreate = choosing(otherProject="open", worktreeRemoved="recreate")
        report, _ = await resume(root, thread, recreate)
        twin.git("worktree", "add", "--quiet", "--force", "../twin-trees/deep/wx", "fix/payment")
        assert report.outcome is Outcome.RESTORED, report.headline
        assert linked.exists()
        assert modes(world.home / "trees") == modes(world.home / "twin-trees")
        assert modes(root) == modes(twin.root)
        assert loose(world.state) == {}
