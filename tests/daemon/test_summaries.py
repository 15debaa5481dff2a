"""Rows as they are listed."""

import os
from pathlib import Path

from resumed.daemon.holders import Holders
from resumed.daemon.ports import processes
from resumed.daemon.storage.layout import Layout
from resumed.daemon.storage.lease import Lease, LeaseHolder, acquire
from resumed.daemon.storage.rows import ThreadRow
from resumed.daemon.summaries import Summaries
from resumed.daemon.views import UNFINISHED
from tests.support.streams import THREAD_ID, TS

OTHER_ID = "22222222-2222-4222-8222-222222222222"


def _row(thread_id: str, state: str) -> ThreadRow:
    return ThreadRow(
        thread_id=thread_id, name="n", agent="mender", root="/shop", state=state, created_at=TS,
        last_active_at=TS, source="own",
    )  # fmt: skip


async def test_one_that_is_open_here_or_being_restored_is_running(tmp_path: Path) -> None:
    layout = Layout.open(tmp_path)
    live: dict[str, str] = {}
    summaries = Summaries("/shop", live, Holders(layout))
    rows = [_row(THREAD_ID, UNFINISHED), _row(OTHER_ID, "idle")]
    listed = await summaries.of(rows)
    assert [(one.state, one.group) for one in listed] == [(UNFINISHED, "project"), ("idle", "project")]
    lease = acquire(
        layout, THREAD_ID, LeaseHolder(name="test", pid=os.getpid(), since=TS, owner=processes.owner())
    )
    assert isinstance(lease, Lease)
    live[OTHER_ID] = "run"
    assert await summaries.in_use(rows) == {THREAD_ID}
    assert [one.state for one in await summaries.of(rows)] == ["running", "running"]
    lease.release()
