"""Collection: what an event names stays, whenever the event came; what nothing names goes, in any crash."""

import os
import signal
from collections.abc import AsyncIterator, Collection
from pathlib import Path

import msgspec
import pytest

from resumed.daemon.storage import blob_table, collection, disk
from resumed.daemon.storage.blob_rows import BlobFound, milliseconds
from resumed.daemon.storage.blobs import Blobs
from resumed.daemon.storage.codec import encode_as
from resumed.daemon.storage.collection import Collected, Marks, NotCollected, collect, is_due, mark, sweep
from resumed.daemon.storage.errors import EventRefused, StateReadOnly
from resumed.daemon.storage.layout import Layout
from resumed.daemon.storage.streams import Streams
from resumed.restore.events.envelope import Event
from resumed.restore.events.session import AgentRef, SessionMeta
from resumed.restore.events.worktree import WorktreeMeta
from tests.support.blob_program import content
from tests.support.blobs import ask, check_whole, kept, names, put, run_program
from tests.support.clock import FakeClock
from tests.support.streams import STREAM, TS, entry, meta, now, segment_line, wrapped

ID = "5973b6c0-94b8-487b-a530-2aeb6098ae0e"
DAY = 24 * 3600
STARTED = "2026-01-02T03:04:05.000Z"


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return Layout.open(tmp_path / "state")


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(STARTED)


@pytest.fixture
async def blobs(layout: Layout, clock: FakeClock) -> AsyncIterator[Blobs]:
    async with kept(layout, clock) as opened:
        yield opened


@pytest.fixture
async def streams(layout: Layout, blobs: Blobs) -> AsyncIterator[Streams]:
    opened = Streams(layout, now, blobs.absent)
    await opened.create(STREAM, meta())
    yield opened
    await opened.close()


def naming(*blob_names: str) -> Event:
    return msgspec.structs.replace(entry("see"), blobs=blob_names)


async def collected(blobs: Blobs, layout: Layout, clock: FakeClock, cap_bytes: int = 0) -> Collected:
    outcome = await collect(blobs, layout, clock.now, cap_bytes)
    assert isinstance(outcome, Collected), outcome
    check_whole(layout)
    return outcome


async def refused(blobs: Blobs, layout: Layout, clock: FakeClock) -> NotCollected:
    before = names(layout)
    outcome = await collect(blobs, layout, clock.now)
    assert isinstance(outcome, NotCollected)
    assert names(layout) == before
    return outcome


async def test_what_no_event_names_goes_after_a_day(
    blobs: Blobs, streams: Streams, layout: Layout, clock: FakeClock
) -> None:
    named, unnamed = await put(blobs, b"named"), await put(blobs, b"unnamed")
    await streams.append(STREAM, naming(named))
    clock.advance(DAY)
    assert (await collected(blobs, layout, clock)).removed == 0
    late = await put(blobs, b"late")
    clock.advance(1)
    assert await collected(blobs, layout, clock) == Collected(removed=1, removed_bytes=7, stored_bytes=9)
    assert names(layout) == {named, late}
    assert unnamed not in names(layout)


async def test_every_kind_of_stream_counts_archived_and_continued_ones_too(
    blobs: Blobs, streams: Streams, layout: Layout, clock: FakeClock
) -> None:
    in_thread, in_session, in_worktree, in_segment, unnamed = [
        await put(blobs, data) for data in (b"t", b"s", b"w", b"g", b"u")
    ]
    session = SessionMeta(
        schema_version=1, thread_id=ID, session_id=ID, agent=AgentRef(name="codex"), source="cli",
        cwd="/x", created_at=TS, reason="startup",
    )  # fmt: skip
    await streams.create(f"session:{ID}", wrapped(session), naming(in_session))
    worktree = WorktreeMeta(schema_version=1, worktree_id=ID, repo_id="r", path="/x", evidence={})
    await streams.create(f"worktree:{ID}", wrapped(worktree), naming(in_worktree))
    await streams.append(STREAM, naming(in_thread))
    await streams.close()
    first = layout.find_stream(f"session:{ID}")
    assert first is not None
    archived = layout.home / "archived_sessions"
    archived.mkdir()
    first.rename(archived / first.name)
    thread = layout.find_stream(STREAM)
    assert thread is not None
    crc = thread.read_bytes()[-11:-3].decode()
    segment = segment_line(3, 2, crc) + encode_as(naming(in_segment), 4, TS)
    thread.with_name(f"{thread.stem}.1.jsonl").write_bytes(segment)
    clock.advance(2 * DAY)
    assert (await collected(blobs, layout, clock)).removed == 1
    assert names(layout) == {in_thread, in_session, in_worktree, in_segment}
    assert unnamed not in names(layout)


async def test_an_event_that_comes_after_the_streams_were_read_keeps_its_content(
    blobs: Blobs, streams: Streams, layout: Layout, clock: FakeClock
) -> None:
    old = await put(blobs, b"put two days ago, named only now")
    clock.advance(2 * DAY)
    marks = await mark(layout)
    assert isinstance(marks, Marks)
    await streams.append(STREAM, naming(old))
    assert (await sweep(blobs, marks, clock.now, 0)).removed == 0
    assert await blobs.get(old) == BlobFound(b"put two days ago, named only now")


