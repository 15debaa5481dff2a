"""A record is the same whether it was read whole or from a checkpoint, and never hides damage."""

import io
import os
import uuid
from pathlib import Path
from typing import Any

import msgspec
import pytest

from resumed.daemon import records
from resumed.daemon.agents.codex import store as store_module
from resumed.daemon.agents.codex.adapter import codex_agent
from resumed.daemon.ingesting import ingested
from resumed.daemon.runtime import state_folder
from resumed.daemon.storage.layout import Layout
from resumed.daemon.storage.streams import Streams
from resumed.restore.events.journal import RestoreClosed
from resumed.restore.events.session import (
    EntryAdded,
    PermissionsSet,
    TurnStarted,
    UsageRecorded,
    WorktreeBound,
)
from resumed.restore.events.thread import SessionLinked, ThreadMeta, ThreadPatched
from tests.support.codex import NAMES, install_recording
from tests.support.own_thread import THREAD, begin_run, begin_thread, event_of, meta_of, open_streams

OWN = records.Source(thread_id=THREAD, agent=None, path=None)


@pytest.mark.parametrize("name", NAMES)
def test_a_checkpoint_changes_nothing_but_the_cost(name: str) -> None:
    path = install_recording(name, Path(os.environ["CODEX_HOME"]))
    content = path.read_bytes()
    lines = content.splitlines(keepends=True)
    source = records.Source(thread_id=THREAD, agent=codex_agent(os.environ), path=path)
    path.write_bytes(b"".join(lines[: len(lines) * 2 // 3]))
    part = records.build(open_streams(), source, None)
    path.write_bytes(content)
    whole = records.build(open_streams(), source, None)
    after = records.build(open_streams(), source, part.checkpoint)
    assert after.record == whole.record
    assert after.lifecycle == whole.lifecycle


async def test_runs_that_came_to_nothing_are_left_out() -> None:
    streams = open_streams()
    await begin_thread(streams)
    first = await begin_run(
        streams, PermissionsSet(cause="start", approval="on-request", sandbox="read-only")
    )
    widened = PermissionsSet(cause="restore", approval="never", sandbox="danger-full-access")
    await begin_run(streams, widened, RestoreClosed(restore_id="r", outcome="rolledBack"), reason="resume")
    await begin_run(streams, widened, reason="resume")
    third = await begin_run(
        streams, PermissionsSet(cause="restore", approval="untrusted"),
        RestoreClosed(restore_id="s", outcome="restored"),
        TurnStarted(turn_id="t"), reason="resume",
    )  # fmt: skip
    record = records.build(streams, OWN, None).record
    assert [run.session_id for run in record.runs] == [first, third]
    permissions = record.states["permissions"]
    assert (permissions.approval, permissions.sandbox) == ("untrusted", "read-only")
    await streams.close()


async def test_of_a_restored_run_that_nobody_took_up_only_the_place_counts() -> None:
    streams = open_streams()
    await begin_thread(streams)
    asks = PermissionsSet(cause="start", approval="never", sandbox="danger-full-access")
    first = await begin_run(streams, asks, TurnStarted(turn_id="t"))
    told = PermissionsSet(cause="restore", approval="on-request", sandbox="read-only")
    moved = WorktreeBound(cwd="/new", cause="userChoice", root="/new")
    closed = RestoreClosed(restore_id="r", outcome="restored")
    second = await begin_run(streams, told, moved, closed, reason="resume")
    source = msgspec.structs.replace(OWN, live=second)
    record = records.build(streams, OWN, None).record
    assert [run.session_id for run in record.runs] == [first, second]
    assert record.states["permissions"].approval == "never"
    assert record.states["worktree"].root == "/new"
    assert record.open_turn
    # With its agent here, or with anything after it, all of it counts.
    opened = records.build(streams, source, None).record
    assert (opened.states["permissions"].approval, opened.open_turn) == ("on-request", False)
    await streams.append(f"session:{second}", event_of(TurnStarted(turn_id="u")))
    assert records.build(streams, OWN, None).record.states["permissions"].approval == "on-request"
    await streams.close()


async def test_a_name_given_between_runs_counts() -> None:
    streams = open_streams()
    await begin_thread(streams)
    await begin_run(streams, TurnStarted(turn_id="t"), EntryAdded(kind="message", role="user", text="do it"))
    assert records.build(streams, OWN, None).record.name == "do it"
    await streams.append(f"thread:{THREAD}", event_of(ThreadPatched(fields={"name": "Payments"})))
    record = records.build(streams, OWN, None).record
    assert record.name == "Payments"
    assert record.open_turn
    await streams.close()


async def test_damage_is_counted_and_degrades_and_survives_a_checkpoint() -> None:
    streams = open_streams()
    await begin_thread(streams)
    usages = [
        UsageRecorded(usage_id=str(n), input_tokens=1, cached_tokens=0, output_tokens=1) for n in range(200)
    ]
    session = await begin_run(streams, *usages)
    await streams.close()
    layout = Layout.open(state_folder())
    path = layout.find_stream(f"session:{session}")
    assert path is not None
    lines = path.read_bytes().splitlines(keepends=True)
    lines[50] = lines[50].replace(b'"input_tokens":1', b'"input_tokens":9')
    path.write_bytes(b"".join(lines))
    built = records.build(open_streams(), OWN, None)
    assert built.record.events_damaged > 0
    assert built.record.damage
    assert built.record.states["cost"].total.input == 199
    assert "cost" in built.record.degraded
    again = records.build(open_streams(), OWN, built.checkpoint)
    assert again.record == built.record


async def test_an_older_event_behind_a_checkpoint_makes_it_read_everything() -> None:
    streams = open_streams()
    await begin_thread(streams)
    usages = [
        UsageRecorded(usage_id=str(n), input_tokens=1, cached_tokens=0, output_tokens=1) for n in range(100)
    ]
    session = await begin_run(streams, *usages)
    saved = records.build(streams, OWN, None).checkpoint
    assert saved is not None
    late = UsageRecorded(usage_id="late", input_tokens=5, cached_tokens=0, output_tokens=0)
    await streams.append(f"session:{session}", event_of(late, at="2026-01-01T00:00:00.000Z"))
    after = records.build(streams, OWN, saved).record
    assert after == records.build(streams, OWN, None).record
    assert after.states["cost"].total.input == 105
    await streams.close()


def _foreign(path: Path | None, **more: Any) -> records.Source:
    return records.Source(thread_id=CODEX, agent=codex_agent(os.environ), path=path, **more)


async def _resumed(streams: Streams, path: Path) -> None:
    meta = ThreadMeta(
        schema_version=1, thread_id=CODEX, agent="codex", storage_class="foreign",
        created_at="2026-11-30T10:00:00.000Z",
    )  # fmt: skip
    await streams.create(f"thread:{CODEX}", event_of(meta))
    session_id = str(uuid.uuid4())
    began = msgspec.structs.replace(meta_of(session_id, "resume"), thread_id=CODEX)
    await streams.create(f"session:{session_id}", event_of(began))
    await streams.append(f"thread:{CODEX}", event_of(SessionLinked(session_id=session_id)))
    store = codex_agent(os.environ).store
    assert store is not None
    read = ingested(path, store, path.stat().st_size, 0)
    await streams.append(
        f"session:{session_id}", event_of(read), event_of(RestoreClosed(restore_id="r", outcome="restored")),
        event_of(TurnStarted(turn_id="t")),
    )  # fmt: skip


async def test_a_place_that_a_restore_left_counts_once_and_makes_no_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(records, "MIN_NEW_EVENTS", 1)
    streams = open_streams()
    await begin_thread(streams)
    await begin_run(streams, PermissionsSet(cause="start", approval="untrusted"))
    cut_off = str(uuid.uuid4())
    await streams.create(f"session:{cut_off}", event_of(meta_of(cut_off, "resume")))
    await streams.append(f"thread:{THREAD}", event_of(SessionLinked(session_id=cut_off)))
    bound = WorktreeBound(cwd="/w", cause="userChoice", root="/w", made=True)
    await streams.append(
        f"session:{cut_off}", event_of(PermissionsSet(cause="resume", approval="never")),
        event_of(RestoreClosed(restore_id="r", outcome="rolledBack")), event_of(bound),
    )  # fmt: skip
    first = records.build(streams, OWN, None)
    assert first.checkpoint is not None
    again = records.build(streams, OWN, first.checkpoint)
    for built in (first, again):
        assert len(built.record.runs) == 1
        assert built.record.states["permissions"].approval == "untrusted"
        assert built.record.states["worktree"].left.made == "/w"
        assert built.record.events_read == first.record.events_read
    await streams.close()


def _short(path: Path) -> str:
    return f"~/{path.relative_to(os.environ['HOME'])}"


CODEX = "01a22dbd-6721-7b02-8d3d-d77a010ed4f3"


async def test_a_foreign_thread_without_its_file_is_damaged_and_never_whole() -> None:
    streams = open_streams()
    path = install_recording("v171_on_request_two_turns", Path(os.environ["CODEX_HOME"]))
    await _resumed(streams, path)
    whole = records.build(streams, _foreign(path), None)
    assert (whole.unread, whole.record.damage, whole.record.depends_on) == ((), (), str(path))
    assert whole.agents_own_lost == ""
    path.unlink()
    for source in (_foreign(path, name="Payments"), _foreign(None, name="Payments")):
        built = records.build(streams, source, whole.checkpoint)
        sentence = f"The agent's own file ({_short(path)}) is gone. What only that file held is missing."
        assert built.unread == built.record.damage == (sentence,)
        assert built.agents_own_lost == sentence
        assert (built.record.name, built.record.depends_on) == ("Payments", None)
        assert built.record.events_damaged == 1
        assert "conversation" in built.record.degraded
        assert built.checkpoint is None
        assert len(built.record.runs) == 1
    await streams.close()


@pytest.mark.parametrize("content", [b"", b"\n\n", b"garbage\n", b'{"type":"other","payload":{}}\n'])
def test_a_file_with_nothing_in_it_is_lost(content: bytes) -> None:
    path = install_recording("v171_on_request_two_turns", Path(os.environ["CODEX_HOME"]))
    path.write_bytes(content)
    built = records.build(open_streams(), _foreign(path), None)
    sentence = f"The agent's own file ({_short(path)}) holds nothing that can be read."
    assert (built.agents_own_lost, built.unread) == (sentence, (sentence,))


async def test_a_file_that_only_the_list_knew_is_lost_by_its_path() -> None:
    path = Path(os.environ["HOME"]) / "rollout.jsonl"
    built = records.build(open_streams(), _foreign(None, listed_at=str(path)), None)
    assert built.agents_own_lost.startswith("The agent's own file (~/rollout.jsonl) is gone.")


@pytest.mark.parametrize("kept", [0, 12])
async def test_a_file_that_lost_its_end_is_never_whole(kept: int) -> None:
    streams = open_streams()
    path = install_recording("v171_on_request_two_turns", Path(os.environ["CODEX_HOME"]))
    await _resumed(streams, path)
    whole = records.build(streams, _foreign(path), None)
    assert whole.unread == ()
    size = path.stat().st_size
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:kept]))
    built = records.build(streams, _foreign(path, name="Payments"), whole.checkpoint)
    there = f"{path.stat().st_size} of {size} bytes are there"
    assert built.unread == built.record.damage
    assert built.unread == (
        f"The agent's own file ({_short(path)}) is shorter than it was: {there}. The rest is missing.",
    )
    # What is left of it the agent can go on from, but not from nothing.
    assert built.agents_own_lost == ("" if kept else built.unread[0])
    assert (built.record.events_damaged, built.checkpoint) == (1, None)
    assert "conversation" in built.record.degraded
    await streams.close()


