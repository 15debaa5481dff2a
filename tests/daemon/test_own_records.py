"""What is left of a thread's own records is shown, what is lost is told, and no run is passed over."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from resumed.daemon.own_records import (
    BEGINNING_LOST,
    LIST_LOST,
    RESTORE_LOST,
    RUN_LOST,
    Owned,
    OwnRecords,
    open_own,
)
from resumed.daemon.runtime import state_folder
from resumed.daemon.storage.layout import Layout
from resumed.restore.events.journal import RestoreClosed, RestorePlanned
from resumed.restore.events.session import EntryAdded, PermissionsSet, TurnStarted
from resumed.restore.events.thread import SessionLinked
from tests.support.own_thread import THREAD, begin_run, begin_thread, event_of, meta_of, open_streams

SAID = EntryAdded(kind="message", role="user", text="a")


def _path(stream: str) -> Path:
    path = Layout.open(state_folder()).find_stream(stream)
    assert path is not None
    return path


async def _two_runs() -> tuple[str, str]:
    streams = open_streams()
    await begin_thread(streams)
    runs = [await begin_run(streams, TurnStarted(turn_id=turn), SAID) for turn in ("t", "u")]
    await streams.close()
    return runs[0], runs[1]


async def _opened(*sessions: str, agent_keeps_it: bool = False) -> OwnRecords:
    owned = Owned(thread_id=THREAD, sessions=sessions, agent_keeps_it=agent_keeps_it)
    records = await asyncio.to_thread(open_own, open_streams(), owned, {})
    assert records is not None
    return records


def _emptied(path: Path) -> None:
    path.write_bytes(b"")


def _flipped(line: int) -> Callable[[Path], None]:
    def flip(path: Path) -> None:
        lines = path.read_bytes().split(b"\n")
        lines[line] = lines[line].replace(b'"ts"', b'"tz"')
        path.write_bytes(b"\n".join(lines))

    return flip


async def test_whole_records_are_whole() -> None:
    first, second = await _two_runs()
    records = await _opened(first, second, "33333333-3333-4333-8333-333333333333")
    assert [*records.readings] == [f"thread:{THREAD}", f"session:{first}", f"session:{second}"]
    assert (records.unread, records.places_unread, records.lost, records.unlisted) == ([], [], "", ())


@pytest.mark.parametrize("lose", [Path.unlink, _emptied])
@pytest.mark.parametrize("agent_keeps_it", [False, True])
async def test_a_run_of_which_nothing_is_left(lose: Callable[[Path], None], agent_keeps_it: bool) -> None:
    first, second = await _two_runs()
    lose(_path(f"session:{first}"))
    records = await _opened(agent_keeps_it=agent_keeps_it)
    assert [*records.readings] == [f"thread:{THREAD}", f"session:{second}"]
    # What the agent keeps itself does not depend on ours.
    assert (records.unread, records.lost) == ([RUN_LOST], "" if agent_keeps_it else RUN_LOST)


@pytest.mark.parametrize("agent_keeps_it", [False, True])
async def test_what_follows_a_damaged_first_line_counts(agent_keeps_it: bool) -> None:
    _, second = await _two_runs()
    _flipped(0)(_path(f"session:{second}"))
    records = await _opened(agent_keeps_it=agent_keeps_it)
    assert [len(tail) for tail in records.tails] == [3, 3, 2]
    assert [found.kind for found in records.readings[f"session:{second}"].damage] == ["firstLine"]
    assert records.lost == ("" if agent_keeps_it else BEGINNING_LOST)


async def test_nothing_is_added_behind_a_damaged_first_line_of_the_thread() -> None:
    first, _ = await _two_runs()
    _flipped(0)(_path(f"thread:{THREAD}"))
    assert (await _opened(first, agent_keeps_it=True)).lost == BEGINNING_LOST


@pytest.mark.parametrize("lose", [Path.unlink, _emptied])
async def test_runs_are_found_without_the_list_of_them(lose: Callable[[Path], None]) -> None:
    first, second = await _two_runs()
    lose(_path(f"thread:{THREAD}"))
    records = await _opened(first, second)
    assert [*records.readings] == [f"session:{first}", f"session:{second}"]
    assert (records.unread, records.lost, records.unlisted) == ([LIST_LOST], "", (first, second))


@pytest.mark.parametrize(("line", "unlisted"), [(1, 0), (2, 1)])
async def test_a_run_is_found_whose_line_in_the_list_is_damaged(line: int, unlisted: int) -> None:
    runs = await _two_runs()
    _flipped(line)(_path(f"thread:{THREAD}"))
    records = await _opened(*runs)
    assert {f"session:{run}" for run in runs} < records.readings.keys()
    assert (records.unlisted, records.lost) == ((runs[unlisted],) if line == 2 else (runs[0],), "")


async def test_a_start_that_was_cut_off_is_no_thread() -> None:
    session, streams = "22222222-2222-4222-8222-222222222222", open_streams()
    facts = event_of(PermissionsSet(cause="start", approval="never"))
    await streams.create(f"session:{session}", event_of(meta_of(session)), facts)
    await streams.close()
    records = await _opened(session)
    assert (records.readings, records.unread) == ({}, [])


@pytest.mark.parametrize("outcome", ["cancelled", "restored"])
async def test_a_restore_without_its_first_line_is_still_told_from_a_run(outcome: str) -> None:
    streams = open_streams()
    await begin_thread(streams)
    planned = RestorePlanned(restore_id="r", through={}, seen={}, drift=(), steps=())
    session = await begin_run(
        streams, planned, RestoreClosed(restore_id="r", outcome=outcome), reason="resume"
    )
    await streams.close()
    _flipped(0)(_path(f"session:{session}"))
    is_run = f"session:{session}" in (await _opened()).readings
    assert is_run == (outcome == "restored")


async def test_a_restore_that_was_cut_off_without_its_first_line_is_told_and_is_not_at_work() -> None:
    streams = open_streams()
    await begin_thread(streams)
    planned = RestorePlanned(restore_id="r", through={}, seen={}, drift=(), steps=())
    session = await begin_run(streams, planned, reason="resume")
    await streams.close()
    assert (await _opened()).cut_off
    _flipped(0)(_path(f"session:{session}"))
    records = await _opened()
    assert (records.cut_off, records.places_unread, records.lost) == (False, [RESTORE_LOST], "")


async def test_a_restore_that_was_cut_off_is_found_without_the_list_of_runs() -> None:
    streams = open_streams()
    await begin_thread(streams)
    planned = RestorePlanned(restore_id="r", through={}, seen={}, drift=(), steps=())
    session = await begin_run(streams, planned, reason="resume")
    await streams.close()
    _path(f"thread:{THREAD}").unlink()
    for agent_keeps_it in (False, True):
        records = await _opened(session, agent_keeps_it=agent_keeps_it)
        assert (records.cut_off, records.unlisted) == ((True, (session,)) if agent_keeps_it else (False, ()))


async def test_a_run_that_names_the_thread_and_is_listed_is_read_once() -> None:
    first, second = await _two_runs()
    streams = open_streams()
    await streams.append(f"thread:{THREAD}", event_of(SessionLinked(session_id=first)))
    await streams.close()
    assert len((await _opened(second, first)).tails) == 3
