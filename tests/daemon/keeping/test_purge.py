"""Removing threads: what only they have goes, what others share stays, and nothing is left half."""

import asyncio
import contextlib
import hashlib
import os
import uuid
from pathlib import Path
from typing import Any

import msgspec
import pytest

from resumed.daemon.keeping import purge
from resumed.daemon.storage import collection, disk, purges
from resumed.daemon.storage.blob_rows import BlobFound, BlobMissing
from resumed.daemon.storage.errors import StorageFailed, StreamBusy
from resumed.daemon.storage.layout import Layout
from resumed.daemon.storage.purges import Purge
from resumed.daemon.workspace import Workspace
from resumed.protocol.errors import ErrorCode, ResumedError
from resumed.protocol.sessions import AgentInfo, SessionStartParams
from resumed.protocol.threads import ThreadListParams
from resumed.restore.events.session import EntryAdded
from tests.support.clock import FakeClock
from tests.support.codex import install_recording
from tests.support.locks import written_elsewhere
from tests.support.parts import LocalClient, opened
from tests.support.streams import line, wrapped

CLIENT = LocalClient()
CODEX = "01a22dbd-6721-7b02-8d3d-d77a010ed4f3"
TOMORROW = "2030-01-02T03:04:05.000Z"


async def ended_run(workspace: Workspace, *contents: bytes, name: str = "Round") -> str:
    """A thread with one run, whose events name these contents; its id."""
    start = SessionStartParams(agent=AgentInfo(name="mender"), cwd=workspace.threads.root, name=name)
    live = await workspace.sessions.start(CLIENT, start)
    for content in contents:
        kept = await workspace.blobs.put(content)
        assert isinstance(kept, str)
        entry = wrapped(EntryAdded(kind="message", role="user", text="see"), str(uuid.uuid4()))
        await live.append_events(msgspec.structs.replace(entry, blobs=(kept,)))
    await workspace.sessions.end(live, "exit")
    return live.thread_id


async def listed(workspace: Workspace) -> set[str]:
    await workspace.threads.look_again()
    page = await workspace.threads.page(ThreadListParams(scope="all"))
    return {summary.thread_id for summary in page.threads}


async def test_contents_that_others_name_stay_and_all_others_go(tmp_path: Path) -> None:
    async with opened(tmp_path) as workspace:
        thread = await ended_run(workspace, b"only mine", b"shared")
        other = await ended_run(workspace, b"shared", name="Other")
        result = await workspace.purger.purge("round", CLIENT.info)
        assert (result.thread_id, result.contents, result.contents_shared) == (thread, 1, 1)
        assert (result.contents_later, result.notes, result.depends_on) == (0, (), None)
        assert isinstance(await workspace.blobs.get(sha("only mine")), BlobMissing)
        assert await workspace.blobs.get(sha("shared")) == BlobFound(b"shared")
        assert await listed(workspace) == {other}
        assert workspace.threads.all_notes() == ()
        with pytest.raises(ResumedError) as refused:
            await workspace.purger.purge(thread, CLIENT.info)
        assert refused.value.code is ErrorCode.THREAD_NOT_FOUND


async def test_contents_that_somebody_may_be_about_to_name_go_a_day_later(tmp_path: Path) -> None:
    async with opened(tmp_path) as workspace:
        lock = workspace.layout.workspace_lock_path("0" * 32)
        held = disk.lock(lock)
        assert held is not None
        await ended_run(workspace, b"only mine")
        result = await workspace.purger.purge("round", CLIENT.info)
        os.close(held)
        assert (result.contents, result.contents_later) == (0, 1)
        await workspace.purger.tidy()
        assert await workspace.blobs.get(sha("only mine")) == BlobFound(b"only mine")
        workspace.purger._clock = FakeClock(TOMORROW)
        await workspace.purger.tidy()
        assert isinstance(await workspace.blobs.get(sha("only mine")), BlobMissing)
        assert purges.contents_left(workspace.layout) == ()


async def test_contents_stay_while_another_record_cannot_be_relied_on(tmp_path: Path) -> None:
    async with opened(tmp_path) as workspace:
        await ended_run(workspace, b"only mine")
        damaged = workspace.layout.thread_path(str(uuid.uuid4()))
        damaged.write_bytes(b"garbage\n" + line("later", 2))
        result = await workspace.purger.purge("round", CLIENT.info)
        assert (result.contents, result.contents_later) == (0, 1)
        assert "is damaged" in result.notes[0]
        assert await workspace.blobs.get(sha("only mine")) == BlobFound(b"only mine")


async def test_contents_that_cannot_be_removed_keep_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(tmp_path) as workspace:
        thread = await ended_run(workspace, b"only mine")

        async def failing(*_: object) -> None:
            raise StorageFailed("Kept contents can't be opened.")

        with monkeypatch.context() as patch:
            patch.setattr(collection, "remove", failing)
            result = await workspace.purger.purge(thread, CLIENT.info)
        assert (result.contents_later, result.files) == (1, 2)
        assert result.notes == ("Its contents are removed later. Kept contents can't be opened.",)
        assert await listed(workspace) == set()
        assert not purges.is_begun(workspace.layout, thread)
        assert len(purges.contents_left(workspace.layout)) == 1


