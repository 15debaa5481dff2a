"""Of one name there is one at a time, whoever leaves meanwhile; of a name nobody has, nothing is left."""

import asyncio

import pytest

from resumed.daemon.storage.turns import Turns


async def test_one_at_a_time_for_each_name_and_nothing_left() -> None:
    turns, order = Turns(), []
    here = asyncio.Event()

    async def take(number: int) -> None:
        async with turns.of("a"):
            order.append(number)
            await here.wait()
            # Others would come in now, were their lock another one.
            await asyncio.sleep(0)
            order.append(number)

    tasks = [asyncio.create_task(take(number)) for number in range(3)]
    await asyncio.sleep(0)
    assert (order, len(turns)) == ([0], 1)
    async with turns.of("b"):
        assert len(turns) == 2
    assert len(turns) == 1
    tasks[1].cancel()
    with pytest.raises(asyncio.CancelledError):
        await tasks[1]
    tasks.append(asyncio.create_task(take(3)))
    await asyncio.sleep(0)
    assert order == [0]
    here.set()
    await asyncio.gather(tasks[0], tasks[2], tasks[3])
    assert (order, len(turns)) == ([0, 0, 2, 2, 3, 3], 0)


async def test_one_that_failed_leaves_the_name_free() -> None:
    turns = Turns()
    with pytest.raises(ValueError):
        async with turns.of("a"):
            raise ValueError
    assert len(turns) == 0
    async with turns.of("a"):
        assert turns.of("a").locked()
