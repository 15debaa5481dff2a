"""Each class of damage is found in a real state folder, by looking alone; mending loses no byte."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from resumed.daemon.handlers.sessions import turn_start
from resumed.daemon.keeping import database_checks, folder_checks
from resumed.daemon.keeping.doctor import examine, mend
from resumed.daemon.keeping.findings import CLASSES, HARMLESS
from resumed.daemon.runtime import runtime_folder, state_folder, workspace_id
from resumed.daemon.storage import disk, purges
from resumed.daemon.storage.layout import Layout
from resumed.daemon.storage.purges import Purge
from resumed.protocol.sessions import AgentInfo, SessionStartParams, TurnStartParams
from tests.support.blobs import ask
from tests.support.machines import CLIENT, KEPT, ended_run
from tests.support.parts import opened
from tests.support.runs import run_meta, write_run
from tests.support.streams import THREAD_ID, entry, line, segment_line

OTHER = "33333333-3333-4333-8333-333333333333"


class Place(NamedTuple):
    """A sound state folder with one thread of two runs, and the index that knows all of it."""

    layout: Layout
    thread: Path
    runs: list[Path]
    database: Path


@pytest.fixture
async def place(tmp_path: Path) -> Place:
    work = tmp_path / "work"
    work.mkdir()
    async with opened(work) as workspace:
        thread = await ended_run(workspace, *KEPT)
        await ended_run(workspace, b"more", thread_id=thread)
        await workspace.threads.look_again()
        layout = workspace.layout
    runs = sorted(layout.sessions.rglob("rollout-*"))
    index = layout.index_path(workspace_id(os.fsencode(work)))
    return Place(layout, layout.thread_path(thread), runs, index)


def lines(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


def rewrite(path: Path, *parts: bytes) -> None:
    path.write_bytes(b"".join(parts))


def private(path: Path, data: bytes = b"") -> Path:
    """A new file of ours."""
    disk.make_folder(path.parent)
    path.write_bytes(data)
    path.chmod(0o600)
    return path


def torn(place: Place) -> None:
    rewrite(place.runs[1], place.runs[1].read_bytes(), b'{"half')


def newer_record(place: Place) -> None:
    private(place.runs[0].with_name(f"rollout-2026-01-02T03-04-05-{OTHER}.jsonl"), run_meta(OTHER, version=9))


def lost_segment(place: Place) -> None:
    first = write_run(place.layout, "one", "two")
    second = first.with_name(f"{first.stem}.1.jsonl")
    last = lines(second)[-1]
    private(first.with_name(f"{first.stem}.2.jsonl"), segment_line(5, 4, last[-11:-3].decode()))
    second.unlink()


def orphan(place: Place) -> None:
    first = write_run(place.layout, "one")
    first.unlink()


def two_places(place: Place) -> None:
    disk.make_folder(place.layout.archived_sessions)
    shutil.copy(place.runs[0], place.layout.archived_sessions)


def ahead(place: Place) -> None:
    rewrite(place.runs[1], *lines(place.runs[1])[:-1])


def socket_of_nobody(place: Place) -> None:
    (runtime_folder() / "r").mkdir(exist_ok=True)
    (runtime_folder() / "r" / f"{'ab' * 8}.sock").touch()


def remove(which: str) -> Callable[[Place], None]:
    return lambda place: (place.layout.home / which).unlink()


DAMAGES: dict[str, Callable[[Place], object]] = {
    "folder.refused": lambda place: place.layout.home.chmod(0o777),
    "folder.remote": lambda place: None,
    "folder.newer": lambda place: rewrite(
        place.layout.home / "layout.json", b'{"version":9,"install_id":"x"}'
    ),
    "folder.identity": remove("layout.json"),
    "folder.key": lambda place: rewrite(place.layout.home / "key", b"short"),
    "mode.folder": lambda place: place.layout.sessions.chmod(0o755),
    "mode.file": lambda place: place.thread.chmod(0o644),
    "record.unreadable": lambda place: disk.make_folder(place.layout.thread_path(OTHER)),
    "record.newer": newer_record,
    "record.firstLine": lambda place: rewrite(place.runs[0], b"garbage\n", *lines(place.runs[0])[1:]),
    "record.badLine": lambda place: rewrite(
        place.runs[0], lines(place.runs[0])[0], b"\0\n", *lines(place.runs[0])[2:]
    ),
    "record.missing": lambda place: rewrite(
        place.runs[0], lines(place.runs[0])[0], *lines(place.runs[0])[2:]
    ),
    "record.segment": lost_segment,
    "record.order": lambda place: rewrite(place.runs[0], *lines(place.runs[0]), lines(place.runs[0])[1]),
    "record.tornTail": torn,
    "record.empty": lambda place: private(place.layout.thread_path(OTHER)),
    "record.orphan": orphan,
    "record.twoPlaces": two_places,
    "run.missing": lambda place: place.runs[0].unlink(),
    "thread.missing": lambda place: place.thread.unlink(),
    "worktree.lost": lambda place: rewrite(next((place.layout.home / "worktrees").glob("*.jsonl"))),
    "index.absent": lambda place: place.database.unlink(),
    "index.corrupt": lambda place: rewrite(place.database, b"garbage" * 1000),
    "index.behind": lambda place: rewrite(place.runs[1], *lines(place.runs[1]), line("more", 99)),
    "index.ahead": ahead,
    "contents.corrupt": lambda place: rewrite(place.layout.blobs_path, b"garbage" * 1000),
    "contents.newer": lambda place: ask(place.layout, "PRAGMA user_version = 9"),
    "contents.missing": lambda place: ask(place.layout, "DELETE FROM blobs WHERE size = 9"),
    "contents.damaged": lambda place: ask(place.layout, "UPDATE contents SET data = x'00'"),
    "leftover.staged": lambda place: private(place.thread.with_name(".x.jsonl.staged")),
    "leftover.import": lambda place: disk.make_folder(place.layout.importing / "new"),
    "leftover.purge": lambda place: purges.begin(place.layout, Purge(thread_id=OTHER, sessions=())),
    "leftover.lock": lambda place: private(place.layout.stream_lock_path(f"session:{OTHER}")),
    "leftover.socket": socket_of_nobody,
}

REPAIRED = {
    "mode.folder", "mode.file", "record.tornTail", "record.empty", "index.corrupt",
    "leftover.staged", "leftover.lock", "leftover.socket",
}  # fmt: skip


def state() -> dict[str, tuple[bytes, int, int]]:
    """Every file of the folder with its mode and its time."""
    home = state_folder()
    return {
        str(path): (
            path.read_bytes() if path.is_file() else b"",
            path.stat().st_mode,
            path.stat().st_mtime_ns,
        )
        for path in (home, *home.rglob("*"))
    }


def kinds(home: Path) -> set[str]:
    return {finding.kind for finding in examine(home).findings}


def test_every_class_is_damaged_here() -> None:
    assert DAMAGES.keys() == CLASSES.keys()
    assert CLASSES.keys() > HARMLESS


def test_a_sound_folder_is_found_sound(place: Place) -> None:
    assert examine(place.layout.home).findings == ()


def test_a_folder_that_is_not_there_yet_is_sound_and_stays_away(tmp_path: Path) -> None:
    assert examine(tmp_path / "state").is_sound
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize("kind", DAMAGES)
def test_each_class_is_found_by_looking_and_mended_without_loss(
    place: Place, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = place.layout.home
    if kind == "folder.remote":
        monkeypatch.setattr(folder_checks, "remote_file_system", lambda _: "nfs4")
    DAMAGES[kind](place)
    before = state()
    found = examine(home)
    assert kind in {finding.kind for finding in found.findings}
    assert state() == before, "looking changes nothing"
    assert found.is_sound == all(finding.kind in HARMLESS for finding in found.findings)
    assert all(finding.path and finding.sentence.endswith((".", ")")) for finding in found.findings)
    mended = mend(found)
    assert {finding.kind for finding in mended.findings if finding.repaired} & {kind} == REPAIRED & {kind}
    assert (kind in kinds(home)) == (kind not in REPAIRED)
    kept = {data for data, _, _ in state().values()}
    lost = {path for path, (data, _, _) in before.items() if data not in kept and not path.endswith(".lock")}
    assert lost == set(), "every byte is still there, but for hints in locks of nothing"


def test_what_others_speak_of_was_not_always_empty(place: Place) -> None:
    rewrite(place.thread)
    assert kinds(place.layout.home) >= {"thread.missing"}
    assert "record.empty" not in kinds(place.layout.home)


def test_an_empty_run_that_is_listed_is_missing(place: Place) -> None:
    rewrite(place.runs[0])
    before = state()
    mended = mend(examine(place.layout.home))
    assert {"run.missing"} <= {finding.kind for finding in mended.findings}
    assert "record.empty" not in kinds(place.layout.home)
    assert state().keys() == before.keys()


def test_a_listed_run_of_nothing_but_zeros_was_written_once(place: Place) -> None:
    rewrite(place.runs[0], b"\0" * 500)
    found = kinds(place.layout.home)
    assert "run.missing" in found
    assert "record.tornTail" not in found


def test_mending_leaves_alone_what_somebody_holds(place: Place) -> None:
    for kind in REPAIRED - {"mode.folder", "mode.file"}:
        DAMAGES[kind](place)
    layout = place.layout
    locks = [
        layout.workspace_lock_path(place.database.parent.name),
        layout.stream_lock_path(f"session:{place.runs[1].stem[-36:]}"),
        layout.stream_lock_path(f"thread:{OTHER}"),
        runtime_folder() / "r" / f"{'ab' * 8}.lock",
    ]
    found = examine(layout.home)
    held = [disk.lock(lock) for lock in locks]
    before = state()
    mended = mend(found)
    for descriptor in held:
        assert descriptor is not None
        os.close(descriptor)
    assert state() == before
    assert not any(finding.repaired for finding in mended.findings)


def test_of_a_record_that_is_being_written_the_end_is_not_judged(place: Place) -> None:
    torn(place)
    held = disk.lock(place.layout.stream_lock_path(f"session:{place.runs[1].stem[-36:]}"))
    assert held is not None
    assert "record.tornTail" not in kinds(place.layout.home)
    os.close(held)
    assert "record.tornTail" in kinds(place.layout.home)


async def test_a_torn_end_that_was_copied_heals_when_the_record_goes_on(tmp_path: Path, place: Place) -> None:
    torn(place)
    mend(examine(place.layout.home))
    assert "record.tornTail" not in kinds(place.layout.home)
    async with opened(tmp_path / "work") as workspace:
        await workspace.streams.append(f"session:{place.runs[1].stem[-36:]}", entry("more"))
        assert (await workspace.threads.record(place.thread.stem)).damage == ()
    assert "record.tornTail" not in kinds(place.layout.home)


async def test_the_next_start_mends_what_it_is_said_to(tmp_path: Path, place: Place) -> None:
    for kind in ("index.absent", "record.twoPlaces", "leftover.import", "leftover.purge"):
        DAMAGES[kind](place)
    assert examine(place.layout.home).is_sound
    async with opened(tmp_path / "work") as workspace:
        await workspace.tidied()
        await workspace.threads.look_again()
    assert kinds(place.layout.home) <= {"leftover.lock"}


async def test_a_start_that_was_cut_off_is_no_damage(tmp_path: Path, place: Place) -> None:
    first = write_run(place.layout)
    assert THREAD_ID in first.read_text()
    assert kinds(place.layout.home) == {"index.behind"}


@pytest.mark.parametrize(("names", "said"), [("a", "1 content of it"), ("ab", "2 contents of it")])
def test_contents_are_counted_as_people_do(place: Place, names: str, said: str) -> None:
    place.layout.blobs_path.unlink()
    (finding,) = database_checks.contents(place.layout, {name * 64 for name in names})
    assert finding.sentence == f"It is not there, and records name {said}."


async def test_a_run_at_work_is_sound(tmp_path: Path, place: Place) -> None:
    async with opened(tmp_path / "work") as workspace:
        start = SessionStartParams(agent=AgentInfo(name="mender"), cwd=str(tmp_path / "work"))
        live = await workspace.sessions.start(CLIENT, start)
        await turn_start(workspace, CLIENT, TurnStartParams(session_id=live.session_id, message="go"))
        assert kinds(place.layout.home) <= {"index.behind"}
