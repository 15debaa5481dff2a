"""The home folder is a symbolic link, and the agent recorded its paths through it.

Git and the daemon see only real paths; the person and the record know the others.
"""

import os
import shutil
from pathlib import Path

import pytest

from resumed.protocol.restore import Outcome, RestoreReport
from resumed.protocol.resume import DriftCheckParams, DriftCheckResult
from resumed.protocol.threads import ThreadListParams, ThreadListResult, ThreadReadParams, ThreadReadResult
from tests.support.codex import build_scratch_repo, install_recording
from tests.support.repository import Repository
from tests.support.workspace import choosing, client, resume, resume_unattended, serving

FOLDERS = ("repo", "repo-wt", "wt-feature")


class Linked:
    """`home` is a link to `real`, where the repository of the recordings is."""

    def __init__(self, base: Path) -> None:
        self.real = Path(os.path.realpath(base)) / "mnt" / "kim"
        self.home = base / "home"
        self.real.mkdir(parents=True)
        self.home.symlink_to(self.real)
        self.main, self.linked = (Repository(path) for path in build_scratch_repo(self.real))

    def codex(self, name: str) -> str:
        """Put a recording there whose paths all lead through the link; returns its thread."""
        folders = {f"/home/dev/{folder}": str(self.home / folder) for folder in FOLDERS}
        return install_recording(name, self.home / ".codex", folders, self.main.head()).stem[-36:]


@pytest.fixture
def people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Linked:
    linked = Linked(tmp_path)
    monkeypatch.setenv("HOME", str(linked.home))
    monkeypatch.setenv("CODEX_HOME", str(linked.home / ".codex"))
    return linked


async def place_of_thread(folder: Path, thread: str) -> tuple[str, tuple[str, ...]]:
    """The recorded root, and the files that the agent touched."""
    async with client(folder) as connection:
        read: ThreadReadResult = await connection.call("thread/read", ThreadReadParams(thread=thread))
    return read.place.root, tuple(file.path for file in read.files)


def operations(report: RestoreReport) -> tuple[str, ...]:
    return next(part.details for part in report.subsystems if part.name == "operations")


async def test_where_everything_is_as_left_nothing_is_asked_now_and_at_the_next_resume(
    people: Linked,
) -> None:
    thread = people.codex("v171_on_request_two_turns")
    with serving(people.home / "repo") as daemon:
        async with client(daemon.folder) as connection:
            listed: ThreadListResult = await connection.call("thread/list", ThreadListParams())
            checked: DriftCheckResult = await connection.call("drift/check", DriftCheckParams(thread=thread))
        assert [(row.thread_id, row.group) for row in listed.threads] == [(thread, "project")]
        assert (checked.drifts, checked.not_known) == ((), ())
        for _ in range(2):
            report = await resume_unattended(daemon.folder, thread)
            assert (report.outcome, report.drifts, report.handover) == (Outcome.RESTORED, (), "")
            assert report.six.where.summary.startswith("~/repo, fix/payment, ")
            assert report.launch is not None
            assert report.launch.folder == str(people.main.root)
        root, files = await place_of_thread(daemon.folder, thread)
    assert root == str(people.main.root)
    assert files
    assert not [path for path in files if path.startswith("/")]


@pytest.mark.parametrize("registered", [True, False])
async def test_a_deleted_worktree_is_made_again_at_its_real_path(people: Linked, registered: bool) -> None:
    thread = people.codex("v171_worktree_workspace_write")
    people.main.git("worktree", "remove", "--force", str(people.linked.root))
    if registered:
        people.main.git("worktree", "add", "--quiet", str(people.linked.root), "wt/export")
        (people.linked.root / ".git").unlink()
        for path in people.linked.root.iterdir():
            path.unlink()
        people.linked.root.rmdir()
    with serving(people.home / "repo") as daemon:
        report, person = await resume(daemon.folder, thread, choosing(worktreeRemoved="recreate"))
        assert person.kinds[0] == ["worktreeRemoved"]
        question = person.asked[0].drifts[0]
        assert "It was ~/repo-wt." in question.reason
        assert report.outcome is Outcome.PARTIAL
        assert report.six.where.summary.startswith("~/repo-wt, wt/export, ")
        assert sorted(line.partition(":")[0] for line in operations(report)) == ["README.md", "note_12.txt"]
        assert report.record.invalidated == ("README.md", "note_12.txt")
        assert report.launch is not None
        assert report.launch.folder == str(people.linked.root)
        assert people.linked.git("branch", "--show-current") == "wt/export"
        again, person = await resume(daemon.folder, thread, choosing(otherProject="open"))
    assert person.kinds[0] == ["otherProject"]
    assert again.launch is not None
    assert again.launch.folder == str(people.linked.root)
    assert again.run == report.run


@pytest.mark.parametrize("deleted", [True, False])
async def test_below_a_folder_that_was_moved_and_left_a_link_a_worktree_is_where_it_is_now(
    people: Linked, deleted: bool
) -> None:
    thread = people.codex("v171_worktree_workspace_write")
    people.linked.git("switch", "--quiet", "--create", "elsewhere")
    if deleted:
        shutil.rmtree(people.linked.root)
    now = people.real.parent / "moved"
    people.real.rename(now)
    people.real.symlink_to(now)
    choice = choosing(worktreeRemoved="recreate") if deleted else choosing(branchDiffers="switch")
    with serving(people.home / ("repo" if deleted else "repo-wt")) as daemon:
        report, person = await resume(daemon.folder, thread, choice)
    assert person.kinds[0] == ["worktreeRemoved" if deleted else "branchDiffers"]
    assert report.outcome in (Outcome.RESTORED, Outcome.PARTIAL), report.headline
    assert report.launch is not None
    assert report.launch.folder == str(now / "repo-wt")
    assert people.linked.git("branch", "--show-current") == "wt/export"


@pytest.mark.parametrize("choice", ["switch", "newWorktree", "stay"])
async def test_on_another_branch_every_choice_is_made_at_the_real_path(people: Linked, choice: str) -> None:
    thread = people.codex("v171_on_request_two_turns")
    people.main.git("switch", "--quiet", "--create", "elsewhere")
    with serving(people.home / "repo") as daemon:
        report, person = await resume(daemon.folder, thread, choosing(branchDiffers=choice))
    assert person.kinds[0] == ["branchDiffers"]
    labels = [offered.label for offered in person.asked[0].drifts[0].choices]
    assert "Continue on fix/payment in a new folder ~/repo.fix-payment" in labels
    assert report.outcome in (Outcome.RESTORED, Outcome.PARTIAL), report.headline
    assert report.launch is not None
    beside = people.real / "repo.fix-payment"
    folder = beside if choice == "newWorktree" else people.main.root
    assert report.launch.folder == str(folder)
    assert people.main.git("branch", "--show-current") == (
        "fix/payment" if choice == "switch" else "elsewhere"
    )
    assert beside.exists() == (choice == "newWorktree")
