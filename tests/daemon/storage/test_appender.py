"""Appending: what is acknowledged is there, whatever the disk or a kill did in between."""

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from resumed.daemon.storage import appender as appender_module
from resumed.daemon.storage import disk
from resumed.daemon.storage.appender import Appended, Appender, Outcome, StreamHome
from resumed.daemon.storage.codec import encode_as
from resumed.daemon.storage.errors import (
    EventConflict,
    EventRefused,
    StateReadOnly,
    StorageFailed,
    StreamBusy,
)
from resumed.daemon.storage.reader import Reading
from resumed.daemon.storage.segments import segment_path
from resumed.restore.events.envelope import Unknown
from resumed.restore.events.journal import Note, Segment
from tests.support.streams import (
    appender,
    entry,
    largest_file,
    line,
    meta,
    now,
    program_environment,
    segment_line,
    seqs,
    stream_home,
    texts,
    wrapped,
)
from tests.support.sync_gate import synced_folders


@pytest.fixture
def home(tmp_path: Path) -> StreamHome:
    return stream_home(tmp_path)


def stored(home: StreamHome) -> list[str]:
    reading = Reading(home.first)
    found = texts(reading)
    assert reading.damage == ()
    return found


def numbers(outcome: Outcome) -> list[int]:
    assert isinstance(outcome, tuple), outcome
    return [appended.seq for appended in outcome]


def test_groups_are_numbered_on_and_found_again(home: StreamHome) -> None:
    with appender(home) as opened:
        outcomes = opened.commit([(meta(),), (entry("a"), entry("b")), (), (entry("c"),)])
        assert [numbers(outcome) for outcome in outcomes] == [[1], [2, 3], [], [4]]
        assert opened.seq == 4
    with appender(home) as opened:
        assert opened.seq == 4
        assert numbers(opened.commit([(entry("d"),)])[0]) == [5]
    assert stored(home) == ["a", "b", "c", "d"]
    assert home.first.stat().st_mode & 0o777 == 0o600


