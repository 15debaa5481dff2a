"""Kept contents: durable once acknowledged, verified at each reading, damage told for one content alone."""

import asyncio
import hashlib
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from resumed.daemon.storage import blobs as blobs_module
from resumed.daemon.storage.blob_rows import BlobDamaged, BlobFound, BlobMissing, BlobTooLarge, pack
from resumed.daemon.storage.blobs import MAX_BLOB_BYTES, Blobs
from resumed.daemon.storage.errors import StateReadOnly, StorageFailed
from resumed.daemon.storage.layout import Layout
from tests.support.blob_program import content
from tests.support.blobs import ask, check_whole, kept, names, overwrite, put, run_program
from tests.support.clock import FakeClock
from tests.support.streams import largest_file

HOUR = 3600


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return Layout.open(tmp_path / "state")


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def blobs(layout: Layout, clock: FakeClock) -> AsyncIterator[Blobs]:
    async with kept(layout, clock) as opened:
        yield opened


def read_only(layout: Layout) -> Layout:
    return Layout(layout.home, "", b"", read_only=True, reason="It is newer.")


@pytest.mark.parametrize("data", [b"", b"x", b"a line\n" * 1000, bytes(range(256)) * 3, os.urandom(5000)])
async def test_a_content_comes_back_under_its_hash(blobs: Blobs, layout: Layout, data: bytes) -> None:
    name = await blobs.put(data)
    assert name == hashlib.sha256(data).hexdigest()
    assert await blobs.get(name) == BlobFound(data)
    ((stored,),) = ask(layout, "SELECT length(data) FROM contents")
    assert stored == min(len(data), len(zstandard.ZstdCompressor(level=3).compress(data)))


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(contents=st.lists(st.binary(max_size=300), max_size=8))
async def test_whatever_is_put_at_once_comes_back(blobs: Blobs, contents: list[bytes]) -> None:
    put_names = await asyncio.gather(*(put(blobs, data) for data in contents))
    for name, data in zip(put_names, contents, strict=True):
        assert await blobs.get(name) == BlobFound(data)


