"""A list is edited by its agent and by a person, and neither overwrites what it has not seen."""

import asyncio
import os
from pathlib import Path

import pytest

from resumed.daemon.storage.errors import EventRefused
from resumed.protocol.errors import ErrorCode, ResumedError
from resumed.protocol.sessions import AgentInfo, SessionStartParams, TodosUpdateParams
from resumed.protocol.threads import TodoView
from tests.support.codex import install_recording
from tests.support.locks import is_free
from tests.support.parts import LocalClient, opened

ITEMS = (TodoView(id="1", text="Round", status="completed"), TodoView(id="2", text="Test", status="pending"))
PLANNED = "01a22d90-ee2f-7440-815e-7ac7007a1160"


async def test_an_agent_replaces_its_list_in_its_run(tmp_path: Path) -> None:
    async with opened(tmp_path) as workspace:
        client = LocalClient()
        params = SessionStartParams(agent=AgentInfo(name="mine"), cwd=str(tmp_path))
        live = await workspace.sessions.start(client, params)
        update = TodosUpdateParams(items=ITEMS, session_id=live.session_id, explanation="why")
        thread_id, todos = await workspace.todo_lists.update(client, update)
        assert thread_id == live.thread_id
        assert (todos.items, todos.explanation) == (ITEMS, "why")
        with pytest.raises(ResumedError) as stale:
            await workspace.todo_lists.update(
                LocalClient("b"), TodosUpdateParams(items=(), thread_id=thread_id, base_revision="old")
            )
        assert stale.value.code is ErrorCode.REVISION_STALE
        person = TodosUpdateParams(items=ITEMS[:1], thread_id=thread_id, base_revision=todos.revision)
        _, edited = await workspace.todo_lists.update(LocalClient("b"), person)
        assert [item.id for item in edited.items] == ["1"]


async def test_a_person_edits_an_agents_list_between_runs(tmp_path: Path) -> None:
    path = install_recording("v104_resumed_with_update_plan", Path(os.environ["CODEX_HOME"]))
    before = path.read_bytes()
    async with opened(tmp_path) as workspace:
        await workspace.threads.find(PLANNED)
        planned = await workspace.todo_lists.read(PLANNED)
        assert len(planned.items) == 3
        update = TodosUpdateParams(items=ITEMS, thread_id=PLANNED, base_revision=planned.revision)
        _, edited = await workspace.todo_lists.update(LocalClient(), update)
        assert edited.items == ITEMS
        assert workspace.leases.count == 0
        assert is_free(workspace.layout, f"thread:{PLANNED}")
    assert path.read_bytes() == before
    async with opened(tmp_path) as workspace:
        assert (await workspace.todo_lists.read(PLANNED)).items == ITEMS


async def test_what_cannot_be_a_list_is_refused(tmp_path: Path) -> None:
    async with opened(tmp_path) as workspace:
        bad = TodosUpdateParams(items=(TodoView(id="1", text="x", status="someday"),), thread_id=PLANNED)
        for params in (bad, TodosUpdateParams(items=ITEMS)):
            with pytest.raises(ResumedError) as refused:
                await workspace.todo_lists.update(LocalClient(), params)
            assert refused.value.code is ErrorCode.INVALID_PARAMS


async def test_of_two_edits_of_one_list_the_second_is_refused_and_nothing_stays_held(tmp_path: Path) -> None:
    install_recording("v104_resumed_with_update_plan", Path(os.environ["CODEX_HOME"]))
    async with opened(tmp_path) as workspace:
        await workspace.threads.find(PLANNED)
        planned = await workspace.todo_lists.read(PLANNED)
        edits = [
            TodosUpdateParams(items=items, thread_id=name, base_revision=planned.revision)
            for items, name in ((ITEMS, PLANNED), (ITEMS[:1], PLANNED.upper()))
        ]
        outcomes = await asyncio.gather(
            *(workspace.todo_lists.update(LocalClient(), edit) for edit in edits), return_exceptions=True
        )
        (refused,) = [each for each in outcomes if isinstance(each, BaseException)]
        assert isinstance(refused, ResumedError)
        assert refused.code is ErrorCode.REVISION_STALE
        assert is_free(workspace.layout, f"thread:{PLANNED}")
        huge = TodosUpdateParams(
            items=(TodoView(id="1", text="x" * (65 << 20), status="pending"),), thread_id=PLANNED
        )
        with pytest.raises(EventRefused):
            await workspace.todo_lists.update(LocalClient(), huge)
        assert workspace.leases.count == 0
        assert is_free(workspace.layout, f"thread:{PLANNED}")
