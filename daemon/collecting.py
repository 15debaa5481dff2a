"""Collects kept contents while nobody needs the daemon: some time after its start, then once a day.

Reading the streams and SQLite's own work are on threads; nobody who comes meanwhile waits for it.
"""

import logging
from collections.abc import Awaitable, Callable

from resumed.daemon.storage.collection import Collected, NotCollected
from resumed.daemon.storage.errors import StorageError

LOOK_SECONDS = 60.0
"""Between two looks at whether the daemon is needed."""
DAY_SECONDS = 24 * 3600.0

_LOG = logging.getLogger(__name__)

Rest = Callable[[float], Awaitable[None]]
"""Waits that many seconds."""


async def collect_when_idle(
    collect: Callable[[], Awaitable[Collected | NotCollected | None]], busy: Callable[[], bool], rest: Rest
) -> None:
    """Go on for ever: rest, and collect when nobody is `busy` here; after that rest for a day. What
    keeps it from collecting is logged, and tried again the next day. `collect` gives `None` where it is not
    due."""
    while True:
        await rest(LOOK_SECONDS)
        if busy():
            continue
        try:
            done = await collect()
        except (StorageError, OSError) as failure:
            _LOG.warning("kept contents were not collected: %s", failure)
        else:
            _tell(done)
        await rest(DAY_SECONDS)


def _tell(done: Collected | NotCollected | None) -> None:
    match done:
        case Collected() if done.removed:
            _LOG.info("%d kept contents that nothing names were removed", done.removed)
        case Collected() | None:
            pass
        case NotCollected():
            _LOG.warning("%s", done.sentence)
