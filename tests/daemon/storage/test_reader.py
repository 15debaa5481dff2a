"""Reading: good events always come, what is lost is said, and no file changes."""

import hashlib
from pathlib import Path

import msgspec
import pytest

from resumed.daemon.storage import reader
from resumed.daemon.storage.codec import checksum_of
from resumed.daemon.storage.quarantine import copy_aside
from resumed.daemon.storage.reader import Position, Reading, SentReading
from resumed.daemon.storage.segments import segment_path
from tests.support.streams import line, note_line, segment_line, seqs, texts


def kinds(reading: Reading) -> list[str]:
    return [damage.kind for damage in reading.damage]


@pytest.fixture
def first(tmp_path: Path) -> Path:
    return tmp_path / "s.jsonl"


def lines(*numbers: int) -> list[bytes]:
    return [line(f"m{number}", number) for number in numbers]


def test_a_whole_stream(first: Path) -> None:
    stored = lines(1, 2, 3)
    first.write_bytes(b"".join(stored))
    reading = Reading(first)
    assert texts(reading) == ["m1", "m2", "m3"]
    assert (reading.damage, reading.trailing, reading.restarted) == ((), (), False)
    assert reading.position == Position(
        file="s.jsonl", offset=first.stat().st_size, seq=3, crc=checksum_of(stored[2])
    )


def test_no_stream_and_an_empty_one(first: Path) -> None:
    assert texts(Reading(first)) == []
    first.touch()
    reading = Reading(first)
    assert (texts(reading), reading.position, reading.seq, reading.crc) == ([], None, 0, "00000000")


def test_tearing_the_last_line_at_every_byte_loses_only_that_line(first: Path) -> None:
    stored = lines(1, 2)
    for length in range(len(stored[1])):
        first.write_bytes(stored[0] + stored[1][:length])
        reading = Reading(first)
        whole = length == len(stored[1]) - 1
        assert texts(reading) == (["m1", "m2"] if whole else ["m1"]), length
        assert reading.damage == ()
        assert [(loose.offset, loose.length, loose.torn) for loose in reading.trailing] == (
            [] if whole or length == 0 else [(len(stored[0]), length, True)]
        )
        assert reading.line_ended != whole
        assert first.read_bytes() == stored[0] + stored[1][:length]


def test_changing_any_byte_of_the_middle_costs_that_line_and_is_said(first: Path) -> None:
    stored = lines(1, 2, 3)
    for position in range(len(stored[1]) - 1):
        changed = bytearray(stored[1])
        changed[position] ^= 1
        if changed[position] == 0x0A:
            continue
        first.write_bytes(stored[0] + changed + stored[2])
        reading = Reading(first)
        assert texts(reading) == ["m1", "m3"]
        (damage,) = reading.damage
        assert (damage.kind, damage.seq_before, damage.seq_after) == ("badLine", 1, 3)
        assert (damage.offset, damage.length) == (len(stored[0]), len(stored[1]) - 1)


def test_a_lost_line_end_joins_two_lines(first: Path) -> None:
    stored = lines(1, 2, 3, 4)
    first.write_bytes(stored[0] + stored[1][:-1] + stored[2] + stored[3])
    reading = Reading(first)
    assert texts(reading) == ["m1", "m4"]
    (damage,) = reading.damage
    assert (damage.seq_before, damage.seq_after) == (1, 4)


def test_windows_line_ends_are_the_same_lines(first: Path) -> None:
    first.write_bytes(b"".join(stored.replace(b"\n", b"\r\n") for stored in lines(1, 2)))
    reading = Reading(first)
    assert texts(reading) == ["m1", "m2"]
    assert texts(Reading(first, reading.position)) == []
    assert reading.damage == ()


def test_a_damaged_first_line_leaves_the_others_readable(first: Path) -> None:
    first.write_bytes(b"x" + b"".join(lines(1, 2, 3)))
    reading = Reading(first)
    assert texts(reading) == ["m2", "m3"]
    assert kinds(reading) == ["firstLine"]


def test_gaps_and_repeats_are_reported_and_the_first_counts(first: Path) -> None:
    first.write_bytes(b"".join(lines(1, 2, 5)) + line("again", 2) + b"".join(lines(6)))
    reading = Reading(first)
    assert texts(reading) == ["m1", "m2", "m5", "m6"]
    assert [(damage.kind, damage.seq_before, damage.seq_after) for damage in reading.damage] == [
        ("gap", 2, 5),
        ("duplicate", 5, 2),
    ]