async def test_an_event_between_its_check_and_its_writing_keeps_its_content(
    blobs: Blobs, layout: Layout, clock: FakeClock
) -> None:
    old = await put(blobs, b"old")
    clock.advance(2 * DAY)
    marks = await mark(layout)
    assert isinstance(marks, Marks)

    async def checked_then_swept(blob_names: Collection[str]) -> tuple[str, ...]:
        absent = await blobs.absent(blob_names)
        assert (await sweep(blobs, marks, clock.now, 0)).removed == 0
        return absent

    streams = Streams(layout, now, checked_then_swept)
    await streams.create(STREAM, meta())
    await streams.append(STREAM, naming(old))
    await streams.close()
    assert names(layout) == {old}


async def test_an_event_that_comes_after_the_removal_is_refused(
    blobs: Blobs, streams: Streams, layout: Layout, clock: FakeClock
) -> None:
    old = await put(blobs, b"old")
    clock.advance(2 * DAY)
    assert (await collected(blobs, layout, clock)).removed == 1
    with pytest.raises(EventRefused, match=old):
        await streams.append(STREAM, naming(old))
    await blobs.put(b"old")
    await streams.append(STREAM, naming(old))


async def test_what_is_touched_between_the_look_and_the_removal_stays(
    blobs: Blobs, streams: Streams, layout: Layout, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, older = await put(blobs, b"old"), await put(blobs, b"older")
    clock.advance(2 * DAY)
    look = blob_table.untouched

    async def looked_then_set_back(*given: object) -> list[blob_table.Candidate]:
        batch = await look(*given)  # type: ignore[arg-type]  # passed on as they came
        monkeypatch.setattr(blob_table, "untouched", look)
        # Another process touches it, with a clock that was set back by a year.
        clock.advance(-365 * DAY)
        ask(layout, "UPDATE blobs SET touched_at = touched_at - ? WHERE sha256 = ?",
            363 * DAY * 1000, bytes.fromhex(old))  # fmt: skip
        return batch

    monkeypatch.setattr(blob_table, "untouched", looked_then_set_back)
    await sweep(blobs, Marks(frozenset()), clock.now, 0)
    assert names(layout) == {old, older}


async def test_over_the_cap_the_oldest_that_nothing_names_go_first(
    blobs: Blobs, streams: Streams, layout: Layout, clock: FakeClock
) -> None:
    stored = []
    for number in range(6):
        stored.append(await put(blobs, bytes([number]) + os.urandom(999)))
        clock.advance(1)
    await streams.append(STREAM, naming(stored[0], stored[3]))
    clock.advance(2 * DAY)
    recent = await put(blobs, os.urandom(1000))
    assert (await collected(blobs, layout, clock, 7000)).removed == 0
    assert await collected(blobs, layout, clock, 5000) == Collected(
        removed=2, removed_bytes=2000, stored_bytes=5000
    )
    assert names(layout) == {stored[0], *stored[3:], recent}
    assert await collected(blobs, layout, clock, 1000) == Collected(
        removed=2, removed_bytes=2000, stored_bytes=3000
    )
    assert names(layout) == {stored[0], stored[3], recent}


async def test_space_is_given_back_in_steps(
    blobs: Blobs, layout: Layout, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collection, "STEP_PAGES", 64)
    monkeypatch.setattr(blob_table, "BATCH", 7)
    passages: list[str] = []
    monkeypatch.setattr(collection, "passage", passages.append)
    keep = [await put(blobs, os.urandom(100)) for _ in range(20)]
    clock.advance(2 * DAY)
    keep += [await put(blobs, os.urandom(100))]
    for number in range(40):
        await blobs.put(bytes([number]) + os.urandom(50_000))
    await blobs.file.outside("PRAGMA wal_checkpoint(TRUNCATE)")
    before = layout.blobs_path.stat().st_size
    clock.advance(DAY + 1)
    marks = Marks(frozenset(bytes.fromhex(name) for name in keep))
    assert (await sweep(blobs, marks, clock.now, 0)).removed == 40
    await collection.shrink(blobs)
    assert names(layout) == set(keep)
    assert passages.count("collection.removed") >= 6
    assert passages.count("collection.shrink") >= 8
    assert before > 2_000_000
    assert layout.blobs_path.stat().st_size < 100_000
    check_whole(layout)


async def test_while_a_stream_is_damaged_newer_or_unreadable_nothing_goes(
    blobs: Blobs, streams: Streams, layout: Layout, clock: FakeClock
) -> None:
    await blobs.put(b"unnamed")
    clock.advance(2 * DAY)
    await streams.append(STREAM, entry("a"), entry("b"))
    await streams.close()
    path = layout.find_stream(STREAM)
    assert path is not None
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b'"text":"a"', b'"text":"x"'))
    outcome = await refused(blobs, layout, clock)
    assert (outcome.kind, outcome.stream) == ("damaged", STREAM)
    assert outcome.sentence.startswith(f"No kept content was removed: {STREAM} is damaged: A line between")
    newer = msgspec.structs.replace(
        meta(), payload=msgspec.structs.replace(meta().payload, schema_version=99)
    )
    path.write_bytes(encode_as(newer, 1, TS))
    outcome = await refused(blobs, layout, clock)
    assert (outcome.kind, outcome.stream) == ("newer", STREAM)
    path.unlink()
    path.mkdir()
    (path / "x").touch()
    outcome = await refused(blobs, layout, clock)
    assert (outcome.kind, outcome.stream) == ("unreadable", STREAM)
    (path / "x").unlink()
    path.rmdir()
    path.with_name(f"{path.stem}.1.jsonl").write_bytes(segment_line(3, 2))
    outcome = await refused(blobs, layout, clock)
    assert (outcome.kind, outcome.stream) == ("unreadable", f"{path.stem}.1.jsonl")
    path.with_name(f"{path.stem}.1.jsonl").unlink()
    path.write_bytes(whole + b'{"torn')
    assert (await collected(blobs, layout, clock)).removed == 1


