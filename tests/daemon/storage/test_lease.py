"""Leases: the lock decides, the content is a hint."""

import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from resumed.daemon.storage import disk
from resumed.daemon.storage.errors import StateReadOnly
from resumed.daemon.storage.layout import Layout
from resumed.daemon.storage.lease import UNKNOWN_HOLDER, Lease, LeaseHolder, acquire, holder_of
from resumed.protocol.ids import InvalidId
from tests.support.streams import THREAD_ID, program_environment

HOLDER = LeaseHolder(
    name="VS Code", pid=4711, since="2026-01-02T03:04:05.000Z", owner="boot:4026531836:4712:7", socket="/s"
)

PROGRAM = """
import multiprocessing, os, pathlib, subprocess, sys, time
from resumed.daemon.storage.layout import Layout
from resumed.daemon.storage.lease import LeaseHolder, acquire
holder = LeaseHolder(name="the other one", pid=os.getpid(), since="then")
held = acquire(Layout.open(pathlib.Path(sys.argv[1])), sys.argv[2], holder)
print(type(held).__name__, flush=True)
if sys.argv[3]:
    child = eval(sys.argv[3])
    if hasattr(child, "start"):
        child.start()
    print(child.pid, flush=True)
sys.stdin.read()
"""


def other_process(home: Path, child: str = "") -> "subprocess.Popen[bytes]":
    """A process that takes the lease, says what it got, and starts this child, whose id it says too."""
    command = [sys.executable, "-c", PROGRAM, str(home), THREAD_ID, child]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=program_environment())


def test_a_held_thread_names_its_holder_to_the_same_process_too(tmp_path: Path) -> None:
    layout = Layout.open(tmp_path / "state")
    held = acquire(layout, THREAD_ID, HOLDER)
    assert isinstance(held, Lease)
    assert acquire(layout, THREAD_ID, LeaseHolder(name="Neovim", pid=1, since="x")) == HOLDER
    held.release()
    held.release()
    again = acquire(layout, THREAD_ID, HOLDER)
    assert isinstance(again, Lease)
    again.release()


def test_another_process_is_busy_and_a_killed_one_is_gone(tmp_path: Path) -> None:
    layout = Layout.open(tmp_path / "state")
    with other_process(layout.home) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"Lease\n"
        busy = acquire(layout, THREAD_ID, HOLDER)
        assert isinstance(busy, LeaseHolder)
        assert (busy.name, busy.pid) == ("the other one", other.pid)
        other.kill()
    assert b"the other one" in layout.lease_path(THREAD_ID).read_bytes()
    held = acquire(layout, THREAD_ID, HOLDER)
    assert isinstance(held, Lease)
    with other_process(layout.home) as other:
        assert other.communicate()[0] == b"LeaseHolder\n"
    held.release()


def test_one_that_was_given_back_names_nobody(tmp_path: Path) -> None:
    layout = Layout.open(tmp_path / "state")
    held = acquire(layout, THREAD_ID, HOLDER)
    assert isinstance(held, Lease)
    held.release()
    assert layout.lease_path(THREAD_ID).read_bytes() == b""
    # As another process that has locked it and not said so yet.
    locked = disk.lock(layout.lease_path(THREAD_ID))
    assert locked is not None
    assert holder_of(layout, THREAD_ID) == UNKNOWN_HOLDER
    os.close(locked)


def test_what_its_holder_started_does_not_hold_it_on(tmp_path: Path) -> None:
    layout = Layout.open(tmp_path / "state")
    with other_process(layout.home, "subprocess.Popen([sys.executable, '-c', 'input()'])") as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"Lease\n"
        child = int(other.stdout.readline())
        assert isinstance(acquire(layout, THREAD_ID, HOLDER), LeaseHolder)
        other.kill()
        other.wait()
        held = acquire(layout, THREAD_ID, HOLDER)
        os.kill(child, 0)
        os.kill(child, signal.SIGKILL)
    assert isinstance(held, Lease)
    held.release()


def test_a_worker_that_is_spawned_does_not_hold_it_on(tmp_path: Path) -> None:
    layout = Layout.open(tmp_path / "state")
    worker = "multiprocessing.get_context('spawn').Process(target=time.sleep, args=(3600,))"
    with other_process(layout.home, worker) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"Lease\n"
        child = int(other.stdout.readline())
        other.kill()
        other.wait()
        held = acquire(layout, THREAD_ID, HOLDER)
        os.kill(child, 0)
        os.kill(child, signal.SIGKILL)
    assert isinstance(held, Lease)
    held.release()


def test_a_shorter_hint_replaces_a_longer_one_whole(tmp_path: Path) -> None:
    layout = Layout.open(tmp_path / "state")
    first = acquire(layout, THREAD_ID, msgspec.structs.replace(HOLDER, name="x" * 500))
    assert isinstance(first, Lease)
    first.release()
    second = acquire(layout, THREAD_ID, HOLDER)
    assert isinstance(second, Lease)
    content = layout.lease_path(THREAD_ID).read_bytes()
    assert msgspec.json.decode(content, type=LeaseHolder) == HOLDER
    assert layout.lease_path(THREAD_ID).stat().st_mode & 0o777 == 0o600
    second.release()


def test_looking_who_holds_it(tmp_path: Path) -> None:
    layout = Layout.open(tmp_path / "state")
    assert holder_of(layout, THREAD_ID) is None
    assert not layout.lease_path(THREAD_ID).exists()
    held = acquire(layout, THREAD_ID, HOLDER)
    assert isinstance(held, Lease)
    assert holder_of(layout, THREAD_ID) == HOLDER
    held.release()
    assert holder_of(layout, THREAD_ID) is None


def test_someone_who_only_looks_is_not_in_the_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    layout = Layout.open(tmp_path / "state")
    path = layout.lease_path(THREAD_ID)
    path.parent.mkdir(parents=True)
    looking = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(looking, fcntl.LOCK_SH)
    original = disk.is_locked

    def looked(path: Path) -> bool:
        locked = original(path)
        fcntl.flock(looking, fcntl.LOCK_UN)
        return locked

    monkeypatch.setattr(disk, "is_locked", looked)
    held = acquire(layout, THREAD_ID, HOLDER)
    assert isinstance(held, Lease)
    held.release()
    os.close(looking)


@pytest.mark.parametrize("hint", [b"", b"\xff\x00", b'{"name":1}\n', b"{" * 5000])
def test_an_unreadable_hint_is_an_unknown_holder(tmp_path: Path, hint: bytes) -> None:
    layout = Layout.open(tmp_path / "state")
    held = acquire(layout, THREAD_ID, HOLDER)
    assert isinstance(held, Lease)
    layout.lease_path(THREAD_ID).write_bytes(hint)
    assert acquire(layout, THREAD_ID, HOLDER) == UNKNOWN_HOLDER
    held.release()


def test_nothing_is_leased_by_a_bad_id_or_in_a_read_only_folder(tmp_path: Path) -> None:
    layout = Layout.open(tmp_path / "state")
    with pytest.raises(InvalidId):
        acquire(layout, "../../etc/passwd", HOLDER)
    newer = Layout(home=layout.home, install_id="", key=b"", read_only=True, reason="It is newer.")
    with pytest.raises(StateReadOnly, match="It is newer"):
        acquire(newer, THREAD_ID, HOLDER)
    assert not (layout.home / "leases").exists()
