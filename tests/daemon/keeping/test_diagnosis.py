"""Damage of one layer shows in that layer alone."""

from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from resumed.daemon import record_checkpoint
from resumed.daemon.keeping.diagnosis import diagnose
from resumed.daemon.workspace import Workspace
from resumed.protocol.keeping import DiagnosedLayer
from resumed.protocol.sessions import AgentInfo, SessionStartParams
from resumed.restore.events.session import EntryAdded, UsageRecorded
from tests.support.machines import CLIENT
from tests.support.parts import opened


@pytest.fixture
async def workspace(tmp_path: Path) -> AsyncIterator[Workspace]:
    """A workspace with one thread, long enough that its fold was put aside."""
    async with opened(tmp_path) as workspace:
        start = SessionStartParams(agent=AgentInfo(name="mender"), cwd=str(tmp_path), name="Round")
        live = await workspace.sessions.start(CLIENT, start)
        for number in range(80):
            usage = UsageRecorded(usage_id=str(number), input_tokens=1, cached_tokens=0, output_tokens=1)
            await live.append(EntryAdded(kind="message", role="user", text=str(number)), usage)
        await workspace.sessions.end(live, "exit")
        await workspace.threads.look_again()
        yield workspace


async def differing(workspace: Workspace) -> dict[str, DiagnosedLayer]:
    result = await diagnose(workspace.threads, workspace.store, "round")
    assert [layer.name for layer in result.layers] == ["history", "metadata", "subsystems", "context"]
    return {layer.name: layer for layer in result.layers if layer.differences}


async def change_checkpoint(workspace: Workspace, name: str, **fields: object) -> None:
    """Let what was folded before say something else of one subsystem."""
    row = await workspace.threads.find("round")
    body = await workspace.store.index.checkpoint(row.thread_id)
    assert body is not None
    checkpoint = record_checkpoint.unpack(body)
    assert checkpoint is not None
    for field, value in fields.items():
        setattr(checkpoint.states[name], field, value)
    await workspace.store.index.put_checkpoint(
        row.thread_id, row.thread_id, "", record_checkpoint.pack(checkpoint)
    )


async def test_a_sound_thread_differs_nowhere(workspace: Workspace) -> None:
    assert await differing(workspace) == {}


async def test_a_damaged_record_is_the_history(workspace: Workspace) -> None:
    (run,) = workspace.layout.sessions.rglob("rollout-*")
    lines = run.read_bytes().splitlines(keepends=True)
    run.write_bytes(b"".join((*lines[:-2], b"\0\n", lines[-1])))
    await workspace.threads.look_again()
    (layer,) = (await differing(workspace)).values()
    assert layer.name == "history"
    assert "can't be read" in layer.differences[0].actual
    result = await diagnose(workspace.threads, workspace.store, "round")
    assert [each.judged for each in result.layers] == [True, False, False, False]


async def test_a_row_that_says_something_else_is_the_metadata(workspace: Workspace) -> None:
    row = await workspace.threads.find("round")
    await workspace.store.index.put_rows([msgspec.structs.replace(row, branch="elsewhere")])
    (layer,) = (await differing(workspace)).values()
    assert layer.name == "metadata"
    assert [(each.what, each.actual) for each in layer.differences] == [("branch", "'elsewhere'")]


async def test_a_part_of_the_state_that_was_folded_wrongly_is_a_subsystem(workspace: Workspace) -> None:
    await change_checkpoint(workspace, "model", model="another")
    (layer,) = (await differing(workspace)).values()
    assert layer.name == "subsystems"
    assert [each.what for each in layer.differences] == ["model"]


async def test_another_window_of_the_model_is_the_context(workspace: Workspace) -> None:
    await change_checkpoint(workspace, "conversation", window_start=70)
    (layer,) = (await differing(workspace)).values()
    assert layer.name == "context"
    assert [(each.what, each.expected, each.actual) for each in layer.differences] == [
        ("in_window", "80", "10")
    ]


async def test_looking_changes_nothing(workspace: Workspace) -> None:
    before = {path: path.read_bytes() for path in workspace.layout.stream_files()}
    await differing(workspace)
    assert {path: path.read_bytes() for path in workspace.layout.stream_files()} == before
