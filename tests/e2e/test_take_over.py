"""Taking over a thread that another process has: asked for, given when nothing is open, never torn away."""

from pathlib import Path
from typing import Any

import pytest

from resumed.daemon.rpc.client import Client
from resumed.daemon.runtime import state_folder
from resumed.daemon.storage.layout import Layout
from resumed.daemon.storage.lease import holder_of
from resumed.protocol.errors import ErrorCode, ResumedError
from resumed.protocol.keeping import ThreadReleaseAsked, ThreadReleaseParams, ThreadReleaseResult
from resumed.protocol.sessions import (
    AgentInfo,
    SessionEndParams,
    SessionStartParams,
    SessionStartResult,
    TurnCompleteParams,
    TurnStartParams,
)
from tests.support.command_line import run, stopping_daemons
from tests.support.killed_agent import read
from tests.support.wire import wait_for
from tests.support.workspace import Person, client, serving, suggested


async def started(agent: Client, folder: Path, **more: Any) -> SessionStartResult:
    start = SessionStartParams(agent=AgentInfo(name="mender"), cwd=str(folder), name="Round", **more)
    result: SessionStartResult = await agent.call("session/start", start)
    return result


async def asked_by(folder: Path, thread: str) -> ThreadReleaseResult:
    """What Neovim is answered when it asks the daemon of a folder for a thread."""
    async with client(folder, name="Neovim") as other:
        result: ThreadReleaseResult = await other.call(
            "thread/release", ThreadReleaseParams(thread_id=thread)
        )
    return result


def told(person: Person) -> list[tuple[str, bool]]:
    return [(each.by, each.released) for _, each in person.told if isinstance(each, ThreadReleaseAsked)]


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """Two workspaces."""
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    return first, second


async def test_another_process_gives_it_when_its_turn_has_ended(folders: tuple[Path, Path]) -> None:
    first, second = folders
    person = Person(suggested)
    with serving(first), serving(second):
        async with client(first, person, name="mender") as agent:
            session = await started(agent, first)
            turn = await agent.call(
                "turn/start", TurnStartParams(session_id=session.session_id, message="go")
            )
            result = await asked_by(second, session.thread_id)
            assert (result.released, result.asked, result.holder) == (False, True, "mender")
            async with client(second, name="Neovim") as other:
                with pytest.raises(ResumedError) as refused:
                    await started(other, second, thread_id=session.thread_id)
                assert refused.value.code is ErrorCode.THREAD_BUSY
                assert refused.value.data.ways == ("thread/release",)
            done = TurnCompleteParams(
                session_id=session.session_id, turn_id=turn.turn_id, token=turn.token, message="done"
            )
            await agent.call("turn/complete", done)
            assert holder_of(Layout.open(state_folder()), session.thread_id) is None
            async with client(second, name="Neovim") as other:
                taken = await started(other, second, thread_id=session.thread_id)
                assert taken.resumed_from == session.session_id
                with pytest.raises(ResumedError) as gone:
                    await agent.call("session/end", SessionEndParams(session_id=session.session_id))
                assert gone.value.code is ErrorCode.SESSION_NOT_FOUND
            assert told(person) == [("Neovim", False), ("Neovim", True)]


async def test_a_process_that_was_killed_is_not_asked(folders: tuple[Path, Path]) -> None:
    first, second = folders
    with serving(first) as holder, serving(second):
        async with client(first, name="mender") as agent:
            session = await started(agent, first)
            holder.kill()
        result = await asked_by(second, session.thread_id)
        assert (result.released, result.asked) == (True, False)
        assert Layout.open(state_folder()).lease_path(session.thread_id).stat().st_size, "its hint is left"


async def test_both_may_read_while_one_has_it(folders: tuple[Path, Path]) -> None:
    first, second = folders
    with serving(first), serving(second):
        async with client(first, name="mender") as agent:
            session = await started(agent, first)
            assert (await read(second, session.thread_id)).state == "running"
            assert (await read(second, session.thread_id)).damage == ()


async def test_taken_over_from_the_command_line(folders: tuple[Path, Path]) -> None:
    first, _ = folders
    with stopping_daemons(), serving(first):
        async with client(first, name="mender") as agent:
            session = await started(agent, first)
            turn = await agent.call(
                "turn/start", TurnStartParams(session_id=session.session_id, message="go")
            )
            busy = run(first, "resume", "Round", "--defaults")
            assert busy.returncode == 1
            assert "--take-over" in busy.stderr
            asked = run(first, "resume", "Round", "--defaults", "--take-over")
            assert asked.returncode == 1
            assert "mender was asked to let this conversation go" in asked.stderr
            done = TurnCompleteParams(session_id=session.session_id, turn_id=turn.turn_id, token=turn.token)
            await agent.call("turn/complete", done)
        wait_for(lambda: holder_of(Layout.open(state_folder()), session.thread_id) is None)
        taken = run(first, "resume", "Round", "--defaults", "--take-over")
        assert "was asked" not in taken.stderr
        assert "open elsewhere" not in taken.stderr
