import asyncio

import pytest

from resumed.daemon.rpc import inbound
from resumed.daemon.rpc.inbound import Inbound

HEAVY = inbound._MOST_BYTES + 1


async def held(load: Inbound, size: int) -> asyncio.Event:
    """Let it hold a request until the event is set."""
    done = asyncio.Event()
    load.hold(size, asyncio.ensure_future(done.wait()))
    return done


async def released(event: asyncio.Event) -> None:
    """End a request and let its callbacks run."""
    event.set()
    for _ in range(3):
        await asyncio.sleep(0)


async def test_it_is_full_by_bytes_until_they_are_answered() -> None:
    load = Inbound()
    half = await held(load, HEAVY // 2)
    assert not load.full
    rest = await held(load, HEAVY)
    assert load.full
    await released(rest)
    assert not load.full
    await asyncio.wait_for(load.room(), 10)
    await released(half)


async def test_it_is_full_by_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inbound, "_MOST_REQUESTS", 2)
    load = Inbound()
    first, second = await held(load, 1), await held(load, 1)
    assert load.full
    await released(first)
    assert not load.full
    await released(second)


async def test_room_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inbound, "_PATIENCE_SECONDS", 30)
    load = Inbound()
    heavy = await held(load, HEAVY)
    waiting = asyncio.ensure_future(load.room())
    for _ in range(5):
        await asyncio.sleep(0)
    assert not waiting.done()
    await released(heavy)
    await asyncio.wait_for(waiting, 10)


async def test_patience_ends_once_and_comes_back_with_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inbound, "_PATIENCE_SECONDS", 0.01)
    load = Inbound()
    heavy = await held(load, HEAVY)
    await load.room()
    assert load.full
    monkeypatch.setattr(inbound, "_PATIENCE_SECONDS", 30)
    await asyncio.wait_for(load.room(), 10)
    await released(heavy)
    again = await held(load, HEAVY)
    waiting = asyncio.ensure_future(load.room())
    await asyncio.sleep(0)
    assert not waiting.done()
    await released(again)
    await asyncio.wait_for(waiting, 10)
