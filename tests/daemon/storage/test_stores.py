"""What every store of streams and of contents promises: the same tests for the files and for memory."""

import asyncio
import contextlib
import hashlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from resumed.daemon.storage.appender import Appended
from resumed.daemon.storage.blob_rows import BlobFound, BlobMissing, BlobTooLarge
from resumed.daemon.storage.blobs import Blobs
from resumed.daemon.storage.errors import (
    EventConflict,
    EventRefused,
    StorageFailed,
    StreamExists,
    StreamMissing,
)
from resumed.daemon.storage.layout import Layout
from resumed.daemon.storage.stores import BlobStore, StreamStore
from resumed.daemon.storage.streams import Streams
from resumed.protocol.ids import InvalidId
from resumed.restore.events.envelope import Event
from tests.support.clock import FakeClock
from tests.support.memory_stores import MemoryBlobs, MemoryStreams
from tests.support.streams import STREAM, THREAD_ID, entry, meta, now

OTHER_ID = "22222222-2222-4222-8222-222222222222"
OTHER = f"thread:{OTHER_ID}"
LIMIT = 1000
NOBODY = "0" * 64


class Stores(NamedTuple):
    streams: StreamStore
    blobs: BlobStore


@contextlib.asynccontextmanager
async def opened(kind: str, folder: Path) -> AsyncIterator[Stores]:
    if kind == "memory":
        memory = MemoryBlobs(LIMIT)
        yield Stores(MemoryStreams(now, memory.absent), memory)
        return
    layout = Layout.open(folder / "state")
    blobs = Blobs(layout, FakeClock().now, pytest.fail, LIMIT)
    streams = Streams(layout, now, blobs.absent)
    yield Stores(streams, blobs)
    await streams.close()
    await blobs.close()


@pytest.fixture(params=["files", "memory"])
async def stores(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Stores]:
    async with opened(request.param, tmp_path) as both:
        yield both


def ids(streams: StreamStore, stream: str = STREAM) -> list[str]:
    return [event.event_id for event in streams.read(stream)]


async def test_what_is_appended_is_read_in_order_with_its_numbers(stores: Stores) -> None:
    streams = stores.streams
    assert not streams.exists(STREAM)
    assert await streams.create(STREAM, meta(event_id="m"), entry("a", "a")) == Appended(1, False)
    assert await streams.append(STREAM, entry("b", "b"), entry("c", "c")) == (
        Appended(3, False),
        Appended(4, False),
    )
    reading = streams.read(STREAM)
    assert [(event.seq, event.event_id) for event in reading] == [(1, "m"), (2, "a"), (3, "b"), (4, "c")]
    assert (reading.seq, reading.damage, reading.trailing, reading.restarted) == (4, (), (), False)
    assert streams.exists(STREAM)
    assert [*streams.ids("thread")] == [STREAM]
    assert [*streams.ids("session")] == []


async def test_reading_goes_on_from_a_position_and_restarts_from_a_strange_one(stores: Stores) -> None:
    streams = stores.streams
    await streams.create(STREAM, meta(event_id="m"))
    first = streams.read(STREAM)
    list(first)
    await streams.append(STREAM, entry("a", "a"))
    assert first.position is not None
    later = streams.read(STREAM, first.position)
    assert [event.event_id for event in later] == ["a"]
    strange = msgspec.structs.replace(first.position, crc="deadbeef")
    again = streams.read(STREAM, strange)
    assert again.restarted
    assert [event.event_id for event in again] == ["m", "a"]


async def test_a_repeated_event_is_answered_and_another_content_refused(stores: Stores) -> None:
    streams = stores.streams
    await streams.create(STREAM, meta(event_id="m"))
    await streams.append(STREAM, entry("a", "a"))
    assert await streams.append(STREAM, entry("b", "b"), entry("a", "a")) == (
        Appended(3, False),
        Appended(2, True),
    )
    with pytest.raises(EventConflict):
        await streams.append(STREAM, entry("c", "c"), entry("other", "a"))
    assert ids(streams) == ["m", "a", "b"]


async def test_a_released_stream_still_knows_what_was_sent(stores: Stores) -> None:
    streams = stores.streams
    await streams.create(STREAM, meta(event_id="m"), entry("a", "a"))
    await streams.release(STREAM)
    assert await streams.append(STREAM, entry("a", "a"), entry("b", "b")) == (
        Appended(2, True),
        Appended(3, False),
    )
    await streams.release(OTHER)
    assert ids(streams) == ["m", "a", "b"]


