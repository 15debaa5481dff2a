"""What is a thread's own: by the first line of each run, and by its links where that cannot be read."""

from pathlib import Path

from resumed.daemon.keeping.belongings import belongings, copies_of, files_of
from resumed.daemon.storage.codec import encode_as
from resumed.daemon.storage.layout import Layout
from resumed.restore.events.thread import SessionLinked
from tests.support.runs import SESSION, write_run
from tests.support.streams import STREAM, THREAD_ID, TS, meta, wrapped

OTHER = "33333333-3333-4333-8333-333333333333"


def test_nothing_of_a_thread_that_is_not_there(tmp_path: Path) -> None:
    assert belongings(Layout.open(tmp_path / "state"), THREAD_ID).streams == ()


def test_runs_by_their_first_line_or_by_a_link(tmp_path: Path) -> None:
    layout = Layout.open(tmp_path / "state")
    named = write_run(layout, "one")
    damaged = write_run(layout, "two", session_id=OTHER)
    damaged.write_bytes(b"garbage\n")
    damaged.with_name(f"{damaged.stem}.1.jsonl").unlink()
    assert belongings(layout, THREAD_ID).streams == (f"session:{SESSION}",)
    path = layout.thread_path(THREAD_ID)
    path.parent.mkdir()
    path.write_bytes(encode_as(meta(), 1, TS) + encode_as(wrapped(SessionLinked(session_id=OTHER)), 2, TS))
    found = belongings(layout, THREAD_ID)
    assert set(found.streams) == {f"session:{SESSION}", f"session:{OTHER}", STREAM}
    assert found.streams[-1] == STREAM
    assert [path.name for path in files_of(layout, f"session:{SESSION}")] == [
        named.name,
        f"{named.stem}.1.jsonl",
    ]
    assert files_of(layout, "session:44444444-4444-4444-8444-444444444444") == ()


def test_copies_of_torn_bytes_are_those_of_the_files_named(tmp_path: Path) -> None:
    layout = Layout.open(tmp_path / "state")
    layout.quarantine.mkdir()
    for name in ("a.jsonl.10.torn", "a.1.jsonl.2.torn", "b.jsonl.10.torn", "blobs.db.corrupt-1"):
        (layout.quarantine / name).touch()
    found = [path.name for path in copies_of(layout, {"a.jsonl", "a.1.jsonl"})]
    assert found == ["a.1.jsonl.2.torn", "a.jsonl.10.torn"]