async def test_one_process_at_a_time_collects(blobs: Blobs, layout: Layout, clock: FakeClock) -> None:
    await blobs.put(b"x")
    held = disk.lock(layout.collection_lock_path)
    assert held is not None
    assert (await refused(blobs, layout, clock)).kind == "busy"
    os.close(held)
    await collected(blobs, layout, clock)


async def test_a_read_only_folder_is_not_collected(blobs: Blobs, layout: Layout, clock: FakeClock) -> None:
    closed = Layout(layout.home, "", b"", read_only=True, reason="It is newer.")
    with pytest.raises(StateReadOnly):
        await collect(blobs, closed, clock.now)


async def test_a_session_that_is_archived_while_streams_are_read_is_not_missed(
    blobs: Blobs, streams: Streams, layout: Layout, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = await put(blobs, b"named")
    session = SessionMeta(
        schema_version=1, thread_id=ID, session_id=ID, agent=AgentRef(name="codex"), source="cli",
        cwd="/x", created_at=TS, reason="startup",
    )  # fmt: skip
    await streams.create(f"session:{ID}", wrapped(session), naming(name))
    await streams.close()
    path = layout.find_stream(f"session:{ID}")
    assert path is not None
    archived = layout.home / "archived_sessions" / path.name
    archived.parent.mkdir()
    path.rename(archived)
    list_streams = collection._streams_besides

    def moved_behind_the_look(layout: Layout, read: set[Path]) -> list[tuple[str, Path]]:
        found = [(stream, file) for stream, file in list_streams(layout, read) if file != archived]
        if archived.exists():
            archived.rename(path)
        return found

    monkeypatch.setattr(collection, "_streams_besides", moved_behind_the_look)
    marks = await mark(layout)
    assert marks == Marks(frozenset([bytes.fromhex(name)]))


@pytest.mark.parametrize(
    "point", ["collection.marked", "collection.remove", "collection.removed", "collection.shrink"]
)
async def test_killed_anywhere_only_what_nothing_names_is_gone(tmp_path: Path, point: str) -> None:
    numbers = [str(number) for number in range(1, 300)]
    code, stored = run_program(tmp_path, "", *numbers)
    assert (code, len(stored)) == (0, 299)
    layout, clock = Layout.open(tmp_path), FakeClock(STARTED)
    wanted = {stored[number - 1]: content(number) for number in (1, 2, 150, 299)}
    async with kept(layout, clock) as blobs:
        streams = Streams(layout, now, blobs.absent)
        await streams.create(STREAM, meta(), naming(*wanted))
        await streams.close()
    kills = 0
    while run_program(tmp_path, f"{point}:1")[0] == -signal.SIGKILL:
        kills += 1
        check_whole(layout)
        async with kept(layout, clock) as blobs:
            for name, data in wanted.items():
                assert await blobs.get(name) == BlobFound(data)
        if point == "collection.marked":
            assert names(layout) == set(stored)
            assert run_program(tmp_path, "")[0] == 0
            break
        if point == "collection.remove":
            assert names(layout) == set(stored)
            code, _ = run_program(tmp_path, f"{point}:2")
            assert code == -signal.SIGKILL
            assert 0 < len(set(stored) - names(layout)) < 295
            assert run_program(tmp_path, "")[0] == 0
            break
    assert kills >= 1
    assert names(layout) == set(wanted)
    check_whole(layout)


async def test_collection_is_due_once_a_day_where_contents_are_kept(layout: Layout, clock: FakeClock) -> None:
    assert not is_due(layout, clock.now)
    async with kept(layout, clock) as blobs:
        assert not layout.blobs_path.exists()
        await put(blobs, b"x")
        assert is_due(layout, clock.now)
        await collected(blobs, layout, clock)
    at = milliseconds(clock.now()) / 1000
    os.utime(layout.collection_lock_path, (at, at))
    assert not is_due(layout, clock.now)
    clock.advance(DAY - 1)
    assert not is_due(layout, clock.now)
    clock.advance(1)
    assert is_due(layout, clock.now)
