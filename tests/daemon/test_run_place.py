"""A run is where its folder is: in this workspace, and in no repository of its own."""

from pathlib import Path

import pytest

from resumed.protocol.errors import ErrorCode, ResumedError
from resumed.protocol.sessions import AgentInfo, SessionStartParams
from tests.support.parts import LocalClient, opened
from tests.support.repository import run_git


def _start(cwd: Path | str) -> SessionStartParams:
    return SessionStartParams(agent=AgentInfo(name="mine"), cwd=str(cwd))


def _repository(folder: Path, branch: str) -> None:
    folder.mkdir(exist_ok=True)
    run_git(folder, "init", "-b", branch)
    run_git(folder, "commit", "--allow-empty", "-m", "one")


async def test_a_worktree_within_the_workspace_is_not_taken_for_it(tmp_path: Path) -> None:
    _repository(tmp_path, "main")
    run_git(tmp_path, "worktree", "add", "-b", "fix", "inner")
    _repository(tmp_path / "clone", "other")
    (tmp_path / "clone" / "src").mkdir()
    async with opened(tmp_path) as workspace:
        for folder, right in (("inner", "inner"), ("clone", "clone"), ("clone/src", "clone")):
            with pytest.raises(ResumedError) as refused:
                await workspace.sessions.start(LocalClient(), _start(tmp_path / folder))
            assert refused.value.code is ErrorCode.WORKSPACE_REFUSED
            assert str(tmp_path / right) in refused.value.data.hint
        assert list(workspace.streams.ids("session")) == []
        assert workspace.leases.count == 0


async def test_a_plain_folder_and_a_part_of_a_repository_are_this_workspace(tmp_path: Path) -> None:
    plain, repository = tmp_path / "plain", tmp_path / "repository"
    (plain / "src").mkdir(parents=True)
    async with opened(plain) as workspace:
        live = await workspace.sessions.start(LocalClient(), _start("src"))
        assert (live.place.root, live.place.cwd) == (str(plain), str(plain / "src"))
    _repository(repository, "main")
    (repository / "src").mkdir()
    async with opened(repository) as workspace:
        live = await workspace.sessions.start(LocalClient(), _start("src"))
        assert (live.place.root, live.place.branch) == (str(repository), "main")


async def test_a_folder_that_can_be_none_is_refused(tmp_path: Path) -> None:
    async with opened(tmp_path) as workspace:
        with pytest.raises(ResumedError) as refused:
            await workspace.sessions.start(LocalClient(), _start("a\0b"))
        assert refused.value.code is ErrorCode.INVALID_PARAMS
