"""Appends beside a loop that does nothing else, a long conversation opened, an index made anew; and how long
the event loop stood still in each."""

import asyncio
import gc
import os
import resource
import time
import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path

from resumed.daemon import records
from resumed.daemon.interpreter import take_short_turns
from resumed.daemon.storage.codec import encode_as
from resumed.daemon.storage.layout import Layout
from resumed.daemon.storage.streams import Streams
from resumed.restore.events import SCHEMA_VERSION
from resumed.restore.events.thread import ThreadMeta
from tests.benchmarks.measure import Figure
from tests.support.scripted_session import THREAD_ID, opened
from tests.support.streams import TS, entry, now, wrapped
from tests.support.written_threads import write_thread

TEXT = "round down " * 20
APPENDS = 2000
LONG_BYTES = 100 << 20
THREADS = 2000
LOOK_SECONDS = 0.001


class Pulse:
    """Looks every millisecond whether the event loop still turns; `longest` is its longest stall in ms."""

    def __init__(self) -> None:
        self.longest = 0.0

    async def during(self, work: Awaitable[object]) -> float:
        """Await the work; return how many seconds it took."""
        beating = asyncio.create_task(self._beat())
        begin = time.perf_counter()
        await work
        taken = time.perf_counter() - begin
        await asyncio.sleep(LOOK_SECONDS)
        beating.cancel()
        return taken

    async def _beat(self) -> None:
        while True:
            begin = time.perf_counter()
            await asyncio.sleep(LOOK_SECONDS)
            self.longest = max(self.longest, (time.perf_counter() - begin - LOOK_SECONDS) * 1000)


async def figures(base: Path) -> list[Figure]:
    """Everything that the storage has to be fast at, with the interpreter set as a daemon's is."""
    take_short_turns()
    gc.freeze()
    found = [await _appends(base, appenders) for appenders in (1, 8, 64)]
    found += await _long_thread(base)
    found.append(await _rebuilt(base))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return [*found, Figure(what="peak memory of all of storage's figures", measured=f"{peak:.0f} MB")]


async def _appends(base: Path, appenders: int) -> Figure:
    layout, pulse = Layout.open(base / f"appends-{appenders}"), Pulse()
    streams = Streams(layout, now)
    meta = ThreadMeta(
        schema_version=SCHEMA_VERSION, thread_id=THREAD_ID, agent="mender", storage_class="own", created_at=TS
    )
    stream, count = f"thread:{THREAD_ID}", APPENDS if appenders > 1 else APPENDS // 4
    await streams.create(stream, wrapped(meta))

    async def append() -> None:
        for _ in range(count // appenders):
            await streams.append(stream, entry(TEXT))

    taken = await pulse.during(asyncio.gather(*(append() for _ in range(appenders))))
    await streams.close()
    bare = await asyncio.to_thread(_bare, base / f"bare-{appenders}", count, appenders)
    return Figure(
        what=f"appends by {appenders}, all durable",
        measured=f"{count / taken:,.0f}/s, loop still for {pulse.longest:.1f} ms",
        anchor=f"encode, checksum, write, sync {appenders} at a time: {count / bare:,.0f}/s",
        ratio=f"{bare / taken:.0%}",
        goal=">= 60%, <= 20 ms",
    )


def _bare(path: Path, count: int, at_once: int) -> float:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    begin = time.perf_counter()
    for group in range(count // at_once):
        lines = (encode_as(entry(TEXT), group * at_once + n, TS) for n in range(at_once))
        os.write(descriptor, b"".join(lines))
        os.fdatasync(descriptor)
    taken = time.perf_counter() - begin
    os.close(descriptor)
    return taken


async def _long_thread(base: Path) -> list[Figure]:
    home = base / "long"
    session = await asyncio.to_thread(write_thread, Layout.open(home), THREAD_ID, LONG_BYTES)
    size = session.stat().st_size
    async with opened(home, 1) as parts:
        source = await parts.threads.source(THREAD_ID)
        cold = await _opening(parts.streams, source, None)
        saved = cold[0].checkpoint
        assert saved is not None
        warm = await _opening(parts.streams, source, saved)
    megabytes = size / (1 << 20)
    return [
        Figure(
            what=f"a conversation of {megabytes:.0f} MB opened cold",
            measured=f"{megabytes / cold[1]:.0f} MB/s, loop still for {cold[2]:.1f} ms",
            goal=">= 80 MB/s, <= 20 ms",
        ),
        Figure(
            what="the same with a checkpoint",
            measured=f"{warm[1] * 1000:.0f} ms, loop still for {warm[2]:.1f} ms",
            goal="<= 150 ms, <= 20 ms",
        ),
    ]


async def _opening(
    streams: Streams, source: records.Source, saved: bytes | None
) -> tuple[records.Built, float, float]:
    pulse, built = Pulse(), asyncio.to_thread(records.build, streams, source, saved)
    opening = asyncio.ensure_future(built)
    taken = await pulse.during(opening)
    return opening.result(), taken, pulse.longest


async def _rebuilt(base: Path) -> Figure:
    home, pulse = base / "many", Pulse()
    layout = Layout.open(home)
    for _ in range(THREADS):
        await asyncio.to_thread(write_thread, layout, str(uuid.uuid4()), 2000)
    async with opened(home, 1) as parts:
        taken = await pulse.during(_until(parts.threads.look_again, lambda: not parts.threads.refreshing))
        assert parts.threads.count == THREADS
    return Figure(
        what=f"the index of {THREADS:,} conversations made anew",
        measured=f"{taken * 1000:.0f} ms, loop still for {pulse.longest:.1f} ms",
        goal="<= 3,000 ms, <= 20 ms",
    )


async def _until(call: Callable[[], Awaitable[None]], holds: Callable[[], bool]) -> None:
    await call()
    while not holds():
        await call()
