"""A look finds what a Resume would ask, and leaves no trace."""

import os
from pathlib import Path

from resumed.protocol.restore import DriftKind
from tests.support.codex import build_scratch_repo, install_recording
from tests.support.parts import opened
from tests.support.repository import run_git

THREAD = "01a22dbd-6721-7b02-8d3d-d77a010ed4f3"


async def test_it_finds_the_first_questions_and_writes_nothing(tmp_path: Path) -> None:
    repo, worktree = build_scratch_repo(tmp_path)
    folders = {"/home/dev/repo": str(repo), "/home/dev/repo-wt": str(worktree)}
    install_recording("v171_on_request_two_turns", Path(os.environ["CODEX_HOME"]), folders)
    async with opened(repo) as workspace:
        calm = await workspace.checker.check(await workspace.threads.record(THREAD), None)
        assert (calm.drifts, calm.question) == ((), None)
        run_git(repo, "switch", "-q", "--detach")
        (repo / "note_20.txt").unlink()
        found = await workspace.checker.check(await workspace.threads.record(THREAD), None)
        assert found.question is not None
        assert [drift.kind for drift in found.question.drifts] == [DriftKind.DETACHED]
        assert DriftKind.FILE_GONE in [drift.kind for drift in found.drifts]
        assert list(workspace.streams.ids("session")) == []
        assert list(workspace.streams.ids("thread")) == []
