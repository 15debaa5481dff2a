import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

import pytest

from resumed.daemon.rpc.outbox import HARD_BUDGET, NOTIFICATION_BUDGET, PAUSE_READING, Outbox
from tests.support.pipes import End, comes_true, stream_pair

LARGE = 512 * 1024


class Sending(NamedTuple):
    """An outbox that is being sent, and the end that its client would read."""

    outbox: Outbox
    ours: End
    client: End

    def fill(self) -> None:
        """Send until the transport takes no more, so that what follows must wait."""
        for _ in range(4):
            self.outbox.send(message("filler", "x" * LARGE))


def message(kind: str, text: str) -> bytes:
    """A body of some kind."""
    return json.dumps([kind, text]).encode()


@pytest.fixture
async def sending() -> AsyncIterator[Sending]:
    async with stream_pair() as (ours, client):
        outbox = Outbox(ours.writer, lambda body: body + b"\n")
        running = asyncio.ensure_future(outbox.run())
        yield Sending(outbox, ours, client)
        running.cancel()


async def received(sending: Sending, count: int) -> list[Any]:
    """The next messages that are not filler."""
    found: list[Any] = []
    rest = b""
    while len(found) < count:
        rest += await sending.client.reader.read(1 << 20)
        *lines, rest = rest.split(b"\n")
        found += [json.loads(line) for line in lines if not line.startswith(b'["filler"')]
    return found


async def test_messages_go_out_in_order(sending: Sending) -> None:
    sending.outbox.send(message("a", "1"))
    sending.outbox.notify("m", message("b", "2"))
    sending.fill()
    sending.outbox.send(message("a", "3"))
    sending.outbox.notify("m", message("b", "4"))
    assert await received(sending, 4) == [["a", "1"], ["b", "2"], ["a", "3"], ["b", "4"]]
    await comes_true(lambda: sending.outbox.backlog == 0)


async def test_a_waiting_notification_of_the_same_key_is_replaced(sending: Sending) -> None:
    sending.fill()
    sending.outbox.notify("m", message("m", "old"), "t1")
    sending.outbox.notify("m", message("m", "other key"), "t2")
    sending.outbox.notify("n", message("n", "other method"), "t1")
    sending.outbox.notify("m", message("m", "new"), "t1")
    assert await received(sending, 3) == [["m", "new"], ["m", "other key"], ["n", "other method"]]
    sending.outbox.notify("m", message("m", "later"), "t1")
    assert await received(sending, 1) == [["m", "later"]]


async def test_overflow_drops_notifications_and_says_so_once(sending: Sending) -> None:
    sending.fill()
    sending.outbox.send(message("reply", "kept"))
    before = sending.outbox.backlog
    count = 3 * NOTIFICATION_BUDGET // 10_000
    for _ in range(count):
        sending.outbox.notify("m", message("m", "x" * 10_000))
    assert sending.outbox.backlog - before <= NOTIFICATION_BUDGET + 10_100
    sending.outbox.send(message("reply", "last"))
    found = await received(sending, 3)
    while found[-1] != ["reply", "last"]:
        found += await received(sending, 1)
    assert found[0] == ["reply", "kept"]
    resyncs = [entry for entry in found if isinstance(entry, dict)]
    assert [entry["method"] for entry in resyncs] == ["resync"]
    kept = sum(entry[0] == "m" for entry in found if isinstance(entry, list))
    assert resyncs[0]["params"]["dropped"] + kept == count
    sending.outbox.notify("m", message("m", "after"))
    assert await received(sending, 1) == [["m", "after"]]


async def test_a_heavy_backlog_stops_reading_until_it_is_taken(sending: Sending) -> None:
    await asyncio.wait_for(sending.outbox.writable(), 1)
    sending.outbox.send(message("filler", "x" * 2 * PAUSE_READING))
    waiting = asyncio.ensure_future(sending.outbox.writable())
    for _ in range(20):
        await asyncio.sleep(0)
    assert not waiting.done()
    taken = 0
    while taken < 2 * PAUSE_READING:
        taken += len(await sending.client.reader.read(1 << 20))
    await asyncio.wait_for(waiting, 10)


async def test_a_lost_connection_ends_every_wait(sending: Sending) -> None:
    sending.outbox.send(message("filler", "x" * 2 * PAUSE_READING))
    waiting = asyncio.ensure_future(sending.outbox.writable())
    await asyncio.sleep(0)
    sending.client.writer.transport.abort()
    await asyncio.wait_for(waiting, 10)
    await asyncio.wait_for(sending.outbox.flush(), 10)


async def test_replies_over_the_hard_budget_end_the_connection(sending: Sending) -> None:
    body = b"x" * (HARD_BUDGET // 4)
    for _ in range(4):
        assert not sending.ours.writer.transport.is_closing()
        sending.outbox.send(body)
    sending.outbox.send(body)
    assert sending.ours.writer.transport.is_closing()


async def test_flush_waits_until_all_is_with_the_transport(sending: Sending) -> None:
    sending.fill()
    sending.outbox.send(message("a", "last"))
    flushing = asyncio.ensure_future(sending.outbox.flush())
    assert await received(sending, 1) == [["a", "last"]]
    await asyncio.wait_for(flushing, 10)