def torn_note(torn: bytes, offset: int, seq: int) -> bytes:
    sha256 = hashlib.sha256(torn).hexdigest()
    return note_line(seq, "torn_tail", file="s.jsonl", offset=offset, length=len(torn), sha256=sha256)


def test_a_declared_torn_tail_is_healed(first: Path) -> None:
    stored = lines(1, 3)
    torn = line("lost", 2)[:50]
    declared = torn_note(torn, len(stored[0]), 2)
    first.write_bytes(stored[0] + torn + b"\n" + declared + stored[1])
    reading = Reading(first)
    assert texts(reading) == ["m1", "m3"]
    assert reading.damage == ()


def test_a_declaration_of_other_bytes_heals_nothing(first: Path) -> None:
    stored = lines(1)[0]
    torn = line("lost", 2)[:50]
    first.write_bytes(stored + torn.replace(b"seq", b"sEq") + b"\n" + torn_note(torn, len(stored), 2))
    reading = Reading(first)
    assert seqs(reading) == [1, 2]
    assert kinds(reading) == ["badLine"]


def test_a_torn_first_line_that_was_declared_is_no_damage(first: Path) -> None:
    torn = line("lost", 1)[:30]
    first.write_bytes(torn + b"\n" + torn_note(torn, 0, 1) + line("m2", 2))
    reading = Reading(first)
    assert texts(reading) == ["m2"]
    assert reading.damage == ()


def test_what_a_writer_says_of_its_files_was_not_sent(first: Path) -> None:
    stored = lines(2, 4)
    torn = line("lost", 1)[:30]
    first.write_bytes(torn + b"\n" + torn_note(torn, 0, 1) + stored[0])
    continued = segment_line(3, 2, checksum_of(stored[0])) + stored[1] + note_line(5, "hook_failed")
    segment_path(first, 1).write_bytes(continued)
    assert seqs(Reading(first)) == [1, 2, 3, 4, 5]
    sent = SentReading(first, first.parent / "quarantine")
    assert seqs(sent) == [2, 4, 5]
    assert sent.position is not None
    assert (sent.seq, sent.damage) == (5, ())
    assert seqs(SentReading(first, first.parent / "quarantine", sent.position)) == []


def test_a_torn_line_whose_declaration_was_cut_off_is_no_damage(first: Path) -> None:
    stored, torn = lines(1)[0], line("lost", 2)[:50]
    first.write_bytes(stored + torn + b"\n" + torn_note(torn, len(stored), 2)[:30])
    quarantine = first.parent / "quarantine"
    undeclared = SentReading(first, quarantine)
    assert texts(undeclared) == ["m1"]
    assert kinds(undeclared) == ["badLine"]
    copy_aside(quarantine, first, undeclared.trailing[0])
    reading = SentReading(first, quarantine)
    assert texts(reading) == ["m1"]
    assert reading.damage == ()
    assert reading.trailing == undeclared.trailing


def test_what_a_sealed_file_holds_behind_the_seal_does_not_count(first: Path) -> None:
    stored = lines(1, 2, 3)
    crc = checksum_of(stored[1])
    continued = segment_line(3, 2, crc) + line("m3 again", 4)
    segment_path(first, 1).write_bytes(continued)
    for tail in (b"", stored[2], stored[2][:40], stored[2] + b"garbage\n" + stored[2][:9]):
        first.write_bytes(stored[0] + stored[1] + tail)
        reading = Reading(first)
        assert texts(reading) == ["m1", "m2", "m3 again"]
        assert (reading.damage, reading.trailing) == ((), ())
        assert reading.seq == 4
        assert reading.position is not None
        assert reading.position.file == "s.1.jsonl"


def test_damage_before_a_seal_does_not_let_superseded_events_in(first: Path) -> None:
    stored = lines(1, 2, 3, 4)
    first.write_bytes(stored[0] + stored[1] + stored[2].replace(b"m3", b"M3") + stored[3])
    segment_path(first, 1).write_bytes(segment_line(4, 3, checksum_of(stored[2])) + line("m4 again", 5))
    reading = Reading(first)
    assert texts(reading) == ["m1", "m2", "m4 again"]
    assert [(damage.kind, damage.seq_before, damage.seq_after) for damage in reading.damage] == [
        ("badLine", 2, 4)
    ]


