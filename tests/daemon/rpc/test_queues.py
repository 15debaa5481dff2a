import asyncio

from resumed.daemon.rpc.queues import KeyedQueues


async def turns(*steps: asyncio.Task[None]) -> None:
    """Let everything run that can run."""
    for _ in range(10):
        await asyncio.sleep(0)


async def test_equal_keys_take_turns_and_others_do_not_wait() -> None:
    queues = KeyedQueues()
    first, second, other = queues.enter("a"), queues.enter("a"), queues.enter("b")
    waiting = asyncio.ensure_future(second.turn())
    await first.turn()
    await other.turn()
    await turns()
    assert not waiting.done()
    first.leave()
    await waiting
    second.leave()
    other.leave()
    await turns()
    assert len(queues) == 0


async def test_leaving_before_the_turn_keeps_the_order() -> None:
    queues = KeyedQueues()
    first, second, third = queues.enter("a"), queues.enter("a"), queues.enter("a")
    waiting = asyncio.ensure_future(third.turn())
    second.leave()
    await turns()
    assert not waiting.done()
    first.leave()
    await waiting
    third.leave()
    await turns()
    assert len(queues) == 0


async def test_a_cancelled_wait_cancels_nobody_else() -> None:
    queues = KeyedQueues()
    first, second, third = queues.enter("a"), queues.enter("a"), queues.enter("a")
    cancelled, waiting = asyncio.ensure_future(second.turn()), asyncio.ensure_future(third.turn())
    await turns()
    cancelled.cancel()
    await turns()
    second.leave()
    assert cancelled.cancelled()
    assert not waiting.done()
    first.leave()
    await waiting


async def test_a_turn_is_left_however_its_block_ends() -> None:
    queues, order = KeyedQueues(), []

    async def work(name: str) -> None:
        async with queues.held("a"):
            order.append(name)
            await asyncio.sleep(0)
            order.append(name)
            raise KeyError(name)

    await asyncio.gather(work("one"), work("two"), return_exceptions=True)
    assert order == ["one", "one", "two", "two"]
    await turns()
    assert len(queues) == 0