async def test_a_stream_is_created_once(stores: Stores) -> None:
    streams = stores.streams
    first = meta(event_id="m")
    await streams.create(STREAM, first)
    assert await streams.create(STREAM, first, entry("a", "a")) == Appended(1, True)
    with pytest.raises(StreamExists):
        await streams.create(STREAM, meta(event_id="another"))
    assert ids(streams) == ["m", "a"]


@pytest.mark.parametrize(
    ("stream", "first", "refusal"),
    [
        (STREAM, entry("a", "a"), EventRefused),
        (STREAM, meta(OTHER_ID), EventRefused),
        (f"session:{THREAD_ID}", meta(), EventRefused),
        ("thread:../x", meta(), InvalidId),
    ],
)
async def test_what_a_stream_may_not_begin_with(
    stores: Stores, stream: str, first: Event, refusal: type[Exception]
) -> None:
    with pytest.raises(refusal):
        await stores.streams.create(stream, first)
    assert [*stores.streams.ids("thread")] == []


async def test_what_is_not_there_is_neither_read_nor_appended_to(stores: Stores) -> None:
    with pytest.raises(StreamMissing):
        stores.streams.read(OTHER)
    with pytest.raises(StreamMissing):
        await stores.streams.append(OTHER, entry("a", "a"))
    assert not stores.streams.exists(OTHER)


async def test_an_event_without_an_id_is_refused_with_its_group(stores: Stores) -> None:
    await stores.streams.create(STREAM, meta(event_id="m"))
    nameless = msgspec.structs.replace(entry("a"), event_id="")
    with pytest.raises(EventRefused):
        await stores.streams.append(STREAM, entry("b", "b"), nameless)
    assert ids(stores.streams) == ["m"]


async def test_sixty_four_appenders_interleave_by_event_and_never_inside_a_group(stores: Stores) -> None:
    streams = stores.streams
    await streams.create(STREAM, meta(event_id="m"))

    async def appender(number: int) -> None:
        for turn in range(4):
            group = [entry(f"{part}", f"{number}.{turn}.{part}") for part in range(3)]
            answers = await streams.append(STREAM, *group)
            seqs = [answer.seq for answer in answers]
            assert seqs == list(range(seqs[0], seqs[0] + 3))

    await asyncio.gather(*(appender(number) for number in range(64)))
    reading = streams.read(STREAM)
    events = list(reading)
    assert [event.seq for event in events] == list(range(1, 64 * 4 * 3 + 2))
    groups = [events[begin : begin + 3] for begin in range(1, len(events), 3)]
    assert all(len({event.event_id.rpartition(".")[0] for event in group}) == 1 for group in groups)
    for number in range(64):
        sent = [f"{number}.{turn}.{part}" for turn in range(4) for part in range(3)]
        assert [event.event_id for event in events if event.event_id.split(".")[0] == str(number)] == sent
    assert reading.damage == ()


async def test_contents_come_back_by_their_hash(stores: Stores) -> None:
    blobs = stores.blobs
    for data in (b"", b"x", b"a line\n" * 50):
        name = await blobs.put(data)
        assert name == hashlib.sha256(data).hexdigest()
        assert await blobs.put(data) == name
        assert await blobs.get(name) == BlobFound(data)
    assert await blobs.put(bytes(LIMIT + 1)) == BlobTooLarge(LIMIT + 1, LIMIT)
    assert await blobs.get(NOBODY) == BlobMissing()
    assert await blobs.get("no name") == BlobMissing()


async def test_absent_contents_are_told_in_the_order_asked(stores: Stores) -> None:
    name = await stores.blobs.put(b"x")
    assert isinstance(name, str)
    assert await stores.blobs.absent([NOBODY, name, "no name", NOBODY]) == (NOBODY, "no name")


async def test_an_event_names_only_what_is_kept(stores: Stores) -> None:
    streams, name = stores.streams, await stores.blobs.put(b"x")
    assert isinstance(name, str)
    naming = msgspec.structs.replace(entry("a", "a"), blobs=(name,))
    await streams.create(STREAM, meta(event_id="m"), naming)
    lacking = msgspec.structs.replace(entry("b", "b"), blobs=(name, NOBODY))
    with pytest.raises(EventRefused):
        await streams.append(STREAM, entry("c", "c"), lacking)
    assert [event.blobs for event in streams.read(STREAM)] == [(), (name,)]


async def test_closed_stores_take_nothing_more(stores: Stores) -> None:
    await stores.streams.create(STREAM, meta(event_id="m"))
    await stores.streams.close()
    with pytest.raises(StorageFailed):
        await stores.streams.append(STREAM, entry("a", "a"))
    assert ids(stores.streams) == ["m"]
    await stores.blobs.close()
    with pytest.raises(StorageFailed):
        await stores.blobs.put(b"x")
