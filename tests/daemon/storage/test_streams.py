"""The door: what a stream may begin with, who may append, and what a reading includes."""

import asyncio
import gc
import uuid
from collections.abc import AsyncIterator, Collection
from pathlib import Path

import msgspec
import pytest

from resumed.daemon.storage.appender import Appended
from resumed.daemon.storage.codec import encode
from resumed.daemon.storage.errors import (
    EventRefused,
    StateReadOnly,
    StorageFailed,
    StreamBusy,
    StreamExists,
    StreamMissing,
)
from resumed.daemon.storage.layout import Layout
from resumed.daemon.storage.streams import Streams
from resumed.protocol.ids import InvalidId
from resumed.restore.events.envelope import Event
from resumed.restore.events.session import AgentRef, SessionMeta
from resumed.restore.events.worktree import WorktreeMeta
from tests.support.locks import is_free
from tests.support.streams import STREAM, THREAD_ID, TS, entry, largest_file, meta, now, texts, wrapped
from tests.support.sync_gate import SyncGate

ID = "5973b6c0-94b8-487b-a530-2aeb6098ae0e"
SESSION = f"session:{ID}"
WORKTREE = f"worktree:{ID}"


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return Layout.open(tmp_path / "state")


@pytest.fixture
async def streams(layout: Layout) -> AsyncIterator[Streams]:
    opened = Streams(layout, now)
    yield opened
    await opened.close()


def session_meta(created_at: str = TS) -> Event:
    return wrapped(
        SessionMeta(
            schema_version=1,
            thread_id=THREAD_ID,
            session_id=ID,
            agent=AgentRef(name="codex"),
            source="cli",
            cwd="/x",
            created_at=created_at,
            reason="startup",
        )
    )


def worktree_meta() -> Event:
    return wrapped(WorktreeMeta(schema_version=1, worktree_id=ID, repo_id=ID, path="/x", evidence={}))


def last_seq(streams: Streams) -> int:
    """The number of the last event of the stream that is read."""
    reading = streams.read(STREAM)
    for _ in reading:
        pass
    return reading.seq


async def test_each_kind_is_created_appended_to_and_read(layout: Layout, streams: Streams) -> None:
    for stream, first in ((SESSION, session_meta()), (STREAM, meta()), (WORKTREE, worktree_meta())):
        assert not streams.exists(stream)
        assert await streams.create(stream, first) == Appended(1, False)
        appended = await streams.append(stream, entry("a"), entry("b"))
        assert appended == (Appended(2, False), Appended(3, False))
        assert streams.exists(stream)
        assert texts(streams.read(stream)) == ["a", "b"]
        assert list(streams.ids(stream.partition(":")[0])) == [stream]
    assert layout.find_stream(SESSION) == layout.session_path(ID, TS)
    reading = streams.read(STREAM)
    assert texts(reading) == ["a", "b"]
    await streams.append(STREAM, entry("c"))
    assert texts(streams.read(STREAM, reading.position)) == ["c"]


async def test_streams_go_on_in_the_next_process(layout: Layout) -> None:
    first = Streams(layout, now)
    await first.create(STREAM, meta())
    await first.append(STREAM, entry("a", "a"))
    second = Streams(layout, now)
    assert texts(second.read(STREAM)) == ["a"]
    with pytest.raises(StreamBusy):
        await second.append(STREAM, entry("b"))
    await first.close()
    assert await second.append(STREAM, entry("a", "a"), entry("b")) == (Appended(2, True), Appended(3, False))
    await second.close()


async def test_a_released_stream_is_free_and_can_be_opened_again(layout: Layout, streams: Streams) -> None:
    await streams.create(STREAM, meta())
    appending = [asyncio.create_task(streams.append(STREAM, entry(f"{n}"))) for n in range(3)]
    await asyncio.sleep(0)
    await streams.release(STREAM)
    await asyncio.gather(*appending)
    other = Streams(layout, now)
    await other.append(STREAM, entry("other"))
    await other.close()
    assert (await streams.append(STREAM, entry("last")))[0].seq == 6
    await streams.release(STREAM)
    await streams.release(STREAM)
    assert texts(streams.read(STREAM)) == ["0", "1", "2", "other", "last"]


