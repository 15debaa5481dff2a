"""Work that is finished even when whoever waits for it is cancelled."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

Result = TypeVar("Result")


async def uninterrupted(work: Awaitable[Result]) -> Result:
    """Wait until the work has ended, and return its result or raise what it raised.

    A cancellation of the caller is raised only once the work has ended; what came of it is then
    not told."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is None:
        return task.result()
    if not task.cancelled():
        task.exception()
    raise cancelled
