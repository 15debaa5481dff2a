"""A thread is held by one, and whoever comes second is told by whom."""

import asyncio
import contextlib
import errno
import os
import threading
import uuid

import pytest

from resumed.daemon.leases import Leases
from resumed.daemon.ports.clock import SystemClock
from resumed.daemon.runtime import state_folder
from resumed.daemon.storage.layout import Layout
from resumed.daemon.storage.lease import Lease, LeaseHolder, acquire
from resumed.protocol.daemon import ClientInfo
from resumed.protocol.errors import ErrorCode, ResumedError

EDITOR = ClientInfo(name="editor", pid=4711)
OTHER = ClientInfo(name="other")


async def test_the_second_is_told_who_holds_it() -> None:
    leases, thread = Leases(Layout.open(state_folder()), SystemClock()), str(uuid.uuid4())
    lease = await leases.take(thread, EDITOR)
    with pytest.raises(ResumedError) as refused:
        await leases.take(thread, OTHER)
    assert refused.value.code is ErrorCode.THREAD_BUSY
    holder = refused.value.data.holder
    assert holder is not None
    assert (holder.name, holder.pid, holder.since) == ("editor", 4711, lease.holder.since)
    assert refused.value.data.ways == ("thread/release",)
    assert leases.count == 1


async def test_it_is_free_after_the_block_even_if_it_fails() -> None:
    leases, thread = Leases(Layout.open(state_folder()), SystemClock()), str(uuid.uuid4())
    with pytest.raises(RuntimeError):
        async with leases.held(thread, EDITOR):
            raise RuntimeError
    assert leases.count == 0
    async with leases.held(thread, OTHER):
        assert leases.count == 1


async def test_a_full_disk_leaks_no_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    leases, thread = Leases(Layout.open(state_folder()), SystemClock()), str(uuid.uuid4())

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr("resumed.daemon.storage.lease.os.pwrite", full)
        with pytest.raises(ResumedError) as refused:
            await leases.take(thread, EDITOR)
    assert refused.value.code is ErrorCode.STORAGE_FAILED
    async with leases.held(thread, EDITOR):
        assert leases.count == 1


async def test_a_lease_that_comes_after_its_request_was_cancelled_is_given_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    leases, thread = Leases(Layout.open(state_folder()), SystemClock()), str(uuid.uuid4())
    asked, go = threading.Event(), threading.Event()

    def slowly(layout: Layout, thread_id: str, holder: LeaseHolder) -> Lease | LeaseHolder:
        asked.set()
        assert go.wait(60)
        return acquire(layout, thread_id, holder)

    monkeypatch.setattr("resumed.daemon.leases.acquire", slowly)
    taking = asyncio.create_task(leases.take(thread, EDITOR))
    assert await asyncio.to_thread(asked.wait, 60)
    taking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await taking
    go.set()
    async with asyncio.timeout(60):
        while True:
            with contextlib.suppress(ResumedError):
                leases.give_back(await leases.take(thread, OTHER))
                break
    assert leases.count == 0