async def test_what_is_put_at_the_same_time_shares_a_commit(
    blobs: Blobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    await blobs.put(b"first")
    commits: list[str] = []
    monkeypatch.setattr(blobs_module, "passage", commits.append)
    await asyncio.gather(*(blobs.put(b"%d" % number) for number in range(100)))
    assert 2 <= len(commits) < 20
    assert set(commits) == {"blob.acknowledge"}


async def test_a_repeated_put_only_touches(blobs: Blobs, layout: Layout, clock: FakeClock) -> None:
    name = await put(blobs, b"once")
    before = ask(layout, "SELECT content FROM blobs"), ask(layout, "SELECT * FROM contents")
    clock.advance(HOUR)
    again, other = await asyncio.gather(blobs.put(b"once"), blobs.put(b"once"))
    assert again == other == name
    assert (ask(layout, "SELECT content FROM blobs"), ask(layout, "SELECT * FROM contents")) == before
    ((touched,),) = ask(layout, "SELECT touched_at FROM blobs")
    assert touched == 1767323045000 + HOUR * 1000


async def test_a_content_that_is_too_large_is_told_as_a_value(layout: Layout, clock: FakeClock) -> None:
    async with kept(layout, clock, limit=10) as blobs:
        assert await blobs.put(b"x" * 11) == BlobTooLarge(11, 10)
        name = await put(blobs, b"x" * 10)
        assert await blobs.get(name) == BlobFound(b"x" * 10)
        assert names(layout) == {name}
    assert MAX_BLOB_BYTES == 64 << 20


async def test_large_contents_are_in_work_one_at_a_time(
    blobs: Blobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    large = [bytes([number]) * (2 << 20) for number in range(4)]
    most = 0
    working = 0

    def counted(data: bytes) -> object:
        nonlocal most, working
        working += 1
        most = max(most, working)
        packed = pack(data)
        working -= 1
        return packed

    monkeypatch.setattr(blobs_module, "pack", counted)
    put_names = await asyncio.gather(*(put(blobs, data) for data in large))
    assert most == 1
    assert [await blobs.get(name) for name in put_names] == [BlobFound(data) for data in large]


@pytest.mark.parametrize("name", ["", "0" * 64, "F" * 64, "../../etc/passwd", "0" * 63 + "\n", "é" * 64])
async def test_what_is_not_there_is_missing(blobs: Blobs, name: str) -> None:
    await blobs.put(b"another")
    assert await blobs.get(name) == BlobMissing()
    assert await blobs.absent([name]) == (name,)


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE contents SET data = substr(data, 1, length(data) - 1) WHERE id = 2",
        "UPDATE contents SET data = zeroblob(length(data)) WHERE id = 2",
        "UPDATE contents SET data = CAST('text' AS TEXT) WHERE id = 2",
        "UPDATE contents SET data = (SELECT data FROM contents WHERE id = 1) WHERE id = 2",
        "UPDATE blobs SET size = size + 1 WHERE content = 2",
        "UPDATE blobs SET codec = 'other' WHERE content = 2",
        "UPDATE blobs SET codec = 'raw' WHERE content = 2",
        "DELETE FROM contents WHERE id = 2",
    ],
)
async def test_a_damaged_content_is_told_of_itself_alone_and_put_again_is_whole(
    blobs: Blobs, layout: Layout, damage: str
) -> None:
    others = [b"first " * 100, b"third " * 100]
    first = await put(blobs, others[0])
    bad = await put(blobs, b"second " * 100)
    third = await put(blobs, others[1])
    ask(layout, damage)
    found = await blobs.get(bad)
    assert isinstance(found, BlobDamaged)
    assert bad[:12] in found.sentence
    assert [await blobs.get(name) for name in (first, third)] == [BlobFound(data) for data in others]
    assert await blobs.put(b"second " * 100) == bad
    assert await blobs.get(bad) == BlobFound(b"second " * 100)
    check_whole(layout)


async def test_bytes_that_changed_on_the_disk_are_never_given_back(layout: Layout, clock: FakeClock) -> None:
    async with kept(layout, clock) as blobs:
        name = await put(blobs, b"the only copy")
        other = await put(blobs, b"beside it")
    overwrite(layout.blobs_path, b"the only copy", b"the 0nly copy")
    async with kept(layout, clock) as blobs:
        assert isinstance(await blobs.get(name), BlobDamaged)
        assert await blobs.get(other) == BlobFound(b"beside it")


async def test_a_content_whose_pages_are_lost_is_damaged_alone_and_can_be_put_again(
    layout: Layout, clock: FakeClock
) -> None:
    data = os.urandom(200_000)
    async with kept(layout, clock) as blobs:
        small = await put(blobs, b"small")
        name = await put(blobs, data)
    # Its pages are a chain, each beginning with the number of the next; a number beyond the file ends it.
    start = layout.blobs_path.read_bytes().index(data[100_000:100_100]) // 4096 * 4096
    with layout.blobs_path.open("r+b") as file:
        file.seek(start)
        file.write(b"\x7f\xff\xff\xff")
    async with kept(layout, clock) as blobs:
        assert isinstance(await blobs.get(name), BlobDamaged)
        assert await blobs.get(small) == BlobFound(b"small")
        assert await put(blobs, data) == name
        assert await blobs.get(name) == BlobFound(data)
        assert await blobs.get(small) == BlobFound(b"small")


async def test_a_full_disk_is_a_typed_failure_and_leaves_nothing(layout: Layout, clock: FakeClock) -> None:
    async with kept(layout, clock) as blobs:
        name = await put(blobs, b"before")
        with largest_file(300_000), pytest.raises(StorageFailed):
            await blobs.put(os.urandom(900_000))
        assert names(layout) == {name}
        check_whole(layout)
        assert await blobs.get(name) == BlobFound(b"before")
        later = await put(blobs, os.urandom(900_000))
        assert names(layout) == {name, later}


