"""A program that keeps contents in a state folder and prints each name as soon as it is acknowledged, or
collects there. Arguments: the folder, and the numbers of the contents to put; without any it collects."""

import asyncio
import sys
from pathlib import Path

from resumed.daemon.storage.blobs import Blobs
from resumed.daemon.storage.collection import collect
from resumed.daemon.storage.layout import Layout
from tests.support.clock import FakeClock

LATER = "2026-02-02T00:00:00.000Z"


def content(number: int) -> bytes:
    """The content of that number: every second one is large enough for pages of its own."""
    return b"content %d " % number * (1 + number % 2 * 2000)


async def main() -> None:
    """Put one content per transaction, so that every passage of a failpoint is between two of them."""
    layout = Layout.open(Path(sys.argv[1]))
    clock = FakeClock() if sys.argv[2:] else FakeClock(LATER)
    blobs = Blobs(layout, clock.now, sys.exit)
    for number in sys.argv[2:]:
        print(await blobs.put(content(int(number))), flush=True)
    if not sys.argv[2:]:
        await collect(blobs, layout, clock.now)
    await blobs.close()


if __name__ == "__main__":
    asyncio.run(main())
