"""The writer: many tasks, one order, nothing acknowledged before its sync."""

import asyncio
import threading
from pathlib import Path

import pytest

from resumed.daemon.storage import writer
from resumed.daemon.storage.appender import Appended, Appender, StreamHome
from resumed.daemon.storage.errors import EventConflict, StorageFailed
from resumed.daemon.storage.reader import Reading
from resumed.daemon.storage.writer import Writer
from tests.support.streams import appender, entry, meta, now, stream_home, texts
from tests.support.sync_gate import SyncGate


@pytest.fixture
def home(tmp_path: Path) -> StreamHome:
    return stream_home(tmp_path)


async def opened(home: StreamHome) -> Writer:
    made = Writer(Appender.open(home, now))
    await made.append((meta(),))
    return made


async def test_an_append_returns_after_the_sync_and_not_before(
    home: StreamHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = SyncGate(monkeypatch)
    made = await opened(home)
    gate.shut()
    appending = asyncio.create_task(made.append((entry("a"),)))
    await gate.until_reached()
    assert not appending.done()
    assert made.last_durable == 1
    gate.open.set()
    assert await appending == (Appended(2, False),)
    assert made.last_durable == 2
    await made.close()


async def test_what_waits_goes_out_with_one_sync_in_order(
    home: StreamHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = SyncGate(monkeypatch)
    made = await opened(home)
    gate.shut()
    first = asyncio.create_task(made.append((entry("first"),)))
    await gate.until_reached()
    rest = [asyncio.create_task(made.append((entry(f"{n}a"), entry(f"{n}b")))) for n in range(50)]
    await asyncio.sleep(0)
    before = gate.syncs
    gate.open.set()
    outcomes = [await first, *(await asyncio.gather(*rest))]
    assert gate.syncs == before + 1
    assert [appended.seq for outcome in outcomes for appended in outcome] == list(range(2, 103))
    await made.close()
    assert texts(Reading(home.first)) == ["first", *(f"{n}{half}" for n in range(50) for half in "ab")]


async def test_one_refusal_does_not_touch_the_others(home: StreamHome) -> None:
    made = await opened(home)
    await made.append((entry("a", "same"),))
    outcomes = await asyncio.gather(
        made.append((entry("b"),)),
        made.append((entry("other", "same"),)),
        made.append((entry("a", "same"),)),
        return_exceptions=True,
    )
    assert isinstance(outcomes[1], EventConflict)
    assert outcomes[2] == (Appended(2, True),)
    await made.close()
    assert texts(Reading(home.first)) == ["a", "b"]


async def test_a_cancelled_append_hurts_nobody(home: StreamHome, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = SyncGate(monkeypatch)
    made = await opened(home)
    gate.shut()
    cancelled = asyncio.create_task(made.append((entry("a"),)))
    kept = asyncio.create_task(made.append((entry("b"),)))
    await gate.until_reached()
    cancelled.cancel()
    gate.open.set()
    with pytest.raises(asyncio.CancelledError):
        await cancelled
    assert (await kept)[0].seq == 3
    await made.close()
    assert texts(Reading(home.first)) == ["a", "b"]


async def test_a_full_queue_makes_appenders_wait(home: StreamHome, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "QUEUE_LIMIT", 3)
    gate = SyncGate(monkeypatch)
    made = await opened(home)
    gate.shut()
    before = gate.syncs
    appending = [asyncio.create_task(made.append((entry(f"{n}"),))) for n in range(10)]
    await gate.until_reached()
    gate.open.set()
    outcomes = await asyncio.gather(*appending)
    assert [outcome[0].seq for outcome in outcomes] == list(range(2, 12))
    assert gate.syncs - before >= 4  # never more than 3 were taken in; without the limit it is 2
    await made.close()


async def test_close_finishes_what_waits_and_then_takes_nothing(
    home: StreamHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = SyncGate(monkeypatch)
    made = await opened(home)
    gate.shut()
    appending = [asyncio.create_task(made.append((entry(f"{n}"),))) for n in range(5)]
    await gate.until_reached()
    closing = asyncio.create_task(made.close())
    await asyncio.sleep(0)
    gate.open.set()
    await closing
    assert len(await asyncio.gather(*appending)) == 5
    with pytest.raises(StorageFailed, match="closed"):
        await made.append((entry("late"),))
    await made.close()
    with appender(home) as again:
        assert again.seq == 6


async def test_an_unforeseen_error_is_told_to_all_and_the_writer_goes_on(
    home: StreamHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = await opened(home)
    with monkeypatch.context() as broken:
        broken.setattr(Appender, "commit", lambda self, groups: 1 // 0)
        outcomes = await asyncio.gather(
            made.append((entry("a"),)), made.append((entry("b"),)), return_exceptions=True
        )
    assert [type(outcome) for outcome in outcomes] == [StorageFailed, StorageFailed]
    assert (await made.append((entry("c"),)))[0].seq == 2
    await made.close()


def test_a_loop_that_ended_without_close_leaves_the_lock_free(
    home: StreamHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = SyncGate(monkeypatch)

    async def leave() -> "asyncio.Task[tuple[Appended, ...]]":
        made = await opened(home)
        gate.shut()
        left = asyncio.create_task(made.append((entry("a"),)))
        await gate.until_reached()
        return left

    assert asyncio.run(leave()).cancelled()
    gate.open.set()
    for thread in threading.enumerate():
        if thread.name == "stream-writer":
            thread.join(timeout=60)
    with appender(home) as again:
        assert again.seq == 2