def test_an_opened_stream_is_durable_with_every_folder_above_it(
    home: StreamHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As a process leaves it that was killed between creating and syncing.
    home.first.parent.mkdir()
    home.first.touch()
    synced = synced_folders(monkeypatch)
    with appender(home):
        assert synced[-2:] == [home.first.parent, home.top]


def test_a_stream_is_begun_by_what_was_sent_and_not_by_its_own_notes(home: StreamHome) -> None:
    home.first.parent.mkdir()
    home.first.write_bytes(line("torn", 1)[:40])
    with appender(home) as opened:
        assert (opened.seq, opened.begun) == (1, False)
    with appender(home) as opened:
        assert not opened.begun
        opened.commit([(meta(),)])
        assert opened.begun
    with appender(home) as opened:
        assert opened.begun


def test_one_writer_at_a_time(home: StreamHome) -> None:
    with appender(home), pytest.raises(StreamBusy):
        Appender.open(home, now)
    with appender(home):
        pass


@pytest.mark.parametrize("reopen", [False, True])
def test_a_repeated_event_is_answered_and_another_content_is_a_conflict(
    home: StreamHome, reopen: bool
) -> None:
    details = {"b": (1, 2), "a": 0.1, "c": "\udc80"}
    note = wrapped(Note(kind="x", details=details), "n")
    with appender(home) as opened:
        opened.commit([(meta(),), (note,)])
        if not reopen:
            again = opened.commit([(note,)])
    if reopen:
        with appender(home) as opened:
            again = opened.commit([(note,)])
    assert again == [(Appended(2, True),)]
    before = home.first.read_bytes()
    with appender(home) as opened:
        reordered = wrapped(Note(kind="x", details=dict(reversed(details.items()))), "n")
        assert opened.commit([(reordered,)]) == [(Appended(2, True),)]
        for other in (
            wrapped(Note(kind="x", details={"a": 0.2}), "n"),
            entry("x", "n"),
            wrapped(Unknown(type="new", fields={"kind": "x"}), "n"),
        ):
            (conflict,) = opened.commit([(other,)])
            assert isinstance(conflict, EventConflict)
    assert home.first.read_bytes() == before


def test_repeats_within_one_write_are_answered_too(home: StreamHome) -> None:
    twice = entry("a", "twice")
    with appender(home) as opened:
        outcomes = opened.commit([(meta(),), (twice,), (twice,), (entry("b", "twice"),), (entry("c"),)])
    assert outcomes[:3] == [(Appended(1, False),), (Appended(2, False),), (Appended(2, True),)]
    assert isinstance(outcomes[3], EventConflict)
    assert numbers(outcomes[4]) == [3]
    assert stored(home) == ["a", "c"]


def test_a_refused_group_leaves_nothing_behind_and_no_gap(home: StreamHome) -> None:
    unfit = wrapped(Note(kind="x", details={"a": object()}))
    again = entry("kept", "again")
    with appender(home) as opened:
        outcomes = opened.commit([(meta(),), (entry("gone"), again, unfit), (again,), (entry("last"),)])
        assert isinstance(outcomes[1], EventRefused)
        assert [numbers(outcomes[2]), numbers(outcomes[3])] == [[2], [3]]
    assert stored(home) == ["kept", "last"]


def test_an_event_without_an_id_is_refused(home: StreamHome) -> None:
    nameless = msgspec.structs.replace(entry("a"), event_id="")
    with appender(home) as opened:
        assert isinstance(opened.commit([(meta(),), (nameless,)])[1], EventRefused)
        assert opened.seq == 1


def test_a_long_batch_goes_out_in_several_writes(home: StreamHome, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(appender_module, "GROUP_BYTES", 1000)
    writes: list[int] = []
    original = disk.write

    def write(descriptor: int, data: bytes | bytearray) -> None:
        writes.append(len(data))
        original(descriptor, data)

    monkeypatch.setattr(disk, "write", write)
    with appender(home) as opened:
        outcomes = opened.commit([(meta(),), *((entry(f"{n}"),) for n in range(20))])
    assert [numbers(outcome) for outcome in outcomes] == [[n] for n in range(1, 22)]
    assert 2 < len(writes) < 20
    assert max(writes) < 1500


@pytest.mark.parametrize("cut", [0, 1, 40, -2])
def test_a_torn_tail_is_declared_once_and_kept_aside(home: StreamHome, cut: int) -> None:
    with appender(home) as opened:
        opened.commit([(meta(),), (entry("a"),)])
    torn = line("lost", 3)[: cut or None]
    torn = torn if cut else torn.replace(b"lost", b"l0st").rstrip(b"\n")
    whole = home.first.read_bytes()
    home.first.write_bytes(whole + torn)
    with appender(home) as opened:
        assert opened.seq == 3
        assert numbers(opened.commit([(entry("b"),)])[0]) == [4]
    assert stored(home) == ["a", "b"]
    assert home.first.read_bytes().startswith(whole + torn + b"\n")
    assert [path.read_bytes() for path in home.quarantine.iterdir()] == [torn]
    after = home.first.read_bytes()
    with appender(home) as opened:
        assert opened.seq == 4
    assert home.first.read_bytes() == after


def test_a_last_line_that_only_lacks_its_end_counts(home: StreamHome) -> None:
    with appender(home) as opened:
        opened.commit([(meta(),), (entry("a", "a"),)])
    home.first.write_bytes(home.first.read_bytes()[:-1])
    with appender(home) as opened:
        assert opened.seq == 2
        assert opened.commit([(entry("a", "a"),), (entry("b"),)]) == [
            (Appended(2, True),),
            (Appended(3, False),),
        ]
    assert stored(home) == ["a", "b"]
    assert not home.quarantine.exists()


def test_a_damaged_line_that_nobody_declared_stays_damage(home: StreamHome) -> None:
    with appender(home) as opened:
        opened.commit([(meta(),), (entry("a"),)])
    home.first.write_bytes(home.first.read_bytes().replace(b'"text":"a"', b'"text":"b"'))
    with appender(home) as opened:
        assert opened.seq == 1
        opened.commit([(entry("c"),)])
    reading = Reading(home.first)
    assert texts(reading) == ["c"]
    assert [damage.kind for damage in reading.damage] == ["badLine"]


def test_a_damaged_first_line_and_a_newer_version_can_only_be_read(home: StreamHome) -> None:
    with appender(home) as opened:
        opened.commit([(meta(),), (entry("a"),)])
    whole = home.first.read_bytes()
    home.first.write_bytes(b"x" + whole)
    with pytest.raises(StateReadOnly, match="first line"):
        Appender.open(home, now)
    home.first.write_bytes(whole)
    newer = wrapped(Segment(schema_version=99, n=1, prev_seq=2, prev_crc=whole[-11:-3].decode(), reason="x"))
    segment_path(home.first, 1).write_bytes(encode_as(newer, 3, now()))
    with pytest.raises(StateReadOnly, match="newer version"):
        Appender.open(home, now)
    assert home.first.read_bytes() == whole
    with pytest.raises(StateReadOnly, match="newer version"):
        Appender.open(home, now)


def test_an_older_schema_is_continued_in_a_file_of_its_own(
    home: StreamHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    with appender(home) as opened:
        opened.commit([(meta(),), (entry("a"),)])
    old = home.first.read_bytes()
    monkeypatch.setattr(appender_module, "SCHEMA_VERSION", 2)
    with appender(home) as opened:
        assert numbers(opened.commit([(entry("b"),)])[0]) == [4]
    assert home.first.read_bytes() == old
    assert stored(home) == ["a", "b"]
    head = next(event for event in Reading(home.first) if isinstance(event.payload, Segment))
    assert isinstance(head.payload, Segment)
    assert (head.payload.schema_version, head.payload.reason) == (2, "schema version 1")


def test_a_short_write_seals_the_file_and_the_events_go_to_a_new_one(home: StreamHome) -> None:
    with appender(home) as opened:
        opened.commit([(meta(),), (entry("a"),)])
        size = home.first.stat().st_size
        with largest_file(size + 100):
            outcomes = opened.commit([(entry("b", "b"),), (entry("b", "b"),)])
        assert outcomes == [(Appended(4, False),), (Appended(4, True),)]
        assert opened.commit([(entry("b", "b"),)]) == [(Appended(4, True),)]
        assert numbers(opened.commit([(entry("c"),)])[0]) == [5]
    assert home.first.stat().st_size == size + 100
    assert stored(home) == ["a", "b", "c"]
    assert seqs(Reading(home.first)) == [1, 2, 3, 4, 5]
    with appender(home) as opened:
        assert opened.commit([(entry("b", "b"),), (entry("d"),)]) == [
            (Appended(4, True),),
            (Appended(6, False),),
        ]
    assert stored(home) == ["a", "b", "c", "d"]


def test_when_no_file_can_be_begun_appends_fail_until_one_can(home: StreamHome) -> None:
    with appender(home) as opened:
        opened.commit([(meta(),), (entry("a"),)])
        with largest_file(home.first.stat().st_size + 10):
            outcomes = opened.commit([(entry("x" * 1000),), (entry("y" * 1000),)])
            assert [type(outcome) for outcome in outcomes] == [StorageFailed, StorageFailed]
            assert outcomes[0] is not outcomes[1]
            assert opened.seq == 2
            assert isinstance(opened.commit([(entry("z" * 1000),)])[0], StorageFailed)
            assert opened.commit([()]) == [()]
        assert [path.name for path in home.first.parent.iterdir()] == [home.first.name]
        assert numbers(opened.commit([(entry("b"),)])[0]) == [4]
    assert stored(home) == ["a", "b"]


@pytest.fixture
def failing_sync(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Make the next n syncs of files fail; data stays written, as it does on a real disk."""
    left = [0]
    original = disk.sync

    def sync(descriptor: int) -> None:
        if left[0]:
            left[0] -= 1
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        original(descriptor)

    monkeypatch.setattr(disk, "sync", sync)
    return lambda times: left.__setitem__(0, times)


def test_after_a_failed_sync_nothing_unconfirmed_counts(
    home: StreamHome, failing_sync: Callable[[int], None]
) -> None:
    with appender(home) as opened:
        opened.commit([(meta(),), (entry("a"),)])
        failing_sync(1)
        assert numbers(opened.commit([(entry("b", "b"), entry("c"))])[0]) == [4, 5]
    assert home.first.read_bytes().count(b"\n") == 4
    assert stored(home) == ["a", "b", "c"]


def test_what_a_killed_writer_wrote_counts_only_when_it_is_synced(
    home: StreamHome, failing_sync: Callable[[int], None]
) -> None:
    with appender(home) as opened:
        opened.commit([(meta(),), (entry("a"),)])
    failing_sync(1)
    with pytest.raises(StorageFailed):
        Appender.open(home, now)
    with appender(home) as opened:
        assert opened.seq == 2


def test_failing_syncs_acknowledge_nothing_and_recover(
    home: StreamHome, failing_sync: Callable[[int], None]
) -> None:
    with appender(home) as opened:
        opened.commit([(meta(),), (entry("a"),)])
        failing_sync(2)
        assert isinstance(opened.commit([(entry("b", "b"),)])[0], StorageFailed)
        assert opened.seq == 2
        assert opened.commit([(entry("b", "b"),)]) == [(Appended(4, False),)]
    assert stored(home) == ["a", "b"]


def test_a_stream_whose_first_write_fails_begins_in_the_next_file(
    home: StreamHome, failing_sync: Callable[[int], None]
) -> None:
    with appender(home) as opened:
        failing_sync(1)
        assert numbers(opened.commit([(meta(),)])[0]) == [2]
        assert numbers(opened.commit([(entry("a"),)])[0]) == [3]
    assert stored(home) == ["a"]
    with appender(home) as opened:
        assert opened.seq == 3


def test_an_empty_file_of_a_killed_begin_is_passed_over(home: StreamHome) -> None:
    with appender(home) as opened:
        opened.commit([(meta(),), (entry("a"),)])
    segment_path(home.first, 1).touch()
    with appender(home) as opened:
        assert numbers(opened.commit([(entry("b"),)])[0]) == [3]
    assert stored(home) == ["a", "b"]
    segment_path(home.first, 2).write_bytes(segment_line(4, 3)[:20])
    with appender(home) as opened:
        assert numbers(opened.commit([(entry("c"),)])[0]) == [5]
    assert stored(home) == ["a", "b", "c"]


def append_program(folder: Path, failpoint: str, first: int = 1, last: int = 4) -> tuple[int, list[str]]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.append_program", str(folder), str(first), str(last)],
        env=program_environment(RESUMED_FAILPOINT=failpoint),
        cwd=Path(__file__).parents[3],
        stdout=subprocess.PIPE,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout.split()


def check_after_kill(home: StreamHome, acknowledged: list[str]) -> None:
    reading = Reading(home.first)
    events = list(reading)
    assert reading.damage == ()
    ids = [event.event_id for event in events if not isinstance(event.payload, Note)]
    assert ids[: len(acknowledged)] == acknowledged
    assert len(ids) <= len(acknowledged) + 1
    assert [event.seq for event in events] == list(range(1, len(events) + 1))


@pytest.mark.parametrize("point", ["stream.create", "stream.write", "stream.sync", "stream.acknowledge"])
def test_killed_anywhere_the_acknowledged_events_are_there(tmp_path: Path, point: str) -> None:
    for n in range(1, 7):
        home = stream_home(tmp_path / f"{n}")
        code, acknowledged = append_program(tmp_path / f"{n}", f"{point}:{n}")
        if code == 0:
            assert n > 1
            break
        assert code == -signal.SIGKILL
        check_after_kill(home, acknowledged)
        with appender(home) as opened:
            opened.commit([(meta(event_id="meta"),), *((entry(f"m{k}", f"m{k}"),) for k in range(1, 5))])
        assert stored(home) == ["m1", "m2", "m3", "m4"]
    else:
        pytest.fail("the program never ran to its end")


def test_killed_while_declaring_a_torn_tail_the_next_holder_declares_it(tmp_path: Path) -> None:
    home = stream_home(tmp_path)
    assert append_program(tmp_path, "")[0] == 0
    whole = home.first.read_bytes()
    torn = line("lost", 6)[:40]
    home.first.write_bytes(whole + torn)
    assert append_program(tmp_path, "stream.declare:1")[0] == -signal.SIGKILL
    assert home.first.read_bytes() == whole + torn
    # The same again, killed after the line end and a part of the declaration were written.
    home.first.write_bytes(whole + torn + b"\n" + line("note", 6)[:30])
    with appender(home) as opened:
        assert opened.seq == 7
        opened.commit([(entry("after"),)])
    assert stored(home) == ["m1", "m2", "m3", "m4", "after"]


def test_killed_while_declaring_a_torn_first_line_the_next_holder_declares_it(tmp_path: Path) -> None:
    home = stream_home(tmp_path)
    home.first.parent.mkdir(parents=True)
    torn = line("lost", 1)[:40]
    home.first.write_bytes(torn)
    with appender(home) as opened:
        assert opened.seq == 1
    home.first.write_bytes(torn + b"\n" + line("note", 1)[:30])
    with appender(home) as opened:
        opened.commit([(meta(),), (entry("after"),)])
    assert stored(home) == ["after"]
    reading = Reading(home.first)
    assert [event.seq for event in reading] == [1, 2, 3, 4]
    assert reading.damage == ()