async def test_a_stream_begins_with_the_meta_of_its_kind_and_id(layout: Layout, streams: Streams) -> None:
    for stream, first in (
        (STREAM, entry("a")),
        (STREAM, meta(ID)),
        (STREAM, session_meta()),
        (SESSION, worktree_meta()),
        (WORKTREE, meta(ID)),
        (SESSION, session_meta("2026-01-02T03:04:05")),
        (SESSION, session_meta("../..")),
        (SESSION, session_meta("0001-01-01T00:00:00+14:00")),
    ):
        with pytest.raises(EventRefused):
            await streams.create(stream, first)
    for stream in ("thread:../../x", "blob:" + ID, ID):
        with pytest.raises(InvalidId):
            await streams.create(stream, meta())
        with pytest.raises(InvalidId):
            await streams.append(stream, entry("a"))
    assert sorted(path.name for path in layout.home.iterdir()) == ["key", "layout.json", "layout.lock"]


async def test_appending_to_nothing_creates_nothing(layout: Layout, streams: Streams) -> None:
    with pytest.raises(StreamMissing):
        await streams.append(STREAM, entry("a"))
    with pytest.raises(StreamMissing):
        streams.read(STREAM)
    assert not (layout.home / "threads").exists()
    # A stream whose creation was cut off holds nothing yet.
    layout.thread_path(THREAD_ID).parent.mkdir()
    layout.thread_path(THREAD_ID).touch()
    assert not streams.exists(STREAM)
    with pytest.raises(StreamMissing):
        await streams.append(STREAM, entry("a"))
    assert await streams.create(STREAM, meta()) == Appended(1, False)


async def test_creating_again_is_answered_and_by_another_event_refused(streams: Streams) -> None:
    first = meta()
    assert await streams.create(STREAM, first) == Appended(1, False)
    assert await streams.create(STREAM, first) == Appended(1, True)
    with pytest.raises(StreamExists):
        await streams.create(STREAM, meta())
    await streams.append(STREAM, entry("a"))
    assert await streams.create(STREAM, first) == Appended(1, True)
    assert last_seq(streams) == 2


async def test_a_refused_creation_keeps_no_writer(layout: Layout, streams: Streams) -> None:
    await streams.create(STREAM, meta(), entry("a"))
    assert texts(streams.read(STREAM)) == ["a"]
    await streams.release(STREAM)
    with pytest.raises(StreamExists):
        await streams.create(STREAM, meta())
    assert is_free(layout, STREAM)
    await streams.append(STREAM, entry("b"))
    with pytest.raises(StreamExists):
        await streams.create(STREAM, meta())
    assert not is_free(layout, STREAM)


async def test_of_many_creators_one_wins(streams: Streams) -> None:
    outcomes = await asyncio.gather(
        *(streams.create(STREAM, meta()) for _ in range(8)), return_exceptions=True
    )
    assert sum(outcome == Appended(1, False) for outcome in outcomes) == 1
    assert sum(isinstance(outcome, StreamExists) for outcome in outcomes) == 7
    assert last_seq(streams) == 1


async def test_nothing_is_kept_of_streams_that_were_released(streams: Streams) -> None:
    def locks() -> int:
        gc.collect()
        return sum(isinstance(found, asyncio.Lock) for found in gc.get_objects())

    before = locks()
    for name in (str(uuid.UUID(int=number)) for number in range(5)):
        await streams.create(f"thread:{name}", meta(name))
        await streams.append(f"thread:{name}", entry("a"))
        await streams.release(f"thread:{name}")
    assert locks() == before


async def test_a_session_created_again_stays_in_its_file(layout: Layout, streams: Streams) -> None:
    first = session_meta()
    await streams.create(SESSION, first)
    assert isinstance(first.payload, SessionMeta)
    later = msgspec.structs.replace(first.payload, created_at="2027-01-01T00:00:00Z")
    with pytest.raises(StreamExists):
        await streams.create(SESSION, wrapped(later))
    assert list(streams.ids("session")) == [SESSION]
    assert layout.find_stream(SESSION) == layout.session_path(ID, TS)


async def test_a_failed_creation_can_be_tried_again(streams: Streams) -> None:
    with largest_file(10), pytest.raises(StorageFailed):
        await streams.create(STREAM, meta(event_id="m"))
    with pytest.raises(StreamMissing):
        await streams.append(STREAM, entry("a"))
    await streams.create(STREAM, meta(event_id="m"))
    await streams.append(STREAM, entry("a"))
    reading = streams.read(STREAM)
    assert texts(reading) == ["a"]
    assert reading.damage == ()


