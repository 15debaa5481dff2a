"""What a daemon leaves on record of its own life."""

import os
from pathlib import Path

import msgspec
import pytest

from resumed.daemon.runtime import state_folder
from resumed.daemon.storage.blob_rows import BlobMissing
from resumed.daemon.storage.errors import EventRefused
from resumed.protocol.threads import ThreadListParams
from resumed.restore.events.worktree import DaemonRun, WorktreeMeta
from tests.support.codex import install_recording
from tests.support.parts import Hearing, opened
from tests.support.repository import run_git
from tests.support.streams import entry


async def test_its_runs_are_on_record_with_a_clean_end(tmp_path: Path) -> None:
    for _ in range(2):
        async with opened(tmp_path):
            pass
    async with opened(tmp_path) as workspace:
        (stream,) = workspace.streams.ids("worktree")
        meta, *runs = [event.payload for event in workspace.streams.read(stream)]
        assert isinstance(meta, WorktreeMeta)
        assert meta.path == str(tmp_path)
        assert [(run.phase, run.clean) for run in runs if isinstance(run, DaemonRun)] == [
            ("started", False),
            ("stopped", True),
            ("started", False),
            ("stopped", True),
            ("started", False),
        ]


async def test_a_changed_thread_is_told(tmp_path: Path) -> None:
    install_recording("v171_read_only", Path(os.environ["CODEX_HOME"]))
    hearing = Hearing()
    async with opened(tmp_path, hearing) as workspace:
        row = await workspace.threads.find("look at it")
        await workspace.threads.changed(row.thread_id)
        assert [method for method, _ in hearing.heard] == ["thread/updated"]
        assert workspace.status_fields().threads == 1


async def test_an_event_may_name_what_is_kept_and_nothing_else(tmp_path: Path) -> None:
    async with opened(tmp_path) as workspace:
        (stream,) = workspace.streams.ids("worktree")
        name = await workspace.blobs.put(b"kept")
        assert isinstance(name, str)
        await workspace.streams.append(stream, msgspec.structs.replace(entry("see"), blobs=(name,)))
        with pytest.raises(EventRefused):
            await workspace.streams.append(stream, msgspec.structs.replace(entry("see"), blobs=("0" * 64,)))


async def test_a_damaged_file_of_kept_contents_is_told_in_the_status(tmp_path: Path) -> None:
    (state_folder() / "blobs.db").parent.mkdir(parents=True, exist_ok=True)
    (state_folder() / "blobs.db").write_bytes(b"no database" * 1000)
    async with opened(tmp_path) as workspace:
        assert await workspace.blobs.get("0" * 64) == BlobMissing()
        (note,) = workspace.status_fields().notes
        assert note.startswith("The file of kept contents was damaged")


async def test_a_place_whose_repository_is_gone_is_served_all_the_same(tmp_path: Path) -> None:
    (tmp_path / ".git").write_text("gitdir: /nowhere/.git/worktrees/gone\n")
    install_recording("v171_read_only", Path(os.environ["CODEX_HOME"]))
    async with opened(tmp_path) as workspace:
        assert len((await workspace.threads.page(ThreadListParams(scope="all"))).threads) == 1


async def test_another_daemon_that_holds_the_worktrees_record_does_not_keep_it_from_serving(
    tmp_path: Path,
) -> None:
    old = tmp_path / "old"
    old.mkdir()
    run_git(old, "init", "-b", "main")
    async with opened(old):
        old.rename(tmp_path / "new")
        async with opened(tmp_path / "new") as workspace:
            assert (await workspace.threads.page(ThreadListParams())).threads == ()