async def test_a_read_only_folder_gives_and_takes_nothing(
    layout: Layout, clock: FakeClock, tmp_path: Path
) -> None:
    async with kept(read_only(layout), clock) as blobs:
        assert await blobs.get("0" * 64) == BlobMissing()
        with pytest.raises(StateReadOnly, match="It is newer"):
            await blobs.put(b"x")
        with pytest.raises(StateReadOnly):
            await blobs.absent(["0" * 64])
    assert not layout.blobs_path.exists()
    async with kept(layout, clock) as writer:
        name = await put(writer, b"kept")
        async with kept(read_only(layout), clock) as blobs:
            assert await blobs.get(name) == BlobFound(b"kept")
    before = sorted(layout.home.iterdir())
    async with kept(read_only(layout), clock) as blobs:
        assert await blobs.get(name) == BlobFound(b"kept")
        assert await blobs.get("0" * 64) == BlobMissing()
        layout.blobs_path.write_bytes(b"no database " * 1000)
        assert isinstance(await blobs.get(name), BlobDamaged)
    assert sorted(layout.home.iterdir()) == before


async def test_what_an_event_is_about_to_name_is_touched_when_half_the_time_is_over(
    blobs: Blobs, layout: Layout, clock: FakeClock
) -> None:
    name = await put(blobs, b"x")
    clock.advance(11 * HOUR)
    assert await blobs.absent([name, name]) == ()
    assert ask(layout, "SELECT touched_at FROM blobs") == [(1767323045000,)]
    clock.advance(2 * HOUR)
    assert await blobs.absent([name, "0" * 64]) == ("0" * 64,)
    assert ask(layout, "SELECT touched_at FROM blobs") == [(1767323045000 + 13 * HOUR * 1000,)]


async def test_a_cancelled_put_does_not_take_the_others_with_it(blobs: Blobs) -> None:
    tasks = [asyncio.create_task(blobs.put(b"%d" % number)) for number in range(5)]
    await asyncio.sleep(0)
    tasks[2].cancel()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert isinstance(results[2], asyncio.CancelledError)
    for number in (0, 1, 3, 4):
        assert await blobs.get(hashlib.sha256(b"%d" % number).hexdigest()) == BlobFound(b"%d" % number)
    await blobs.put(b"after")


async def test_two_processes_put_the_same_at_once(layout: Layout, clock: FakeClock) -> None:
    async with kept(layout, clock) as first, kept(layout, clock) as second:
        contents = [b"%d" % number for number in range(30)]
        await asyncio.gather(*(blobs.put(data) for data in contents for blobs in (first, second)))
        assert len(names(layout)) == 30
    check_whole(layout)


async def test_a_closed_store_fails(layout: Layout, clock: FakeClock) -> None:
    async with kept(layout, clock) as blobs:
        await blobs.close()
        with pytest.raises(StorageFailed, match="closed"):
            await blobs.put(b"x")


@pytest.mark.parametrize("point", ["blob.commit", "blob.acknowledge"])
async def test_killed_anywhere_every_acknowledged_content_is_whole(tmp_path: Path, point: str) -> None:
    for n in range(1, 7):
        folder = tmp_path / f"{n}"
        code, acknowledged = run_program(folder, f"{point}:{n}", *"12345")
        layout = Layout.open(folder)
        if code == 0:
            assert len(acknowledged) == 5
            assert n == 6
            break
        assert code == -signal.SIGKILL
        assert len(acknowledged) == n - 1
        async with kept(layout, FakeClock()) as blobs:
            for number, name in enumerate(acknowledged, 1):
                assert await blobs.get(name) == BlobFound(content(number))
            durable = n if point == "blob.acknowledge" else n - 1
            assert len(names(layout)) == durable
            check_whole(layout)
            for number in range(1, 6):
                await blobs.put(content(number))
            assert len(names(layout)) == 5
    else:
        pytest.fail("the program never ran to its end")
