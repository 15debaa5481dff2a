"""Turns, operations and events of a run: durable, once, and refused with a reason."""

import contextlib
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from resumed.daemon import direct
from resumed.daemon.live import Live
from resumed.protocol.errors import ErrorCode, ResumedError
from resumed.protocol.sessions import (
    AgentInfo,
    EventAppendParams,
    OperationBeginParams,
    OperationCommitParams,
    SessionStartParams,
    TurnCompleteParams,
    TurnStartParams,
)
from tests.support.parts import LocalClient, opened

KEY = b"k" * 32


@contextlib.asynccontextmanager
async def _run(folder: Path) -> AsyncIterator[Live]:
    async with opened(folder) as workspace:
        params = SessionStartParams(agent=AgentInfo(name="mine"), cwd=str(folder))
        yield await workspace.sessions.start(LocalClient(), params)


def _turn(live: Live, event_id: str | None = None) -> TurnStartParams:
    return TurnStartParams(session_id=live.session_id, message="go", event_id=event_id)


def _edit(live: Live, operation_id: str = "op-1", **args: str) -> OperationBeginParams:
    return OperationBeginParams(
        session_id=live.session_id, operation_id=operation_id, tool="edit", args=dict(args), kind="write",
        paths=("a.txt",),
    )  # fmt: skip


async def test_a_turn_is_begun_once_and_completed_once(tmp_path: Path) -> None:
    async with _run(tmp_path) as live:
        event_id = str(uuid.uuid4())
        first = await direct.start_turn(live, _turn(live, event_id), KEY)
        assert await direct.start_turn(live, _turn(live, event_id), KEY) == first
        with pytest.raises(ResumedError) as busy:
            await direct.start_turn(live, _turn(live), KEY)
        assert busy.value.code is ErrorCode.TURN_BUSY
        done = TurnCompleteParams(session_id=live.session_id, turn_id=first.turn_id, token=first.token)
        assert not (await direct.complete_turn(live, done, KEY)).repeated
        assert (await direct.complete_turn(live, done, KEY)).repeated
        wrong = TurnCompleteParams(session_id=live.session_id, turn_id=first.turn_id, token="0" * 32)
        with pytest.raises(ResumedError) as refused:
            await direct.complete_turn(live, wrong, KEY)
        assert refused.value.code is ErrorCode.TURN_NOT_FOUND


async def test_an_operation_has_its_effect_once_in_every_state(tmp_path: Path) -> None:
    async with _run(tmp_path) as live:
        assert not (await direct.begin_operation(live, _edit(live))).repeated
        again = await direct.begin_operation(live, _edit(live))
        assert (again.state, again.repeated) == ("begun", True)
        (tmp_path / "a.txt").write_text("new")
        commit = OperationCommitParams(session_id=live.session_id, operation_id="op-1", result="done")
        assert (await direct.commit_operation(live, commit)).state == "committed"
        before = live.last_durable
        settled = await direct.begin_operation(live, _edit(live))
        assert (settled.state, settled.repeated, settled.result) == ("committed", True, "done")
        assert (await direct.commit_operation(live, commit)).repeated
        assert live.last_durable == before
        touched = live.operations.files[str(tmp_path / "a.txt")]
        assert (touched.change, touched.before) == ("add", "absent")


async def test_the_same_id_with_other_arguments_is_a_conflict(tmp_path: Path) -> None:
    async with _run(tmp_path) as live:
        await direct.begin_operation(live, _edit(live, text="one"))
        before = live.last_durable
        with pytest.raises(ResumedError) as conflict:
            await direct.begin_operation(live, _edit(live, text="two"))
        assert conflict.value.code is ErrorCode.OPERATION_CONFLICT
        assert live.last_durable == before


async def test_an_unknown_operation_is_not_settled(tmp_path: Path) -> None:
    async with _run(tmp_path) as live:
        with pytest.raises(ResumedError) as refused:
            await direct.commit_operation(
                live, OperationCommitParams(session_id=live.session_id, operation_id="never")
            )
        assert refused.value.code is ErrorCode.OPERATION_NOT_FOUND


@pytest.mark.parametrize(
    ("kind", "payload", "code"),
    [
        ("session_meta", {}, ErrorCode.EVENT_REFUSED),
        ("restore_closed", {"restore_id": "r", "outcome": "restored"}, ErrorCode.EVENT_REFUSED),
        ("no_such_event", {}, ErrorCode.EVENT_REFUSED),
        ("usage_recorded", {"usage_id": "u"}, ErrorCode.INVALID_PARAMS),
        ("usage_recorded", {"usage_id": "u", "input_tokens": "3"}, ErrorCode.INVALID_PARAMS),
    ],
)
async def test_what_may_not_be_appended_is_refused(
    tmp_path: Path, kind: str, payload: dict[str, object], code: ErrorCode
) -> None:
    async with _run(tmp_path) as live:
        before = live.last_durable
        params = EventAppendParams(
            session_id=live.session_id, event_id=str(uuid.uuid4()), type=kind, payload=payload
        )
        with pytest.raises(ResumedError) as refused:
            await direct.append_event(live, params)
        assert refused.value.code is code
        assert live.last_durable == before


async def test_a_repeated_event_is_answered_and_a_checks_inputs_are_hashed(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    async with _run(tmp_path) as live:
        payload = {"check_id": "t", "command": "pytest", "result": "failed", "inputs": {"a.txt": ""}}
        params = EventAppendParams(
            session_id=live.session_id, event_id=str(uuid.uuid4()), type="check_recorded", payload=payload
        )
        first = await direct.append_event(live, params)
        second = await direct.append_event(live, params)
        assert (second.seq, second.repeated) == (first.seq, True)
        state = live.state("verifier")
        assert "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881" in repr(state)
