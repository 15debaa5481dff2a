"""A state folder that is taken away under a running daemon, or closed to it: said, and begun anew."""

import os
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from resumed.daemon.application import open_application
from resumed.protocol.daemon import StatusParams
from resumed.protocol.errors import ErrorCode, ResumedError
from resumed.protocol.sessions import (
    AgentInfo,
    EventAppendParams,
    SessionEndParams,
    SessionStartParams,
    SessionStartResult,
    TurnStartParams,
)
from resumed.protocol.threads import NameSetParams
from tests.support.command_line import AS_LEFT, recorded_workspace, run, stopping_daemons
from tests.support.parts import Hearing, LocalClient
from tests.support.workspace import client, serving


@pytest.fixture
def state(hermetic_home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The state folder of every daemon that the test starts; they are stopped at the end."""
    folder = hermetic_home / "state"
    monkeypatch.setenv("RESUMED_HOME", str(folder))
    with stopping_daemons():
        yield folder


@pytest.mark.parametrize("how", ["removed", "moved away", "replaced"])
def test_the_next_command_begins_anew(hermetic_home: Path, state: Path, how: str) -> None:
    workspace = recorded_workspace(hermetic_home, ("v171_on_request_two_turns",))
    assert AS_LEFT in run(workspace, "threads").stdout
    if how == "moved away":
        state.rename(state.with_name("elsewhere"))
    else:
        shutil.rmtree(state)
    if how == "replaced":
        state.mkdir(mode=0o700)
    named = run(workspace, "name", AS_LEFT, "Mended")
    assert (named.returncode, named.stderr) == (0, "")
    assert "Mended" in run(workspace, "threads").stdout
    assert "✓ kept safely" in run(workspace, "status").stdout
    assert list(state.glob("threads/*.jsonl"))
    assert (state / "layout.json").exists()


async def test_a_run_that_is_open_is_told_at_each_write(tmp_path: Path, state: Path) -> None:
    with serving(tmp_path) as daemon:
        async with client(tmp_path, name="mender") as agent:
            start = SessionStartParams(agent=AgentInfo(name="mender"), cwd=str(tmp_path))
            session = await agent.call("session/start", start)
            shutil.rmtree(state)
            writes = (
                ("turn/start", TurnStartParams(session_id=session.session_id, message="go on")),
                (
                    "event/append",
                    EventAppendParams(
                        session_id=session.session_id,
                        event_id=str(uuid.uuid4()),
                        type="model_set",
                        payload={"model": "m", "cause": "user"},
                    ),
                ),
                ("session/end", SessionEndParams(session_id=session.session_id)),
                ("session/start", start),
            )
            for method, params in writes:
                with pytest.raises(ResumedError) as refusal:
                    await agent.call(method, params)
                assert refusal.value.code is ErrorCode.STORAGE_FAILED, method
                assert refusal.value.sentence == f"The state folder {state} is not there any more."
            status = await agent.call("daemon/status", StatusParams())
            assert status.storage == "failing"
            assert status.notes[0] == f"The state folder {state} is not there any more."
            assert not state.exists()
        assert daemon.wait_ended() == 0
        assert not state.exists()


async def test_a_folder_that_may_not_be_written_any_more(
    tmp_path: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    application = await open_application(str(tmp_path), Hearing(), 0o022)
    assert application.status_fields().storage == "ok"
    # Whoever runs the tests may write everywhere, so what the system would say stands in.
    with monkeypatch.context() as closed:
        closed.setattr(os, "access", lambda path, mode: False)
        fields = application.status_fields()
    assert fields.storage == "failing"
    assert fields.notes[0] == f"{state} can't be written: Permission denied."
    await application.close()


async def test_what_the_disk_refused_last_is_said_until_a_write_succeeds(tmp_path: Path, state: Path) -> None:
    application = await open_application(str(tmp_path), Hearing(), 0o022)
    name = application.handlers["thread/name/set"]
    started = await application.handlers["session/start"](
        LocalClient(), SessionStartParams(agent=AgentInfo(name="a"), cwd=str(tmp_path))
    )
    assert isinstance(started, SessionStartResult)
    await application.handlers["session/end"](LocalClient(), SessionEndParams(session_id=started.session_id))
    leases = state / "leases"
    leases.rename(state / "aside")
    leases.write_text("in the way")
    renaming = NameSetParams(thread_id=started.thread_id, name="New")
    with pytest.raises(ResumedError) as refusal:
        await name(LocalClient(), renaming)
    fields = application.status_fields()
    assert (fields.storage, fields.notes[0]) == ("failing", refusal.value.sentence)
    leases.unlink()
    await name(LocalClient(), renaming)
    assert (application.status_fields().storage, application.status_fields().notes) == ("ok", ())
    await application.close()
