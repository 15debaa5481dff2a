"""What is being taken in: nothing before it is decided, all of it after, whoever was killed."""

import os
from pathlib import Path

import pytest

from resumed.daemon.keeping import incoming
from resumed.daemon.keeping.incoming import ImportBusy
from resumed.daemon.storage import disk
from resumed.daemon.storage.codec import encode_as
from resumed.daemon.storage.layout import Layout
from resumed.restore.events.thread import ThreadPatched
from tests.support.runs import SESSION, run_meta
from tests.support.streams import THREAD_ID, TS, meta, wrapped

RUN = f"rollout-2026-01-02T03-04-05-{SESSION}"


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return Layout.open(tmp_path / "state")


def stage(new: Path, *fields: dict[str, object]) -> None:
    """A thread with one run of two files and a copy of torn bytes; patched with these fields."""
    patches = (encode_as(wrapped(ThreadPatched(fields=each)), n, TS) for n, each in enumerate(fields, 2))
    (new / "threads" / f"{THREAD_ID}.jsonl").write_bytes(encode_as(meta(), 1, TS) + b"".join(patches))
    (new / "sessions" / f"{RUN}.jsonl").write_bytes(run_meta())
    (new / "sessions" / f"{RUN}.1.jsonl").write_bytes(b"more\n")
    (new / "quarantine" / f"{RUN}.jsonl.7.torn").write_bytes(b"torn")


def present(layout: Layout) -> set[str]:
    return {
        str(path.relative_to(layout.home))
        for folder in ("threads", "sessions", "archived_sessions", "quarantine", "importing")
        for path in (layout.home / folder).rglob("*")
        if path.is_file()
    }


PLACES = {
    f"threads/{THREAD_ID}.jsonl",
    f"sessions/2026/01/02/{RUN}.jsonl",
    f"sessions/2026/01/02/{RUN}.1.jsonl",
    f"quarantine/{RUN}.jsonl.7.torn",
}


def test_what_was_not_decided_leaves_nothing(layout: Layout) -> None:
    with incoming.taking_in(layout) as new:
        stage(new)
    assert present(layout) == set()


def test_a_failure_leaves_nothing(layout: Layout) -> None:
    def fail() -> None:
        with incoming.taking_in(layout) as new:
            stage(new)
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert present(layout) == set()


def test_what_was_decided_gets_to_its_places(layout: Layout) -> None:
    with incoming.taking_in(layout) as new:
        stage(new)
        incoming.decide(layout)
        assert {path.split("/")[0] for path in present(layout)} == {"importing"}
        incoming.finish(layout)
    assert present(layout) == PLACES


def test_of_two_times_put_away_or_not_the_last_one_counts(layout: Layout) -> None:
    for patches, folder in (
        (({"archived": False}, {"archived": True}, {"name": "x"}), "archived_sessions"),
        (({"archived": True}, {"archived": False}), "sessions/2026/01/02"),
    ):
        with incoming.taking_in(layout) as new:
            stage(new, *patches)
            incoming.decide(layout)
            incoming.finish(layout)
        assert f"{folder}/{RUN}.jsonl" in present(layout)


@pytest.mark.parametrize("name", ["decided", "done", "new"])
def test_the_next_one_finishes_or_removes_what_was_left(layout: Layout, name: str) -> None:
    with incoming.taking_in(layout) as new:
        stage(new)
        incoming.decide(layout)
    (layout.importing / "decided").rename(layout.importing / name)
    incoming.tidy(layout)
    assert present(layout) == (PLACES if name == "decided" else set())
    incoming.tidy(layout)


def test_one_that_went_on_since_is_not_put_back(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(1, os.strerror(1))

    monkeypatch.setattr(os, "link", refuse)
    with incoming.taking_in(layout) as new:
        stage(new)
        incoming.decide(layout)
        # As if it had been killed when all was in its place, and the thread gone on then.
        monkeypatch.setattr(Path, "rename", lambda *_: None)
        incoming.finish(layout)
        monkeypatch.undo()
        thread = layout.thread_path(THREAD_ID)
        with thread.open("ab") as file:
            file.write(b"more\n")
        incoming.finish(layout)
    assert thread.read_bytes().endswith(b"more\n")
    assert present(layout) == PLACES


def test_one_at_a_time(layout: Layout) -> None:
    lock = disk.lock(layout.importing_lock_path)
    assert lock is not None
    with pytest.raises(ImportBusy), incoming.taking_in(layout):
        raise AssertionError
    (layout.importing / "new").mkdir(parents=True)
    incoming.tidy(layout)
    assert (layout.importing / "new").exists(), "whoever holds the lock is at work in there"
    os.close(lock)
    incoming.tidy(layout)
    assert not (layout.importing / "new").exists()


def test_the_thread_is_there_only_once_all_of_it_is(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    place, placed = disk.place, []

    def noted(source: Path, target: Path) -> None:
        place(source, target)
        placed.append(target.name)

    monkeypatch.setattr(disk, "place", noted)
    with incoming.taking_in(layout) as new:
        stage(new)
        (new / "threads" / f"{THREAD_ID}.1.jsonl").write_bytes(b"more\n")
        incoming.decide(layout)
        incoming.finish(layout)
    assert placed[-2:] == [f"{THREAD_ID}.1.jsonl", f"{THREAD_ID}.jsonl"]
    assert placed.index(f"{RUN}.1.jsonl") < placed.index(f"{RUN}.jsonl") < len(placed) - 2
