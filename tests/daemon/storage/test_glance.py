"""Many streams are read as each alone would be, with one look at each folder."""

import os
import shutil
import uuid
from pathlib import Path

import pytest

from resumed.daemon.storage.codec import checksum_of
from resumed.daemon.storage.errors import StorageFailed, StreamMissing
from resumed.daemon.storage.layout import Layout
from resumed.daemon.storage.segments import segment_path
from resumed.daemon.storage.streams import Streams
from tests.support.streams import (
    STREAM,
    THREAD_ID,
    entry,
    largest_file,
    line,
    meta,
    now,
    segment_line,
    seqs,
    texts,
)
from tests.support.written_threads import write_thread

THREADS = 30


def test_each_folder_is_listed_once_for_all_streams(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    layout = Layout.open(tmp_path)
    sessions = [write_thread(layout, str(uuid.uuid4()), 100) for _ in range(THREADS)]
    streams = Streams(layout, now)
    names = [*streams.ids("thread"), *streams.ids("session")]
    alone = {name: seqs(streams.read(name)) for name in names}
    listed: list[Path] = []
    listdir = os.listdir

    def noted(folder: Path) -> list[str]:
        listed.append(folder)
        return listdir(folder)

    monkeypatch.setattr(os, "listdir", noted)
    glance = streams.glance()
    assert {name: seqs(glance.read(name)) for name in names} == alone
    assert len(names) == 2 * THREADS
    assert all(glance.exists(name) for name in names)
    assert sorted(listed) == sorted({sessions[0].parent, tmp_path / "threads"})


@pytest.mark.parametrize("lost", [(), (2,), (3,)])
def test_a_later_file_is_found_over_a_gap_and_what_was_in_the_gap_is_told(
    tmp_path: Path, lost: tuple[int, ...]
) -> None:
    layout = Layout.open(tmp_path)
    first = layout.thread_path(THREAD_ID)
    first.parent.mkdir()
    # Nothing was acknowledged in the files 1 and 4: their writers removed them.
    files = {0: line("a", 1) + line("b", 2)}
    files[2] = segment_line(3, 2, checksum_of(files[0]), 2) + line("c", 4)
    files[3] = segment_line(5, 4, checksum_of(files[2]), 3) + line("d", 6)
    files[5] = segment_line(7, 6, checksum_of(files[3]), 5) + line("e", 8)
    for number, content in files.items():
        if number not in lost:
            segment_path(first, number).write_bytes(content)
    streams = Streams(layout, now)
    readings = [streams.read(STREAM), streams.glance().read(STREAM)]
    assert {tuple(texts(reading)) for reading in readings} == {
        tuple(text for text, number in zip("abcde", (0, 0, 2, 3, 5), strict=True) if number not in lost)
    }
    missing = {(): [], (2,): ["Events 3 to 4 are missing."], (3,): ["Events 5 to 6 are missing."]}
    for reading in readings:
        told = [damage.sentence for damage in reading.damage if damage.kind == "gap"]
        assert told == missing[lost]


def test_a_run_that_is_put_away_meanwhile_is_found_where_it_is(tmp_path: Path) -> None:
    layout = Layout.open(tmp_path)
    session = write_thread(layout, THREAD_ID, 100)
    streams = Streams(layout, now)
    (stream,) = streams.ids("session")
    whole = seqs(streams.read(stream))
    glance = streams.glance()
    assert seqs(glance.read(stream)) == whole
    layout.archived_sessions.mkdir()
    shutil.move(session, layout.archived_sessions)
    assert seqs(glance.read(stream)) == whole


def test_what_is_not_there_is_missing(tmp_path: Path) -> None:
    glance = Streams(Layout.open(tmp_path), now).glance()
    for stream in (STREAM, f"session:{THREAD_ID}", f"worktree:{THREAD_ID}"):
        assert not glance.exists(stream)
        with pytest.raises(StreamMissing):
            glance.read(stream)


async def test_a_stream_that_is_written_here_is_read_with_its_new_file_and_no_further_than_acknowledged(
    tmp_path: Path,
) -> None:
    streams = Streams(Layout.open(tmp_path), now)
    await streams.create(STREAM, meta())
    glance = streams.glance()
    assert texts(glance.read(STREAM)) == []
    path = tmp_path / "threads" / f"{THREAD_ID}.jsonl"
    with largest_file(path.stat().st_size + 600), pytest.raises(StorageFailed):
        await streams.append(STREAM, entry("x" * 1000))
    await streams.append(STREAM, entry("y"))
    (later,) = path.parent.glob(f"{THREAD_ID}.*.jsonl")
    with later.open("ab") as file:
        file.write(line("not acknowledged", 4))
    assert texts(glance.read(STREAM)) == ["y"]
    assert glance.exists(STREAM)
    await streams.close()
