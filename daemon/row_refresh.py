"""Brings a thread's row up to date after something of it has become durable.

What is durable is never answered as failed because the index, which is only a hint, lags.
"""

import logging

from resumed.daemon.threads import Threads

_log = logging.getLogger(__name__)


async def refresh_row(threads: Threads, thread_id: str) -> None:
    """Refresh the row and tell; a failure is logged, and noted where threads are listed."""
    try:
        await threads.changed(thread_id)
    except Exception:
        _log.exception("the row of thread %s could not be refreshed", thread_id)
        threads.notes["The list of conversations may lag behind the record: it could not be updated."] = None
