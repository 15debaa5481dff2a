"""Putting threads away: on record first, files after, and nobody else's files ever."""

import os
from pathlib import Path

import pytest

from resumed.daemon.runtime import state_folder
from resumed.daemon.storage import moving
from resumed.daemon.workspace import Workspace
from resumed.protocol.errors import ErrorCode, ResumedError
from resumed.protocol.sessions import AgentInfo, SessionStartParams
from resumed.protocol.threads import ThreadListParams
from resumed.restore.events.thread import ThreadPatched
from tests.support.codex import install_recording
from tests.support.parts import LocalClient, opened

CLIENT = LocalClient()
CODEX = "01a22dbd-6721-7b02-8d3d-d77a010ed4f3"


async def ended_run(workspace: Workspace) -> str:
    """A thread with one run that has ended; its id."""
    start = SessionStartParams(agent=AgentInfo(name="mender"), cwd=workspace.threads.root, name="Round")
    live = await workspace.sessions.start(CLIENT, start)
    await workspace.sessions.end(live, "exit")
    return live.thread_id


async def names(workspace: Workspace, *, archived: bool) -> list[str]:
    params = ThreadListParams(scope="all", archived=archived)
    await workspace.threads.look_again()
    return [summary.thread_id for summary in (await workspace.threads.page(params)).threads]


def files() -> tuple[int, int]:
    """How many files of runs are among the days, and how many are put away."""
    home = state_folder()
    return len(list(home.glob("sessions/*/*/*/*"))), len(list(home.glob("archived_sessions/*")))


async def test_it_goes_and_comes_back_and_is_listed_where_it_is(tmp_path: Path) -> None:
    async with opened(tmp_path) as workspace:
        thread = await ended_run(workspace)
        away = await workspace.archive.move("round", CLIENT.info, archived=True)
        assert (away.thread_id, away.name, away.archived, away.changed) == (thread, "Round", True, True)
        assert files() == (0, 1)
        assert await names(workspace, archived=False) == []
        assert await names(workspace, archived=True) == [thread]
        assert (await workspace.threads.record(thread)).damage == ()
        patches = [
            event.payload.fields
            for event in workspace.streams.read(f"thread:{thread}")
            if isinstance(event.payload, ThreadPatched)
        ]
        assert patches[-1] == {"archived": True, "pinned": False, "snoozed": False}
        again = await workspace.archive.move(thread, CLIENT.info, archived=True)
        assert (again.archived, again.changed) == (True, False)
        back = await workspace.archive.move(thread, CLIENT.info, archived=False)
        assert (back.archived, back.changed) == (False, True)
        assert files() == (1, 0)
        assert await names(workspace, archived=False) == [thread]
        assert workspace.threads.all_notes() == ()


async def test_one_that_is_put_away_goes_on_in_the_archive(tmp_path: Path) -> None:
    async with opened(tmp_path) as workspace:
        thread = await ended_run(workspace)
        await workspace.archive.move(thread, CLIENT.info, archived=True)
        start = SessionStartParams(agent=AgentInfo(name="mender"), cwd=str(tmp_path), thread_id=thread)
        live = await workspace.sessions.start(CLIENT, start)
        with pytest.raises(ResumedError) as refused:
            await workspace.archive.move(thread, CLIENT.info, archived=False)
        assert refused.value.code is ErrorCode.THREAD_BUSY
        await workspace.sessions.end(live, "exit")
        assert await names(workspace, archived=True) == [thread]
        assert len((await workspace.threads.record(thread)).runs) == 2
        assert files() == (1, 1)
    async with opened(tmp_path) as workspace:
        await workspace.tidied()
        assert files() == (0, 2)
        assert workspace.threads.all_notes() == ()


async def test_what_a_kill_left_is_tidied_by_the_next_start(tmp_path: Path) -> None:
    async with opened(tmp_path) as workspace:
        thread = await ended_run(workspace)
        await workspace.archive.move(thread, CLIENT.info, archived=True)
        (session,) = (run.session_id for run in (await workspace.threads.record(thread)).runs)
        # As if the process had ended between the event and the move.
        moving.settle(workspace.layout, session, archived=False)
        await names(workspace, archived=True)
    assert files() == (1, 0)
    async with opened(tmp_path) as workspace:
        await workspace.tidied()
        assert files() == (0, 1)
        assert await names(workspace, archived=True) == [thread]


async def test_an_agents_own_file_never_moves(tmp_path: Path) -> None:
    path = install_recording("v171_on_request_two_turns", Path(os.environ["CODEX_HOME"]))
    before = path.read_bytes(), path.stat().st_mtime_ns
    async with opened(tmp_path) as workspace:
        result = await workspace.archive.move(CODEX, CLIENT.info, archived=True)
        assert result.depends_on == str(path)
        assert await names(workspace, archived=True) == [CODEX]
        assert (path.read_bytes(), path.stat().st_mtime_ns) == before
        assert (await workspace.threads.record(CODEX)).damage == ()


async def test_what_is_on_our_record_counts_before_what_the_agent_says(tmp_path: Path) -> None:
    home = Path(os.environ["CODEX_HOME"])
    path = install_recording("v171_on_request_two_turns", home)
    (home / "archived_sessions").mkdir()
    path.rename(home / "archived_sessions" / path.name)
    async with opened(tmp_path) as workspace:
        assert await names(workspace, archived=True) == [CODEX]
        result = await workspace.archive.move(CODEX, CLIENT.info, archived=True)
        assert not result.changed
        assert not workspace.layout.thread_path(CODEX).exists()
        assert (await workspace.archive.move(CODEX, CLIENT.info, archived=False)).changed
        assert await names(workspace, archived=False) == [CODEX]


async def test_the_disk_that_refuses_is_told_and_it_can_be_done_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(tmp_path) as workspace:
        thread = await ended_run(workspace)

        def full(*_: object, **__: object) -> bool:
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(moving, "settle", full)
            with pytest.raises(Exception, match="No space left"):
                await workspace.archive.move(thread, CLIENT.info, archived=True)
        await workspace.archive.move(thread, CLIENT.info, archived=True)
        assert files() == (0, 1)
