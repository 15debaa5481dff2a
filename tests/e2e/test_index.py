"""The index is only a hint: ahead of the records, behind them or of another version, no list is ever wrong
without saying so."""

import contextlib
import os
import shutil
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from resumed.daemon.runtime import place_of, state_folder
from resumed.daemon.storage.layout import INDEX_VERSION, Layout
from resumed.daemon.workspace import Workspace
from resumed.protocol.threads import ThreadListParams, ThreadListResult
from tests.support.codex import NAMES, install_recording
from tests.support.parts import opened
from tests.support.streams import largest_file
from tests.support.wire import connects, environment, wait_for
from tests.support.workspace import client, serving
from tests.support.written_threads import write_thread

EVERYTHING = ThreadListParams(scope="all")
SHORTER = "A record of ours is shorter than it was: what had been written is missing."
GONE = "A record of ours that had been written is gone."
DISK_BYTES = 4 << 20
OLD_DAEMON = """
import sys
from resumed.daemon.storage import index, layout
layout.INDEX_VERSION = index.INDEX_VERSION = 1
from resumed.daemon.__main__ import end, main
end(main(["serve", "--workspace", sys.argv[1]]))
"""


async def _listed(folder: Path) -> ThreadListResult:
    async with client(folder) as connection:
        listed: ThreadListResult = await connection.call("thread/list", EVERYTHING)
        return listed


def _cut(path: Path) -> None:
    """The last event is not there any more, as after a copy of yesterday was put back."""
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))


@pytest.mark.parametrize(("lose", "told"), [(_cut, SHORTER), (Path.unlink, GONE)])
async def test_one_that_is_ahead_of_the_records_is_told(
    tmp_path: Path, lose: Callable[[Path], None], told: str
) -> None:
    layout = Layout.open(state_folder())
    thread, other = str(uuid.uuid4()), str(uuid.uuid4())
    session = write_thread(layout, thread, 20_000)
    write_thread(layout, other, 20_000)
    with serving(tmp_path):
        before = await _listed(tmp_path)
    assert (len(before.threads), before.notes) == (2, ())
    lose(session)
    with serving(tmp_path):
        after = await _listed(tmp_path)
        assert told in after.notes
        assert {row.thread_id for row in after.threads} == {thread, other}
        assert {row.thread_id: row for row in after.threads}[other] == {
            row.thread_id: row for row in before.threads
        }[other]


@contextlib.contextmanager
def _disk(folder: Path) -> Iterator[None]:
    folder.mkdir()
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("A small disk of its own needs root.")
    options = ["-o", f"size={DISK_BYTES},mode=700"]
    if subprocess.run(["mount", "-t", "tmpfs", *options, "tmpfs", str(folder)], check=False).returncode:
        pytest.skip("Nothing may be mounted here.")
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@contextlib.contextmanager
def _filled(disk: Path) -> Iterator[None]:
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(4096))
    yield
    filler.unlink()


async def _catches_up(workspace: Workspace, full: contextlib.AbstractContextManager[None]) -> None:
    """Threads that come while nothing can be written are listed once there is room, by the same process."""
    for name in NAMES[1:]:
        install_recording(name, Path(os.environ["CODEX_HOME"]))
    layout = Layout.open(state_folder())
    own = [str(uuid.uuid4()) for _ in range(20)]
    for thread in own:
        write_thread(layout, thread, 1000)
    with full:
        page = await workspace.threads.page(EVERYTHING)
        assert len(page.threads) == 1, "what was known is listed"
        assert any(note.startswith(("Not everything could be read", "A conversation")) for note in page.notes)
    page = await workspace.threads.page(EVERYTHING)
    assert {row.thread_id for row in page.threads} > set(own)
    for index in state_folder().glob("workspaces/*/index-v*.db"):
        assert not list(index.parent.glob("*.corrupt-*"))
    expected = page.threads
    async with opened(Path(workspace.threads.root) / "another") as fresh:
        assert {row.thread_id for row in (await fresh.threads.page(EVERYTHING)).threads} == {
            row.thread_id for row in expected
        }


async def test_it_catches_up_after_the_disk_was_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = tmp_path / "disk"
    install_recording(NAMES[0], Path(os.environ["CODEX_HOME"]))
    with _disk(disk):
        monkeypatch.setenv("RESUMED_HOME", str(disk / "state"))
        async with opened(tmp_path) as workspace:
            assert len((await workspace.threads.page(EVERYTHING)).threads) == 1
            await _catches_up(workspace, _filled(disk))


async def test_it_catches_up_after_a_quota_was_reached(tmp_path: Path) -> None:
    install_recording(NAMES[0], Path(os.environ["CODEX_HOME"]))
    async with opened(tmp_path) as workspace:
        assert len((await workspace.threads.page(EVERYTHING)).threads) == 1
        await _catches_up(workspace, largest_file(1))


@contextlib.contextmanager
def _old_daemon(folder: Path) -> Iterator[None]:
    command = [sys.executable, "-c", OLD_DAEMON, str(folder)]
    with subprocess.Popen(command, env=environment(), stdin=subprocess.DEVNULL) as daemon:
        try:
            wait_for(lambda: daemon.poll() is not None or connects(place_of(folder).socket))
            yield
        finally:
            daemon.terminate()
            daemon.wait(60)


async def test_two_versions_of_it_are_side_by_side(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.mkdir()
    other.mkdir()
    layout = Layout.open(state_folder())
    write_thread(layout, str(uuid.uuid4()), 1000)

    async def rows(folder: Path) -> dict[str, object]:
        return {row.thread_id: row for row in (await _listed(folder)).threads}

    with _old_daemon(one), serving(other):
        assert await rows(one) == await rows(other)
        write_thread(layout, str(uuid.uuid4()), 1000)
        assert await rows(one) == await rows(other)
    (old,) = state_folder().glob("workspaces/*/index-v1.db")
    left = old.read_bytes()
    with serving(one):
        write_thread(layout, str(uuid.uuid4()), 1000)
        now = await rows(one)
        assert len(now) == 3
        assert old.with_name(f"index-v{INDEX_VERSION}.db").exists()
    assert old.read_bytes() == left, "the older file is left alone"
    with _old_daemon(one):
        assert await rows(one) == now
    assert not [*old.parent.glob("*.corrupt-*")]
