"""Rows of threads that have none, made together."""

import asyncio
import threading
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from resumed.daemon import new_rows, records, threads
from resumed.daemon.storage import purges
from resumed.daemon.storage.rows import FileCursor
from resumed.protocol.threads import ThreadListParams
from tests.support.scripted_session import Parts, opened
from tests.support.streams import TS, largest_file
from tests.support.written_threads import write_thread


def _unlisted(parts: Parts, count: int) -> list[new_rows.Unlisted]:
    ids = [str(uuid.uuid4()) for _ in range(count)]
    found = []
    for thread_id in ids:
        path = write_thread(parts.layout, thread_id, 300)
        cursor = FileCursor(
            path=str(path), device=1, inode=1, size=1, mtime_ns=1, thread_id=thread_id, head=b""
        )
        found.append(new_rows.Unlisted(records.Source(thread_id=thread_id, agent=None, path=None), [cursor]))
    return found


def _place(parts: Parts) -> new_rows.Place:
    return new_rows.Place(parts.index, parts.layout, parts.streams, set())


async def _put(parts: Parts, unlisted: Sequence[new_rows.Unlisted]) -> list[list[new_rows.Made]]:
    putting = new_rows.put(_place(parts), unlisted, lambda: TS)
    return [made async for made in putting]


async def test_they_are_listed_after_each_transaction(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(new_rows, "AT_ONCE", 2)
    async with opened(tmp_path, 1) as parts:
        unlisted = _unlisted(parts, 5)
        putting = new_rows.put(_place(parts), unlisted, lambda: TS)
        counts = [(len(made), (await parts.index.counts()).threads) async for made in putting]
        assert counts == [(2, 2), (2, 4), (1, 5)]
        assert {cursor.path for cursor in await parts.index.files()} == {one.read[0].path for one in unlisted}


async def test_those_with_much_on_record_are_written_sooner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(new_rows, "EVENTS_AT_ONCE", 1)
    async with opened(tmp_path, 1) as parts:
        assert [len(made) for made in await _put(parts, _unlisted(parts, 3))] == [1, 1, 1]


async def test_a_row_that_came_meanwhile_stays(tmp_path: Path) -> None:
    async with opened(tmp_path, 1) as parts:
        (one,) = _unlisted(parts, 1)
        ((made,),) = await _put(parts, [one])
        assert made.row is not None
        fresher = await parts.index.row(one.source.thread_id)
        assert fresher == made.row
        again = write_thread(parts.layout, one.source.thread_id, 5000)
        assert again.exists()
        await _put(parts, [one])
        assert await parts.index.row(one.source.thread_id) == fresher


async def test_one_that_fails_or_is_being_removed_hides_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(tmp_path, 1) as parts:
        bad, removed, good = _unlisted(parts, 3)
        nothing = new_rows.Unlisted(
            records.Source(thread_id=str(uuid.uuid4()), agent=None, path=None), good.read
        )
        purges.begin(parts.layout, purges.Purge(thread_id=removed.source.thread_id, sessions=()))
        build = records.build

        def built(streams: Any, source: records.Source, saved: bytes | None) -> records.Built:
            if source == bad.source:
                raise ValueError("a record that nobody thought of")
            return build(streams, source, saved)

        monkeypatch.setattr(records, "build", built)
        (made,) = await _put(parts, [bad, removed, nothing, good])
        assert [(one.of, one.failed, one.row is None) for one in made] == [
            (bad, True, True),
            (nothing, False, True),
            (good, False, False),
        ]
        assert await parts.index.thread_ids() == {good.source.thread_id}
        assert [cursor.path for cursor in await parts.index.files()] == [good.read[0].path]


async def test_what_a_glance_finds_damaged_is_looked_at_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(tmp_path, 1) as parts:
        moved, lost = _unlisted(parts, 2)
        glance = parts.streams.glance()
        missing = [Path(one.read[0].path) for one in (moved, lost)]
        beside = tmp_path / "beside"
        beside.mkdir()
        for path in missing:
            path.rename(beside / path.name)
        # The glance is from when neither run was there; since then one of them has come back.
        assert not any(glance.exists(f"session:{path.stem[-36:]}") for path in missing)
        (beside / missing[0].name).rename(missing[0])
        monkeypatch.setattr(parts.streams, "glance", lambda: glance)
        (made,) = await _put(parts, [moved, lost])
        assert [one.row is not None and one.row.damaged for one in made] == [False, True]


async def test_lists_are_served_while_they_are_made_and_say_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reached, go = threading.Event(), threading.Event()
    build = records.build
    built: list[str] = []

    def held_up(streams: Any, source: records.Source, saved: bytes | None) -> records.Built:
        built.append(source.thread_id)
        if len(built) > new_rows.AT_ONCE and not reached.is_set():
            reached.set()
            assert go.wait(30)
        return build(streams, source, saved)

    monkeypatch.setattr(records, "build", held_up)
    monkeypatch.setattr(threads, "WAIT_SECONDS", 0)
    everything = ThreadListParams(scope="all", limit=threads.MAX_LIMIT)
    async with opened(tmp_path, 1) as parts:
        count = 2 * new_rows.AT_ONCE
        _unlisted(parts, count)
        await parts.threads.look_again()
        assert await asyncio.to_thread(reached.wait, 30)
        page = await parts.threads.page(everything)
        assert parts.threads.refreshing
        assert {row.thread_id for row in page.threads} == {*built[: new_rows.AT_ONCE]}
        assert page.notes == ("Not everything has been read yet; the list may be incomplete.",)
        go.set()
        await parts.threads.looked()
        page = await parts.threads.page(everything)
        assert len(page.threads) == count


async def test_what_cannot_be_written_is_told_and_can_be_tried_again(tmp_path: Path) -> None:
    async with opened(tmp_path, 1) as parts:
        unlisted = _unlisted(parts, 2)
        with largest_file(1):
            (made,) = await _put(parts, unlisted)
        assert [(one.failed, one.row) for one in made] == [(True, None)] * 2
        (made,) = await _put(parts, unlisted)
        assert await parts.index.thread_ids() == {one.source.thread_id for one in unlisted}


async def test_one_that_is_removed_for_good_meanwhile_gets_no_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reached, go = threading.Event(), threading.Event()
    build = records.build

    def held_up(streams: Any, source: records.Source, saved: bytes | None) -> records.Built:
        built = build(streams, source, saved)
        reached.set()
        assert go.wait(30)
        return built

    monkeypatch.setattr(records, "build", held_up)
    monkeypatch.setattr(threads, "WAIT_SECONDS", 0)
    async with opened(tmp_path, 1) as parts:
        (one,) = _unlisted(parts, 1)
        thread_id = one.source.thread_id
        await parts.threads.look_again()
        assert await asyncio.to_thread(reached.wait, 30)
        for path in (parts.layout.thread_path(thread_id), Path(one.read[0].path)):
            path.unlink()
        await parts.threads.forget(thread_id)
        go.set()
        await parts.threads.looked()
        assert await parts.index.row(thread_id) is None
        assert await parts.index.files() == ()