@pytest.mark.parametrize("more", [b"", b'{"type":"other","payload":{}}\n'])
async def test_a_file_replaced_by_another_is_never_whole(
    more: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "MIN_NEW_EVENTS", 1)
    streams = open_streams()
    path = install_recording("v171_on_request_two_turns", Path(os.environ["CODEX_HOME"]))
    content = path.read_bytes()
    await _resumed(streams, path)
    whole = records.build(streams, _foreign(path), None)
    assert whole.unread == ()
    assert whole.checkpoint is not None
    path.write_bytes(content.replace(b"fix the rounding", b"mow the meadows!") + more)
    for saved in (None, whole.checkpoint):
        built = records.build(streams, _foreign(path), saved)
        assert built.unread == built.record.damage
        assert built.unread == (
            f"The agent's own file ({_short(path)}) is not the one that was read before: "
            f"its first {len(content)} bytes are others. What only the earlier one held is missing.",
        )
        assert (built.record.events_damaged, built.checkpoint) == (1, None)
        assert "conversation" in built.record.degraded
    path.write_bytes(content + more)
    for saved in (None, whole.checkpoint):
        assert records.build(streams, _foreign(path), saved).record.damage == ()
    await streams.close()


async def test_a_checkpoint_of_other_content_does_not_stand_for_what_was_read() -> None:
    streams = open_streams()
    path = install_recording("v171_on_request_two_turns", Path(os.environ["CODEX_HOME"]))
    content = path.read_bytes() + b"".join(path.read_bytes().splitlines(keepends=True)[1:])
    other = content.replace(b"fix the rounding", b"mow the meadows!")
    path.write_bytes(other)
    saved = records.build(streams, _foreign(path), None).checkpoint
    assert saved is not None
    path.write_bytes(content)
    await _resumed(streams, path)
    path.write_bytes(other)
    (sentence,) = records.build(streams, _foreign(path), saved).unread
    assert "is not the one that was read before" in sentence
    await streams.close()


