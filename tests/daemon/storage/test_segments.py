"""A stream's files: their order, and through which event each counts."""

from pathlib import Path

import pytest

from resumed.daemon.storage.segments import Listing, segment_files, segment_path
from resumed.restore.events import SCHEMA_VERSION
from tests.support.streams import THREAD_ID, line, segment_line


def test_files_come_in_number_order_and_strangers_do_not(tmp_path: Path) -> None:
    first = tmp_path / f"{THREAD_ID}.jsonl"
    for name in ("", ".1", ".2", ".10"):
        (tmp_path / f"{THREAD_ID}{name}.jsonl").write_bytes(line("x", 1))
    for name in (".0.jsonl", ".x.jsonl", ".1.jsonl.lock", ".jsonl.bak", "0.jsonl", ".1.2.jsonl"):
        (tmp_path / f"{THREAD_ID}{name}").touch()
    assert [file.number for file in segment_files(first)] == [0, 1, 2, 10]
    assert [file.path for file in segment_files(first)] == [segment_path(first, n) for n in (0, 1, 2, 10)]


def test_no_files_and_no_folder_are_an_empty_stream(tmp_path: Path) -> None:
    assert segment_files(tmp_path / "none.jsonl") == ()
    assert segment_files(tmp_path / "nowhere" / "none.jsonl") == ()


def test_a_file_counts_through_what_any_later_file_says(tmp_path: Path) -> None:
    first = tmp_path / "s.jsonl"
    first.write_bytes(line("x", 1))
    segment_path(first, 1).write_bytes(segment_line(10, 9))
    segment_path(first, 2).write_bytes(b"")
    segment_path(first, 3).write_bytes(segment_line(8, 7, number=3))
    segment_path(first, 4).write_bytes(b"garbage\n")
    assert [file.through for file in segment_files(first)] == [7, 7, 7, None, None]
    assert [file.head is not None for file in segment_files(first)] == [False, True, False, True, False]
    assert {file.version for file in segment_files(first)} == {SCHEMA_VERSION}


def test_only_whole_numbers_as_they_are_written_count(tmp_path: Path) -> None:
    first = tmp_path / "s.jsonl"
    for name in ("s.01.jsonl", "s.+1.jsonl", "s.².jsonl", "s.12.jsonl"):
        (tmp_path / name).touch()
    assert [file.number for file in segment_files(first)] == [12]


def test_a_listing_stays_as_it_was_for_the_streams_that_it_knows(tmp_path: Path) -> None:
    first, other = tmp_path / "s.jsonl", tmp_path / "t.jsonl"
    first.write_bytes(line("x", 1))
    listing = Listing()
    assert [file.number for file in segment_files(first, listing)] == [0]
    segment_path(first, 2).write_bytes(segment_line(2, 1))
    assert [file.number for file in segment_files(first, listing)] == [0]
    assert [file.number for file in segment_files(first, Listing())] == [0, 2]
    other.write_bytes(line("x", 1))
    assert [file.number for file in segment_files(other, listing)] == [0]
    assert [file.number for file in segment_files(first, listing)] == [0, 2]


def test_a_stream_that_was_listed_without_its_beginning_is_listed_again(tmp_path: Path) -> None:
    first = tmp_path / "s.jsonl"
    segment_path(first, 1).write_bytes(segment_line(2, 1))
    listing = Listing()
    assert [file.number for file in segment_files(first, listing)] == [1]
    first.write_bytes(line("x", 1))
    assert [file.number for file in segment_files(first, listing)] == [0, 1]


def test_a_listing_that_names_a_file_that_is_gone_is_made_again(tmp_path: Path) -> None:
    first = tmp_path / "s.jsonl"
    for number in (0, 1):
        segment_path(first, number).write_bytes(line("x", 1))
    listing = Listing()
    assert [file.number for file in segment_files(first, listing)] == [0, 1]
    segment_path(first, 1).unlink()
    with pytest.raises(FileNotFoundError):
        segment_files(first, listing)
    assert [file.number for file in segment_files(first, listing)] == [0]
