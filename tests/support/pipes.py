"""Two connected asyncio streams within one process, over a real socket pair."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import NamedTuple


class End(NamedTuple):
    """One side of a pair."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter


@asynccontextmanager
async def stream_pair() -> AsyncIterator[tuple[End, End]]:
    """Open a pair; both ends are cut off afterwards."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    ends = [End(*await asyncio.open_unix_connection(sock=side)) for side in (ours, theirs)]
    try:
        yield ends[0], ends[1]
    finally:
        for end in ends:
            end.writer.transport.abort()
        await asyncio.sleep(0)


async def comes_true(condition: Callable[[], bool]) -> None:
    """Let the event loop turn until the condition holds; `TimeoutError` at the deadline."""
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110 - a condition of many sources has no event
            await asyncio.sleep(0.001)
