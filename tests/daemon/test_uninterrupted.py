"""Work goes on to its end whatever becomes of its caller."""

import asyncio

import pytest

from resumed.daemon.uninterrupted import uninterrupted


async def test_the_caller_is_cancelled_only_when_the_work_is_done() -> None:
    go, done = asyncio.Event(), []

    async def work() -> str:
        await go.wait()
        done.append(True)
        return "result"

    caller = asyncio.create_task(uninterrupted(work()))
    for _ in range(3):
        await asyncio.sleep(0)
        caller.cancel()
    await asyncio.sleep(0)
    assert not caller.done()
    go.set()
    with pytest.raises(asyncio.CancelledError):
        await caller
    assert done == [True]


async def test_without_a_cancellation_it_is_like_waiting() -> None:
    async def fails() -> None:
        raise KeyError("x")

    assert await uninterrupted(asyncio.sleep(0, "slept")) == "slept"
    with pytest.raises(KeyError):
        await uninterrupted(fails())