async def test_an_agents_own_file_stays_and_is_listed_again(tmp_path: Path) -> None:
    path = install_recording("v171_on_request_two_turns", Path(os.environ["CODEX_HOME"]))
    before = path.read_bytes(), path.stat().st_mtime_ns
    async with opened(tmp_path) as workspace:
        await workspace.archive.move(CODEX, CLIENT.info, archived=True)
        result = await workspace.purger.purge(CODEX, CLIENT.info)
        assert (result.files, result.depends_on) == (1, str(path))
        assert (path.read_bytes(), path.stat().st_mtime_ns) == before
        assert await listed(workspace) == {CODEX}
        assert (await workspace.purger.purge(CODEX, CLIENT.info)).files == 0
        assert await listed(workspace) == {CODEX}
        assert (await workspace.threads.record(CODEX)).depends_on == str(path)


async def test_copies_of_its_bytes_and_runs_that_nothing_names_go_too(tmp_path: Path) -> None:
    async with opened(tmp_path) as workspace:
        thread = await ended_run(workspace)
        layout = workspace.layout
        (run,) = layout.sessions.rglob("rollout-*.jsonl")
        layout.quarantine.mkdir()
        copy = layout.quarantine / f"{run.name}.10.torn"
        copy.write_bytes(b"torn")
        stranger = layout.quarantine / f"rollout-2026-01-02T03-04-05-{uuid.uuid4()}.jsonl.10.torn"
        stranger.write_bytes(b"torn")
        unlinked = run.with_name(run.name.replace(run.stem[-36:], str(uuid.uuid4())))
        unlinked.write_bytes(run.read_bytes())
        (await workspace.purger.purge(thread, CLIENT.info))
        assert not copy.exists()
        assert not unlinked.exists()
        assert stranger.exists()


async def test_what_another_process_writes_is_not_removed(tmp_path: Path) -> None:
    async with opened(tmp_path) as workspace:
        thread = await ended_run(workspace)
        elsewhere = written_elsewhere(workspace.layout, f"thread:{thread}")
        with elsewhere, pytest.raises(StreamBusy, match="Another process"):
            await workspace.purger.purge(thread, CLIENT.info)
        assert not purges.is_begun(workspace.layout, thread)
        assert await listed(workspace) == {thread}


async def test_one_that_failed_half_way_is_shown_by_nobody_and_can_be_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(tmp_path) as workspace:
        thread = await ended_run(workspace)

        def failing(*_: Any) -> None:
            raise OSError(5, "Input/output error")

        with monkeypatch.context() as patch:
            patch.setattr(purge, "_remove_files", failing)
            with pytest.raises(StorageFailed, match="not all of it yet: Input/output error"):
                await workspace.purger.purge(thread, CLIENT.info)
        assert await listed(workspace) == set()
        with pytest.raises(ResumedError, match="being removed for good"):
            await workspace.threads.record(thread)
        start = SessionStartParams(agent=AgentInfo(name="mender"), cwd=str(tmp_path), thread_id=thread)
        with pytest.raises(ResumedError) as refused:
            await workspace.sessions.start(CLIENT, start)
        assert refused.value.code is ErrorCode.THREAD_NOT_FOUND
        assert not purges.is_begun(workspace.layout, thread), "whoever takes the lease finishes it"
        assert workspace.threads.all_notes() == ()
        assert not workspace.layout.thread_path(thread).exists()


async def test_one_whose_record_is_damaged_is_finished_with_what_is_left(tmp_path: Path) -> None:
    async with opened(tmp_path) as workspace:
        thread = await ended_run(workspace, b"only mine")
        purges.begin(workspace.layout, Purge(thread_id=thread, sessions=()))
        (workspace.layout.purges / f"{thread}.json").write_bytes(b"garbage")
    async with opened(tmp_path) as workspace:
        assert purges.all_begun(workspace.layout) == frozenset()
        assert await listed(workspace) == set()
        assert not list(workspace.layout.sessions.rglob("*.jsonl"))
        assert isinstance(await workspace.blobs.get(sha("only mine")), BlobMissing)


async def test_a_caller_that_goes_away_does_not_leave_it_half(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(tmp_path) as workspace:
        thread = await ended_run(workspace)
        loop, begun, original = asyncio.get_running_loop(), asyncio.Event(), purges.begin

        def begin(layout: Layout, what: Purge) -> None:
            original(layout, what)
            loop.call_soon_threadsafe(begun.set)

        monkeypatch.setattr(purges, "begin", begin)
        removing = asyncio.create_task(workspace.purger.purge(thread, CLIENT.info))
        await begun.wait()
        removing.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await removing
        assert not purges.is_begun(workspace.layout, thread)
        assert await listed(workspace) == set()


def sha(text: str) -> str:
    """The name of a content."""
    return hashlib.sha256(text.encode()).hexdigest()
