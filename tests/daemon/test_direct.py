"""Turns, operations and events of a run: durable, once, and refused with a reason."""

import asyncio
import contextlib
import hashlib
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from resumed.daemon import direct
from resumed.daemon.live import Live
from resumed.daemon.runtime import state_folder
from resumed.daemon.storage.errors import EventConflict
from resumed.daemon.storage.layout import Layout
from resumed.protocol.errors import ErrorCode, ResumedError
from resumed.protocol.ids import InvalidId
from resumed.protocol.sessions import (
    AgentInfo,
    EventAppendParams,
    OperationBeginParams,
    OperationCommitParams,
    SessionStartParams,
    TurnCompleteParams,
    TurnStartParams,
)
from resumed.restore.events.session import EntryAdded, OperationBegun
from tests.support.parts import LocalClient, opened
from tests.support.sync_gate import SyncGate

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


@pytest.mark.parametrize("other", [{"paths": ("b.txt",)}, {"paths": ()}, {"kind": "read"}])
async def test_the_same_id_for_another_call_is_a_conflict(tmp_path: Path, other: dict[str, Any]) -> None:
    async with _run(tmp_path) as live:
        call = _edit(live)
        await direct.begin_operation(live, call)
        commit = OperationCommitParams(session_id=live.session_id, operation_id="op-1")
        for settle in (False, True):
            if settle:
                await direct.commit_operation(live, commit)
            before = live.last_durable
            with pytest.raises(ResumedError) as conflict:
                await direct.begin_operation(live, msgspec.structs.replace(call, **other))
            assert conflict.value.code is ErrorCode.OPERATION_CONFLICT
            assert live.last_durable == before
            same = msgspec.structs.replace(call, paths=(str(tmp_path / "a.txt"), "./a.txt"))
            assert (await direct.begin_operation(live, same)).repeated


OTHERWISE: list[dict[str, Any]] = [
    {"state": "failed"},
    {"exit_code": 1},
    {"result": "none"},
    {"result": None, "state": "failed"},
]


@pytest.mark.parametrize("other", OTHERWISE)
async def test_a_call_settled_again_otherwise_is_a_conflict(tmp_path: Path, other: dict[str, Any]) -> None:
    async with _run(tmp_path) as live:
        await direct.begin_operation(live, _edit(live))
        commit = OperationCommitParams(session_id=live.session_id, operation_id="op-1", result="done")
        await direct.commit_operation(live, commit)
        before = live.last_durable
        with pytest.raises(ResumedError) as conflict:
            await direct.commit_operation(live, msgspec.structs.replace(commit, **other))
        assert conflict.value.code is ErrorCode.OPERATION_CONFLICT
        assert live.last_durable == before
        silent = msgspec.structs.replace(commit, result=None)
        for same in (commit, silent):
            assert (await direct.commit_operation(live, same)).repeated
        assert live.last_durable == before


async def test_a_result_that_was_not_written_with_its_state_is_kept_when_sent_again(tmp_path: Path) -> None:
    async with _run(tmp_path) as live:
        await direct.begin_operation(live, _edit(live))
        commit = OperationCommitParams(session_id=live.session_id, operation_id="op-1")
        await direct.commit_operation(live, commit)
        whole = msgspec.structs.replace(commit, result="done")
        assert (await direct.commit_operation(live, whole)).repeated
        assert (await direct.begin_operation(live, _edit(live))).result == "done"


@pytest.mark.parametrize("other", [{"status": "failed"}, {"message": "no"}, {"message": ""}])
async def test_a_turn_ended_again_otherwise_is_a_conflict(tmp_path: Path, other: dict[str, Any]) -> None:
    async with _run(tmp_path) as live:
        begun = await direct.start_turn(live, _turn(live), KEY)
        done = TurnCompleteParams(
            session_id=live.session_id, turn_id=begun.turn_id, token=begun.token, message="yes"
        )
        await direct.complete_turn(live, done, KEY)
        before = live.last_durable
        with pytest.raises(ResumedError) as conflict:
            await direct.complete_turn(live, msgspec.structs.replace(done, **other), KEY)
        assert conflict.value.code is ErrorCode.EVENT_CONFLICT
        assert live.last_durable == before
        assert (await direct.complete_turn(live, done, KEY)).repeated


