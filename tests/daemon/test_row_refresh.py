"""What is durable is answered as done, even when the index fails."""

from pathlib import Path

import pytest

from resumed.daemon.handlers.sessions import turn_complete, turn_start
from resumed.daemon.handlers.threads import thread_name_set
from resumed.daemon.storage.errors import IndexFailed
from resumed.daemon.storage.index import Index
from resumed.protocol.sessions import (
    AgentInfo,
    SessionStartParams,
    TodosUpdateParams,
    TurnCompleteParams,
    TurnStartParams,
)
from resumed.protocol.threads import NameSetParams, TodoView
from tests.support.parts import LocalClient, opened


async def _fails(self: Index, *rows: object) -> None:
    raise IndexFailed("The index could not be written.")


async def test_a_failing_index_fails_no_durable_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(tmp_path) as workspace:
        client = LocalClient()
        start = SessionStartParams(agent=AgentInfo(name="mine"), cwd=str(tmp_path))
        first = await workspace.sessions.start(client, start)
        monkeypatch.setattr(Index, "put_rows", _fails)
        turn = await turn_start(workspace, client, TurnStartParams(session_id=first.session_id, message="go"))
        done = TurnCompleteParams(session_id=first.session_id, turn_id=turn.turn_id, token=turn.token)
        assert not (await turn_complete(workspace, client, done)).repeated
        named = NameSetParams(thread_id=first.thread_id, name="Round")
        assert (await thread_name_set(workspace, client, named)).name == "Round"
        items = (TodoView(id="1", text="Test", status="pending"),)
        await workspace.sessions.end(first, "exit")
        listed = TodosUpdateParams(items=items, thread_id=first.thread_id)
        assert (await workspace.todo_lists.update(client, listed))[1].items == items
        named = NameSetParams(thread_id=first.thread_id, name="")
        assert (await thread_name_set(workspace, client, named)).name == "go"
        assert (await workspace.sessions.start(client, start)).thread_id != first.thread_id
        assert any("lag behind" in note for note in workspace.threads.notes)