def test_a_file_that_breaks_in_the_middle_is_read_up_to_there(monkeypatch: pytest.MonkeyPatch) -> None:
    path = install_recording("v171_on_request_two_turns", Path(os.environ["CODEX_HOME"]))
    whole = records.build(open_streams(), _foreign(path), None).record
    original = store_module.open_rollout

    class Breaking(io.BytesIO):
        def readline(self, size: int | None = -1, /) -> bytes:
            if self.tell() > 10_000:
                raise OSError(5, "Input/output error")
            return super().readline(size)

    monkeypatch.setattr(records, "MIN_NEW_EVENTS", 1)
    monkeypatch.setattr(store_module, "open_rollout", lambda path, offset: Breaking(path.read_bytes()))
    built = records.build(open_streams(), _foreign(path), None)
    assert 0 < built.record.events_read < whole.events_read
    assert built.record.name == whole.name
    (sentence,) = built.record.damage
    assert f"({_short(path)}) cannot be read: Input/output error." in sentence
    assert built.agents_own_lost == sentence
    assert built.checkpoint is None
    monkeypatch.setattr(store_module, "open_rollout", original)
    assert records.build(open_streams(), _foreign(path), built.checkpoint).record == whole


async def test_a_record_of_ours_that_cannot_be_read_hides_nothing_else() -> None:
    streams = open_streams()
    await begin_thread(streams)
    first = await begin_run(
        streams, PermissionsSet(cause="start", approval="untrusted"), TurnStarted(turn_id="t")
    )
    second = await begin_run(
        streams, TurnStarted(turn_id="u"), EntryAdded(kind="message", role="user", text="a")
    )
    await streams.close()
    path = Layout.open(state_folder()).find_stream(f"session:{second}")
    assert path is not None
    path.unlink()
    path.mkdir()
    built = records.build(open_streams(), OWN, None)
    assert [run.session_id for run in built.record.runs] == [first]
    assert built.unread == ("A record of ours cannot be read: Is a directory.",)
    assert built.record.degraded
    assert built.record.depends_on is None
