"""A thread known only from an agent's file gets streams of its own, once."""

import os
from pathlib import Path

from resumed.daemon.freezing import ensure_thread
from resumed.restore.events.thread import SessionLinked, ThreadMeta
from tests.support.codex import install_recording
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
