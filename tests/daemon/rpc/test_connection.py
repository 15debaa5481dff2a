import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

import pytest

from resumed.daemon.rpc.connection import Connection
from resumed.daemon.rpc.messages import Response
from resumed.protocol.daemon import ClientCapabilities, ClientInfo
from resumed.protocol.restore import Answer, Answers
from resumed.protocol.threads import NameSetResult
from tests.support.fake_application import QUESTION
from tests.support.pipes import End, stream_pair


class Connected(NamedTuple):
    """A connection and the client's end of it."""

    connection: Connection
    client: End

    async def line(self) -> Any:
        """The next message, sent in lines."""
        return json.loads(await asyncio.wait_for(self.client.reader.readline(), 10))


@pytest.fixture
async def connected() -> AsyncIterator[Connected]:
    """A client that speaks lines and can be asked."""
    async with stream_pair() as (ours, client):
        connection = Connection(3, *ours)
        connection.introduce(ClientInfo(name="test"), ClientCapabilities(restore_ask=True))
        bodies = connection.bodies()
        client.writer.write(b'{"hello":1}\n')
        assert await anext(bodies) == b'{"hello":1}'
        yield Connected(connection, client)
        await bodies.aclose()
        await connection.close()


async def test_it_is_named_by_its_number(connected: Connected) -> None:
    assert (connected.connection.id, connected.connection.info.name) == ("c3", "test")


async def test_a_question_is_answered(connected: Connected) -> None:
    asking = asyncio.ensure_future(connected.connection.ask(QUESTION))
    asked = await connected.line()
    assert (asked["method"], asked["params"]["threadName"]) == ("restore/ask", "Fix it")
    assert asked["id"].startswith("resumed:")
    connected.connection.settle(Response(asked["id"], {"answers": {"a.b": {"choice": "stay"}}}, None))
    assert await asking == Answers(answers={"a.b": Answer(choice="stay")})


async def test_questions_at_the_same_time_are_told_apart(connected: Connected) -> None:
    asking = [asyncio.ensure_future(connected.connection.ask(QUESTION)) for _ in range(2)]
    identifiers = [(await connected.line())["id"] for _ in asking]
    assert len(set(identifiers)) == 2
    connected.connection.settle(Response(identifiers[1], {"cancelled": True}, None))
    connected.connection.settle(Response(identifiers[0], {}, None))
    assert await asyncio.gather(*asking) == [Answers(), Answers(cancelled=True)]


@pytest.mark.parametrize(
    "response", [({"answers": 3}, None), (None, {"code": -32601, "message": "no"}), ("yes", None)]
)
async def test_nonsense_is_no_answer(connected: Connected, response: tuple[Any, Any]) -> None:
    asking = asyncio.ensure_future(connected.connection.ask(QUESTION))
    asked = await connected.line()
    connected.connection.settle(Response("resumed:99", {}, None))
    connected.connection.settle(Response(asked["id"], *response))
    connected.connection.settle(Response(asked["id"], {}, None))
    assert await asking is None


async def test_a_client_that_hangs_up_answers_nothing(connected: Connected) -> None:
    asking = asyncio.ensure_future(connected.connection.ask(QUESTION))
    await connected.line()
    connected.connection.hang_up()
    assert await asking is None
    assert await connected.connection.ask(QUESTION) is None
    assert not connected.connection.gone.is_set()
    await connected.connection.close()
    assert connected.connection.gone.is_set()


async def test_a_client_s_environment_is_not_kept(connected: Connected) -> None:
    info = ClientInfo(name="agent", pid=7, env={"PATH": "/bin", "API_KEY": "secret"})
    connected.connection.introduce(info, ClientCapabilities())
    assert connected.connection.info == ClientInfo(name="agent", pid=7)


async def test_a_client_that_cannot_be_asked_is_not(connected: Connected) -> None:
    connected.connection.introduce(ClientInfo(name="test"), ClientCapabilities())
    assert await connected.connection.ask(QUESTION) is None


async def test_a_withdrawn_question_is_cancelled_at_the_client(connected: Connected) -> None:
    asking = asyncio.ensure_future(connected.connection.ask(QUESTION))
    asked = await connected.line()
    asking.cancel()
    withdrawn = await connected.line()
    assert (withdrawn["method"], withdrawn["params"]) == ("$/cancelRequest", {"id": asked["id"]})
    with pytest.raises(asyncio.CancelledError):
        await asking


async def test_notifications_arrive_and_stop_when_the_client_is_gone(connected: Connected) -> None:
    connected.connection.notify("m", NameSetResult(thread_id="t", name="n"))
    assert (await connected.line())["params"] == {"threadId": "t", "name": "n"}
    connected.connection.hang_up()
    connected.connection.notify("m", NameSetResult(thread_id="t", name="late"))
    await connected.connection.close()
    assert await connected.client.reader.read() == b""


async def test_a_stream_that_is_no_frames_is_answered_and_ends() -> None:
    async with stream_pair() as (ours, client):
        connection = Connection(1, *ours)
        client.writer.write(b"GET / HTTP/1.1\r\n\r\n")
        client.writer.write_eof()
        assert [body async for body in connection.bodies()] == []
        await connection.close()
        assert b'"id":null,"error":{"code":-32700' in await client.reader.read()


async def test_who_is_refused_reads_the_end_while_it_stays_connected() -> None:
    async with stream_pair() as (ours, client):
        connection = Connection(1, *ours)
        client.writer.write(b"GET / HTTP/1.1\r\n\r\n")
        assert [body async for body in connection.bodies()] == []
        closing = asyncio.ensure_future(connection.close())
        assert b"The connection is being closed" in await client.reader.read()
        assert not closing.done(), "what it still sends is taken, so that it never fails in the middle"
        client.writer.write(b"x" * 1_000_000)
        await client.writer.drain()
        connection.send(b"too late")
        client.writer.close()
        await closing


async def test_what_waits_is_sent_before_it_closes() -> None:
    async with stream_pair() as (ours, client):
        connection = Connection(1, *ours)
        for _ in range(100):
            connection.send(b"x" * 100_000)
        closing = asyncio.ensure_future(connection.close())
        received = await client.reader.read()
        await closing
        assert received.count(b"x") == 10_000_000