async def test_relative_paths_are_those_of_the_folder_in_which_a_call_was_announced(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    async with _run(tmp_path) as live:
        await direct.begin_operation(live, _edit(live))
        live.place.cwd = str(tmp_path / "sub")
        assert (await direct.begin_operation(live, _edit(live))).repeated


@pytest.mark.parametrize(("path", "said"), [("", "is empty"), ("a\0b", "holds a NUL")])
async def test_what_can_be_no_path_is_refused(tmp_path: Path, path: str, said: str) -> None:
    async with _run(tmp_path) as live:
        call = msgspec.structs.replace(_edit(live), paths=("a.txt", path))
        with pytest.raises(ResumedError) as refused:
            await direct.begin_operation(live, call)
        assert refused.value.code is ErrorCode.INVALID_PARAMS
        assert said in refused.value.sentence


TOKEN = "ghp_" + "a1" * 18


def _on_disk(live: Live) -> bytes:
    path = Layout.open(state_folder()).find_stream(live.stream)
    assert path is not None
    return path.read_bytes()


async def test_secrets_are_masked_before_anything_is_recorded(tmp_path: Path) -> None:
    async with _run(tmp_path) as live:
        masked = live.masker.text(TOKEN)
        turn = await direct.start_turn(
            live, TurnStartParams(session_id=live.session_id, message=f"use {TOKEN}"), KEY
        )
        await direct.begin_operation(live, _edit(live, token=TOKEN, url=f"https://kim:{TOKEN}@example.com"))
        commit = OperationCommitParams(session_id=live.session_id, operation_id="op-1", result=f"set {TOKEN}")
        await direct.commit_operation(live, commit)
        entry = EventAppendParams(
            session_id=live.session_id, event_id=str(uuid.uuid4()), type="entry_added",
            payload={"kind": "message", "role": "assistant", "text": f"I have {TOKEN}"},
        )  # fmt: skip
        assert not (await direct.append_event(live, entry)).repeated
        assert (await direct.append_event(live, entry)).repeated
        done = TurnCompleteParams(
            session_id=live.session_id, turn_id=turn.turn_id, token=turn.token, message=f"It was {TOKEN}"
        )
        await direct.complete_turn(live, done, KEY)
        assert live.operations.results["op-1"] == f"set {masked}"
        recorded = _on_disk(live)
    assert TOKEN.encode() not in recorded
    assert recorded.count(masked.encode()) == 5
    assert hashlib.sha256(f"set {masked}".encode()).hexdigest().encode() in recorded
    assert hashlib.sha256(f"set {TOKEN}".encode()).hexdigest().encode() not in recorded


async def test_a_call_with_a_secret_sent_again_is_the_same_and_with_another_secret_is_not(
    tmp_path: Path,
) -> None:
    other = "ghp_" + "b2" * 18
    async with _run(tmp_path) as live:
        assert not (await direct.begin_operation(live, _edit(live, token=TOKEN))).repeated
        assert (await direct.begin_operation(live, _edit(live, token=TOKEN))).repeated
        for args in (other, live.masker.text(TOKEN)):
            with pytest.raises(ResumedError) as conflict:
                await direct.begin_operation(live, _edit(live, token=args))
            assert conflict.value.code is ErrorCode.OPERATION_CONFLICT
        sent = msgspec.json.encode(("edit", {"token": TOKEN}), order="deterministic")
        # Whoever reads the record can't try out which secret the arguments held.
        assert hashlib.sha256(sent).hexdigest().encode() not in _on_disk(live)


async def test_a_call_on_record_under_other_rules_of_masking_is_still_the_same(tmp_path: Path) -> None:
    async with _run(tmp_path) as live:
        sent = msgspec.json.encode(("edit", {"token": TOKEN}), order="deterministic")
        before = OperationBegun(
            operation_id="old", tool="edit", args_digest=hashlib.sha256(sent).hexdigest(),
            operation_class="write", cwd=str(tmp_path), paths=(str(tmp_path / "a.txt"),),
        )  # fmt: skip
        plain = msgspec.json.encode(("edit", {"text": "x"}), order="deterministic")
        after = msgspec.structs.replace(before, operation_id="new", args_digest=live.masker.keyed(plain))
        await live.append(before, after)
        assert (await direct.begin_operation(live, _edit(live, "old", token=TOKEN))).repeated
        assert (await direct.begin_operation(live, _edit(live, "new", text="x"))).repeated


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
        ("permissions_set", {"cause": "turn", "approval": "always"}, ErrorCode.INVALID_PARAMS),
        ("permissions_set", {"cause": "turn", "sandbox": "none"}, ErrorCode.INVALID_PARAMS),
        ("permissions_set", {"cause": "turn", "mode": "yolo"}, ErrorCode.INVALID_PARAMS),
        ("permissions_set", {"cause": "turn", "directories": ["a\0b"]}, ErrorCode.INVALID_PARAMS),
        (
            "check_recorded",
            {"check_id": "t", "command": "t", "result": "passed", "inputs": {"a\0b": ""}},
            ErrorCode.INVALID_PARAMS,
        ),
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


async def test_a_path_that_can_be_none_is_refused(tmp_path: Path) -> None:
    async with _run(tmp_path) as live:
        params = OperationBeginParams(
            session_id=live.session_id, operation_id="op-1", tool="edit", kind="write", paths=("a\0b",)
        )
        with pytest.raises(ResumedError) as refused:
            await direct.begin_operation(live, params)
        assert refused.value.code is ErrorCode.INVALID_PARAMS
        assert not live.operations.known


async def test_an_input_that_cannot_be_read_stays_without_a_digest(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    async with _run(tmp_path) as live:
        long = "x" * 4000
        payload = {
            "check_id": "t",
            "command": "pytest",
            "result": "passed",
            "inputs": {"a.txt": "", long: ""},
        }
        params = EventAppendParams(
            session_id=live.session_id, event_id=str(uuid.uuid4()), type="check_recorded", payload=payload
        )
        await direct.append_event(live, params)
        inputs = live.state("verifier").checks["t"].inputs
        assert inputs[long] == ""
        assert len(inputs["a.txt"]) == 64


async def test_a_turn_sent_again_is_answered_whatever_is_open_and_never_changed(tmp_path: Path) -> None:
    async with _run(tmp_path) as live:
        event_id = str(uuid.uuid4())
        first = await direct.start_turn(live, _turn(live, event_id), KEY)
        other = msgspec.structs.replace(_turn(live, event_id), message="stop")
        with pytest.raises(EventConflict):
            await direct.start_turn(live, other, KEY)
        done = TurnCompleteParams(session_id=live.session_id, turn_id=first.turn_id, token=first.token)
        await direct.complete_turn(live, done, KEY)
        second = await direct.start_turn(live, _turn(live), KEY)
        before = live.last_durable
        assert await direct.start_turn(live, _turn(live, event_id), KEY) == first
        with pytest.raises(EventConflict):
            await direct.start_turn(live, other, KEY)
        assert (live.last_durable, live.lifecycle.open_turn) == (before, second.turn_id)


async def test_a_turn_of_another_conversation_is_not_ended_here(tmp_path: Path) -> None:
    async with opened(tmp_path) as workspace:
        start = SessionStartParams(agent=AgentInfo(name="mine"), cwd=str(tmp_path))
        one = await workspace.sessions.start(LocalClient("a"), start)
        other = await workspace.sessions.start(LocalClient("b"), start)
        turn = await direct.start_turn(one, _turn(one), KEY)
        crossed = TurnCompleteParams(session_id=other.session_id, turn_id=turn.turn_id, token=turn.token)
        with pytest.raises(ResumedError) as refused:
            await direct.complete_turn(other, crossed, KEY)
        assert refused.value.code is ErrorCode.TURN_NOT_FOUND


async def test_an_operation_whose_request_was_cancelled_is_begun_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = SyncGate(monkeypatch)
    async with _run(tmp_path) as live:
        gate.shut()
        beginning = asyncio.create_task(direct.begin_operation(live, _edit(live)))
        await gate.until_reached()
        beginning.cancel()
        gate.open.set()
        with pytest.raises(asyncio.CancelledError):
            await beginning
        before = live.last_durable
        assert (await direct.begin_operation(live, _edit(live))).repeated
        assert live.last_durable == before


async def test_an_entry_has_an_id_and_a_parent(tmp_path: Path) -> None:
    async with opened(tmp_path) as workspace:
        start = SessionStartParams(agent=AgentInfo(name="mine"), cwd=str(tmp_path))
        live = await workspace.sessions.start(LocalClient(), start)
        turn = await direct.start_turn(live, _turn(live), KEY)
        named = _entry(live, id="call-1", parent_id=turn.entry_id)
        assert (await direct.append_event(live, named)).id == "call-1"
        assert (await direct.append_event(live, named)).repeated
        with pytest.raises(ResumedError) as conflict:
            await direct.append_event(live, msgspec.structs.replace(named, id="call-2"))
        assert conflict.value.code is ErrorCode.EVENT_CONFLICT
        minted = _entry(live)
        entry_id = (await direct.append_event(live, minted)).id
        assert entry_id
        assert (await direct.append_event(live, minted)).id == entry_id
        done = TurnCompleteParams(
            session_id=live.session_id, turn_id=turn.turn_id, token=turn.token, message="ok"
        )
        answer = (await direct.complete_turn(live, done, KEY)).entry_id
        assert (await direct.complete_turn(live, done, KEY)).entry_id == answer
        entries = [e for e in workspace.streams.read(live.stream) if isinstance(e.payload, EntryAdded)]
        assert [e.id for e in entries] == [turn.entry_id, "call-1", entry_id, answer]
        assert entries[1].parent_id == turn.entry_id


async def test_only_an_entry_has_an_id(tmp_path: Path) -> None:
    async with _run(tmp_path) as live:
        named = EventAppendParams(
            session_id=live.session_id, event_id=str(uuid.uuid4()), type="model_set",
            payload={"model": "m", "cause": "turn"}, id="one",
        )  # fmt: skip
        bad = _entry(live, id="../x")
        for params, code in ((named, ResumedError), (bad, InvalidId)):
            with pytest.raises(code):
                await direct.append_event(live, params)


def _entry(live: Live, id: str | None = None, parent_id: str | None = None) -> EventAppendParams:
    return EventAppendParams(
        session_id=live.session_id, event_id=str(uuid.uuid4()), type="entry_added",
        payload={"kind": "call", "role": "assistant", "text": "ls"}, id=id, parent_id=parent_id,
    )  # fmt: skip
