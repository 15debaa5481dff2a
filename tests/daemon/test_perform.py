"""Every verb has its performer, and whatever goes wrong is an answer."""

from pathlib import Path

from resumed.restore.effects import NotPerformed
from resumed.restore.steps import AddWorktree, RecordState, RemoveWorktree, SwitchBranch
from tests.support.performer import perform, real_performer
from tests.support.repository import make_project


async def test_recording_is_done_by_what_was_given() -> None:
    outcome = await perform(RecordState(events=(("todos_set", {}),)))
    assert outcome == NotPerformed("1 events were not recorded")


async def test_no_repository(tmp_path: Path) -> None:
    here = str(tmp_path)
    for verb in (
        AddWorktree(restore_id="r", repository=here, path=f"{here}/new", sha="0" * 40),
        RemoveWorktree(restore_id="r", repository=here, path=f"{here}/new", sha="0" * 40),
        SwitchBranch(
            restore_id="r", root=here, from_branch="a", from_sha="0" * 40, to_branch="b", to_sha="0" * 40
        ),
    ):
        assert await perform(verb) == NotPerformed(f"{here} is in no repository")
    assert list(tmp_path.iterdir()) == []


async def test_no_git(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    verb = AddWorktree(
        restore_id="r", repository=str(project.root), path=str(tmp_path / "new"), sha=project.head()
    )
    outcome = await real_performer(str(tmp_path / "missing")).perform(verb)
    assert isinstance(outcome, NotPerformed)
    assert "could not be started" in outcome.reason


async def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    verb = AddWorktree(
        restore_id="r", repository=str(project.root), path="/proc/here/new", sha=project.head()
    )
    outcome = await perform(verb)
    assert isinstance(outcome, NotPerformed)
    assert outcome.reason.startswith("git could not make the folder: could not create leading directories")
