"""Whatever is lost of our own records: no conversation is shown as whole, none is called something else."""

from collections.abc import Callable
from pathlib import Path

import pytest

from resumed.protocol.errors import ErrorCode, ResumedError
from resumed.protocol.restore import Outcome
from resumed.protocol.resume import DriftCheckParams, ThreadResumeParams
from resumed.protocol.threads import ThreadListParams
from tests.support.scenario import read
from tests.support.workspace import client, resume_unattended
from tests.support.world import inhabited


def _emptied(path: Path) -> None:
    path.write_bytes(b"")


def _flipped(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[30] ^= 1
    path.write_bytes(content)


LOSSES = [Path.unlink, _emptied, _flipped]


@pytest.mark.parametrize("lose", LOSSES)
@pytest.mark.parametrize("index", ["kept", "lost"])
async def test_a_run(lose: Callable[[Path], None], index: str, tmp_path: Path) -> None:
    with inhabited(tmp_path) as world:
        world.payments()
        thread = await world.work("payments")
        world.serve("payments")
        whole = await read(world.home / "payments", thread)
        world.let_go()
        (stream,) = world.state.glob("sessions/*/*/*/*.jsonl")
        lose(stream)
        for path in world.state.glob("workspaces/*/index-v*.db") if index == "lost" else ():
            path.unlink()
        place = world.serve("payments")
        shown = await read(place, thread)
        assert len(shown.damage) == 1
        assert shown.not_resumable is not None
        if lose is _flipped:
            assert (shown.place.root, shown.conversation) == (whole.place.root, whole.conversation)
        async with client(place) as connection:
            (row,) = (await connection.call("thread/list", ThreadListParams(scope="all"))).threads
            assert row.damaged
            if lose is _flipped or index == "kept":
                assert row.root == whole.place.root
            for method, params in (
                ("drift/check", DriftCheckParams(thread=thread)),
                ("thread/resume", ThreadResumeParams(thread=thread)),
            ):
                with pytest.raises(ResumedError) as refused:
                    await connection.call(method, params)
                assert refused.value.code is ErrorCode.STATE_READ_ONLY
                assert refused.value.sentence.startswith("This conversation can only be read: ")


@pytest.mark.parametrize("lose", [Path.unlink, _emptied])
@pytest.mark.parametrize("index", ["kept", "lost"])
async def test_the_list_of_runs(lose: Callable[[Path], None], index: str, tmp_path: Path) -> None:
    with inhabited(tmp_path) as world:
        world.payments()
        thread = await world.work("payments")
        world.let_go()
        (stream,) = world.state.glob("threads/*.jsonl")
        lose(stream)
        for path in world.state.glob("workspaces/*/index-v*.db") if index == "lost" else ():
            path.unlink()
        place = world.serve("payments")
        shown = await read(place, thread)
        assert len(shown.runs) == 1
        (sentence,) = shown.damage
        report = await resume_unattended(place, thread)
        assert report.outcome is not Outcome.RESTORED
        assert sentence in report.record.damage
        # The runs are listed again, by what they say of themselves.
        again = await read(place, thread)
        assert [run.session_id for run in again.runs][:1] == [shown.runs[0].session_id]
        assert again.damage == ()


@pytest.mark.parametrize("lose", LOSSES)
async def test_the_description_of_the_place(lose: Callable[[Path], None], tmp_path: Path) -> None:
    with inhabited(tmp_path) as world:
        world.payments()
        thread = await world.work("payments")
        world.let_go()
        for stream in world.state.glob("worktrees/*.jsonl"):
            lose(stream)
        place = world.serve("payments")
        async with client(place) as connection:
            checked = await connection.call("drift/check", DriftCheckParams(thread=thread))
        assert [drift.kind for drift in checked.drifts if drift.subsystem == "worktree"] == []
        damage = (await read(place, thread)).damage
        assert len(damage) == (0 if lose is Path.unlink else 1)