def test_events_lost_before_a_seal_are_said(first: Path) -> None:
    stored = lines(1, 2, 3)
    segment_path(first, 1).write_bytes(segment_line(4, 3, checksum_of(stored[2])) + line("m5", 5))
    first.write_bytes(stored[0] + stored[1][:-4])
    reading = Reading(first)
    assert texts(reading) == ["m1", "m5"]
    assert [(damage.kind, damage.seq_before, damage.seq_after) for damage in reading.damage] == [
        ("badLine", 1, 4)
    ]
    first.unlink()
    reading = Reading(first)
    assert texts(reading) == ["m5"]
    assert kinds(reading) == ["gap"]


def test_a_file_that_continues_another_stream_is_said(first: Path) -> None:
    first.write_bytes(lines(1)[0])
    segment_path(first, 1).write_bytes(segment_line(2, 1, "12345678") + line("m3", 3))
    reading = Reading(first)
    assert texts(reading) == ["m1", "m3"]
    assert kinds(reading) == ["chain"]


def test_reading_goes_on_from_every_position(first: Path) -> None:
    stored = lines(1, 2, 3)
    first.write_bytes(b"".join(stored))
    segment_path(first, 1).write_bytes(segment_line(4, 3, checksum_of(stored[2])) + line("m5", 5))
    positions = []
    whole = Reading(first)
    for _ in whole:
        positions.append(whole.position)
    for index, position in enumerate(positions):
        reading = Reading(first, position)
        assert seqs(reading) == list(range(index + 2, 6))
        assert (reading.restarted, reading.damage) == (False, ())
        assert reading.position == whole.position


def test_a_line_end_that_came_later_is_stepped_over(first: Path) -> None:
    stored = lines(1, 2)
    first.write_bytes(stored[0].rstrip(b"\n"))
    early = Reading(first)
    assert texts(early) == ["m1"]
    first.write_bytes(stored[0] + stored[1])
    later = Reading(first, early.position)
    assert texts(later) == ["m2"]
    assert (later.restarted, later.damage) == (False, ())


@pytest.mark.parametrize(
    "changed",
    [
        {"crc": "00000000"},
        {"file": "other.jsonl"},
        {"offset": 3},
        {"offset": 10_000},
        {"file": "s.1.jsonl"},
    ],
)
def test_a_position_that_is_not_there_restarts(first: Path, changed: dict[str, object]) -> None:
    stored = lines(1, 2)
    first.write_bytes(b"".join(stored))
    position = Position(file="s.jsonl", offset=len(stored[0]), seq=1, crc=checksum_of(stored[0]))
    reading = Reading(first, msgspec.structs.replace(position, **changed))
    assert texts(reading) == ["m1", "m2"]
    assert reading.restarted


def test_a_position_behind_a_seal_restarts(first: Path) -> None:
    stored = lines(1, 2)
    first.write_bytes(b"".join(stored))
    before = Reading(first)
    texts(before)
    segment_path(first, 1).write_bytes(segment_line(2, 1, checksum_of(stored[0])))
    reading = Reading(first, before.position)
    assert seqs(reading) == [1, 2]
    assert reading.restarted


def test_a_shorter_file_restarts_and_shows_that_events_vanished(first: Path) -> None:
    stored = lines(1, 2)
    first.write_bytes(b"".join(stored))
    before = Reading(first)
    texts(before)
    first.write_bytes(stored[0])
    reading = Reading(first, before.position)
    assert texts(reading) == ["m1"]
    assert reading.restarted
    assert reading.seq < before.seq


def test_reading_may_stop_at_what_is_durable(first: Path) -> None:
    stored = lines(1, 2, 3)
    first.write_bytes(b"".join(stored) + b"being written")
    reading = Reading(first, through=2)
    assert texts(reading) == ["m1", "m2"]
    assert (reading.damage, reading.trailing) == ((), ())
    assert texts(Reading(first, through=0)) == []
    later = Reading(first, reading.position, through=1)
    assert (texts(later), later.restarted) == (["m1"], True)


def test_an_endless_line_is_one_bad_line_and_never_held(first: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "MAX_LINE_BYTES", 1000)
    endless = b"\0" * 4321
    stored = lines(1, 2)
    first.write_bytes(stored[0] + endless + b"\n" + stored[1])
    reading = Reading(first)
    assert texts(reading) == ["m1", "m2"]
    (damage,) = reading.damage
    assert (damage.offset, damage.length) == (len(stored[0]), len(endless))
    first.write_bytes(stored[0] + endless)
    reading = Reading(first)
    assert texts(reading) == ["m1"]
    (torn,) = reading.trailing
    assert (torn.length, torn.sha256) == (len(endless), hashlib.sha256(endless).hexdigest())