async def test_many_tasks_and_streams_at_once(layout: Layout, streams: Streams) -> None:
    ids = [str(uuid.UUID(int=number)) for number in range(5)]
    await asyncio.gather(*(streams.create(f"thread:{name}", meta(name)) for name in ids))
    await streams.close()
    again = Streams(layout, now)

    async def append(name: str, number: int) -> None:
        await again.append(f"thread:{name}", entry(f"{number}a"), entry(f"{number}b"))

    await asyncio.gather(*(append(name, number) for name in ids for number in range(20)))
    for name in ids:
        found = texts(again.read(f"thread:{name}"))
        assert sorted(found) == sorted(f"{number}{half}" for number in range(20) for half in "ab")
        assert all(a[:-1] == b[:-1] for a, b in zip(found[::2], found[1::2], strict=True))
    assert sorted(again.ids("thread")) == [f"thread:{name}" for name in ids]
    await again.close()


async def test_what_is_not_confirmed_is_not_read(streams: Streams, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = SyncGate(monkeypatch)
    await streams.create(STREAM, meta())
    await streams.append(STREAM, entry("a"))
    gate.shut()
    appending = asyncio.create_task(streams.append(STREAM, entry("b")))
    await gate.until_reached()
    assert (texts(streams.read(STREAM)), last_seq(streams)) == (["a"], 2)
    gate.open.set()
    await appending
    assert (texts(streams.read(STREAM)), last_seq(streams)) == (["a", "b"], 3)


async def test_a_caller_that_goes_away_while_opening_leaves_no_lock_behind(
    layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = Streams(layout, now)
    await first.create(STREAM, meta())
    await first.close()
    second = Streams(layout, now)
    gate = SyncGate(monkeypatch)
    gate.shut()
    gone = asyncio.create_task(second.append(STREAM, entry("a")))
    await gate.until_reached()
    gone.cancel()
    with pytest.raises(asyncio.CancelledError):
        await gone
    gate.open.set()
    assert (await second.append(STREAM, entry("b")))[0].seq == 2
    await second.close()
    with pytest.raises(StorageFailed, match="closed"):
        await second.append(STREAM, entry("c"))
    third = Streams(layout, now)
    assert texts(third.read(STREAM)) == ["b"]


async def test_a_read_only_folder_is_read_and_not_written(layout: Layout, streams: Streams) -> None:
    await streams.create(STREAM, meta())
    await streams.append(STREAM, entry("a"))
    await streams.close()
    closed = Streams(Layout(layout.home, "", b"", read_only=True, reason="It is newer."), now)
    assert texts(closed.read(STREAM)) == ["a"]
    with pytest.raises(StateReadOnly, match="newer"):
        await closed.append(STREAM, entry("b"))
    with pytest.raises(StateReadOnly, match="newer"):
        await closed.create(WORKTREE, worktree_meta())


async def test_a_stream_whose_beginning_was_torn_is_created_as_if_it_had_not_been(
    layout: Layout, streams: Streams
) -> None:
    first = session_meta()
    path = layout.session_path(ID, TS)
    path.parent.mkdir(parents=True)
    path.write_bytes(encode(first)[:-9])
    assert not streams.exists(SESSION)
    with pytest.raises(StreamMissing):
        await streams.append(SESSION, entry("a"))
    assert not streams.exists(SESSION)
    assert await streams.create(SESSION, first) == Appended(2, False)
    assert streams.exists(SESSION)
    assert await streams.create(SESSION, first) == Appended(2, True)
    assert await streams.append(SESSION, entry("a")) == (Appended(3, False),)
    await streams.release(SESSION)
    assert streams.exists(SESSION)
    with pytest.raises(StreamExists):
        await streams.create(SESSION, session_meta())


async def test_an_event_that_names_what_is_not_kept_is_refused_and_one_sent_again_is_answered(
    layout: Layout, tmp_path: Path
) -> None:
    durable = {"a" * 64}

    async def absent(names: Collection[str]) -> tuple[str, ...]:
        return tuple(set(names) - durable)

    streams = Streams(layout, now, absent)
    naming = msgspec.structs.replace(entry("see"), blobs=("a" * 64,))
    other = msgspec.structs.replace(entry("see"), blobs=("a" * 64, "b" * 64))
    with pytest.raises(EventRefused, match="not kept: bbb"):
        await streams.create(STREAM, meta(), other)
    assert not streams.exists(STREAM)
    await streams.create(STREAM, meta())
    (first,) = await streams.append(STREAM, naming)
    with pytest.raises(EventRefused):
        await streams.append(STREAM, entry("with it"), other)
    durable.clear()
    assert await streams.append(STREAM, naming) == (Appended(first.seq, True),)
    assert texts(streams.read(STREAM)) == ["see"]
    await streams.close()
    plain = Streams(layout, now)
    with pytest.raises(EventRefused):
        await plain.append(STREAM, other)
    await plain.close()
