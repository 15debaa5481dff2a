"""A thread known only from an agent's file gets streams of its own, once."""

import os
from pathlib import Path

import pytest

from resumed.daemon.freezing import ensure_thread
from resumed.daemon.storage.errors import IndexFailed
from resumed.daemon.storage.index import Index
from resumed.restore.events.thread import SessionLinked, ThreadMeta
from tests.support.codex import install_recording
from tests.support.locks import is_free
from tests.support.parts import LocalClient, opened


async def test_an_agents_thread_is_adopted_once_and_its_name_survives_a_new_scan(tmp_path: Path) -> None:
    path = install_recording("v171_read_only", Path(os.environ["CODEX_HOME"]))
    async with opened(tmp_path) as workspace:
        row = await workspace.threads.find("look at it")
        record = await workspace.threads.record(row.thread_id)
        await ensure_thread(workspace.streams, record)
        await ensure_thread(workspace.streams, record)
        meta, link = [event.payload for event in workspace.streams.read(f"thread:{row.thread_id}")]
        assert isinstance(meta, ThreadMeta)
        assert (meta.storage_class, meta.agent) == ("foreign", "codex")
        assert isinstance(link, SessionLinked)
        assert link.session_id == record.runs[0].session_id
        adopted = await workspace.threads.record(row.thread_id)
        assert (adopted.states, adopted.runs) == (record.states, record.runs)
        assert adopted.last_active_at == record.last_active_at
    os.utime(path, (1, 1))
    async with opened(tmp_path) as workspace:
        assert (await workspace.threads.find(row.thread_id)).name == record.name


async def test_a_thread_is_held_while_it_is_restored(tmp_path: Path) -> None:
    install_recording("v171_read_only", Path(os.environ["CODEX_HOME"]))
    async with opened(tmp_path) as workspace:
        async with workspace.freezer.held("look at it", LocalClient()) as thread_id:
            assert workspace.busy()
            async with workspace.freezer.freeze(thread_id) as frozen:
                await frozen.mint()
                assert workspace.streams.exists(f"session:{frozen.session_id}")
        assert not workspace.busy()


async def test_a_restore_that_is_finished_is_not_failed_by_the_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails(self: Index, *rows: object) -> None:
        raise IndexFailed("The index could not be written.")

    install_recording("v171_read_only", Path(os.environ["CODEX_HOME"]))
    async with opened(tmp_path) as workspace:
        async with workspace.freezer.held("look at it", LocalClient()) as thread_id:
            async with workspace.freezer.freeze(thread_id) as frozen:
                await frozen.mint()
                monkeypatch.setattr(Index, "put_rows", fails)
            assert is_free(workspace.layout, f"session:{frozen.session_id}")
            assert is_free(workspace.layout, f"thread:{thread_id}")
        assert any("lag behind" in note for note in workspace.threads.notes)
