import errno
import fcntl
import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from resumed.daemon.runtime import (
    LockHeld,
    canonical_path,
    check_private_folder,
    log_refusal,
    make_private_folder,
    place_of,
    runtime_folder,
    state_folder,
    take_lock,
    workspace_id,
)
from resumed.protocol.errors import ErrorCode, ResumedError
from tests.support.strangers import NOBODY, skip_unless_root
from tests.support.wire import environment

LOCK_AND_WAIT = """
import sys
from pathlib import Path
from resumed.daemon.runtime import take_lock
take_lock(Path(sys.argv[1]))
print("locked", flush=True)
sys.stdin.read()
"""


def test_the_id_is_a_digest_of_the_path_s_bytes() -> None:
    assert workspace_id(b"/a\xff") == hashlib.blake2b(b"/a\xff", digest_size=16).hexdigest()
    assert len(workspace_id(b"/a")) == 32


def test_one_folder_has_one_place_by_whatever_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = tmp_path / "real"
    real.mkdir()
    (tmp_path / "link").symlink_to(real)
    monkeypatch.chdir(tmp_path)
    names = [real, tmp_path / "link", Path("real"), tmp_path / "link" / ".." / "real"]
    assert len({place_of(name) for name in names}) == 1
    place = place_of(real)
    assert place.root == real
    assert place.socket.parent == runtime_folder() / "r"
    assert re.fullmatch(r"[0-9a-f]{16}\.sock", place.socket.name)
    assert place.lock == place.socket.with_suffix(".lock")
    assert place.log == state_folder() / "logs" / f"daemon-{place.workspace_id[:16]}.log"
    assert not place.socket.parent.exists()


def test_each_state_folder_has_its_own_daemon_by_whatever_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = []
    (tmp_path / "link").symlink_to(tmp_path / "real")
    for state in ("real/state", "link/state", "other"):
        monkeypatch.setenv("RESUMED_HOME", str(tmp_path / state))
        places.append(place_of(tmp_path))
        (tmp_path / "real" / "state").mkdir(parents=True, exist_ok=True)
    first, linked, other = places
    assert (first.socket, first.lock) == (linked.socket, linked.lock)
    assert first.socket != other.socket
    assert first.lock != other.lock
    assert {place.workspace_id for place in places} == {first.workspace_id}


def test_a_path_of_any_bytes_is_a_workspace(tmp_path: Path) -> None:
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff\n x"))
    odd.mkdir()
    assert canonical_path(odd) == os.fsencode(odd)
    assert place_of(odd).root == odd


def refused(root: Path) -> ErrorCode:
    """The code with which a workspace is refused."""
    with pytest.raises(ResumedError) as caught:
        place_of(root)
    return caught.value.code


def test_everything_and_nothing_are_refused(tmp_path: Path, hermetic_home: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "to-home").symlink_to(hermetic_home)
    for root in (Path("/"), hermetic_home, tmp_path / "to-home", tmp_path / "none", tmp_path / "file"):
        assert refused(root) is ErrorCode.WORKSPACE_REFUSED


def test_a_socket_s_path_is_never_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RESUMED_RUNTIME", f"/{'long' * 30}")
    place = place_of(tmp_path)
    assert len(os.fsencode(place.socket)) <= 100
    assert place.lock.parent == place.socket.parent


def test_without_overrides_the_system_s_folders_are_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RESUMED_RUNTIME")
    monkeypatch.delenv("RESUMED_HOME")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert runtime_folder() == tmp_path / "resumed"
    assert state_folder() == tmp_path / "state" / "resumed"
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "gone"))
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    assert runtime_folder() == tmp_path / f"resumed-{os.getuid()}"


def test_a_private_folder_is_made_or_made_private(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    make_private_folder(folder)
    assert folder.stat().st_mode & 0o777 == 0o700
    folder.chmod(0o755)
    make_private_folder(folder)
    assert folder.stat().st_mode & 0o777 == 0o700


def test_a_folder_that_may_be_a_trap_is_refused(tmp_path: Path) -> None:
    (tmp_path / "target").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "target")
    (tmp_path / "file").touch()
    for folder in (tmp_path / "link", tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(ResumedError) as caught:
            make_private_folder(folder)
        assert caught.value.code is ErrorCode.STATE_READ_ONLY


@pytest.mark.parametrize("mode", [0o777, 0o775, 0o702])
def test_a_folder_that_others_may_write_is_not_trusted(tmp_path: Path, mode: int) -> None:
    folder = tmp_path / "r"
    check_private_folder(folder)
    folder.mkdir(0o755)
    check_private_folder(folder)
    folder.chmod(mode)
    with pytest.raises(ResumedError, match="may be written by other users") as caught:
        check_private_folder(folder)
    assert caught.value.code is ErrorCode.STATE_READ_ONLY


def test_another_s_folder_is_not_trusted(tmp_path: Path) -> None:
    (tmp_path / "target").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "target")
    (tmp_path / "file").touch()
    for folder in (tmp_path / "link", tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(ResumedError):
            check_private_folder(folder)
    skip_unless_root()
    os.chown(tmp_path / "target", NOBODY, NOBODY)
    with pytest.raises(ResumedError, match="is not ours"):
        check_private_folder(tmp_path / "target")


def test_a_lock_that_cannot_be_opened_is_said(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        take_lock(tmp_path)


def test_a_lock_is_held_once_and_names_its_holder(tmp_path: Path) -> None:
    held = take_lock(tmp_path / "lock")
    with pytest.raises(LockHeld) as caught:
        take_lock(tmp_path / "lock")
    assert caught.value.pid == os.getpid()
    os.close(held)
    os.close(take_lock(tmp_path / "lock"))


def test_a_dead_holder_holds_nothing_whatever_its_hint_says(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    with subprocess.Popen(
        [sys.executable, "-c", LOCK_AND_WAIT, str(lock)],
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"locked\n"
        with pytest.raises(LockHeld) as caught:
            take_lock(lock)
        assert caught.value.pid == holder.pid
        holder.kill()
    lock.write_text(f"{os.getppid()}\n")
    os.close(take_lock(lock))
    assert lock.read_text() == f"{os.getpid()}\n"


@pytest.mark.parametrize("hint", ["", "nonsense", "-1", "²"])
def test_a_holder_without_a_hint_is_not_known(tmp_path: Path, hint: str) -> None:
    lock = tmp_path / "lock"
    lock.write_text(hint)
    with lock.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(LockHeld) as caught:
            take_lock(lock)
    assert caught.value.pid == 0


def test_a_log_on_a_disk_that_takes_nothing_is_the_state_folder_s_fault() -> None:
    for number in (errno.EROFS, errno.EACCES, errno.ENOSPC):
        refusal = log_refusal(OSError(number, os.strerror(number)))
        assert str(refusal) == f"The state folder {state_folder()} cannot be written: {os.strerror(number)}."
    strange = IsADirectoryError(errno.EISDIR, "Is a directory", "/log")
    assert log_refusal(strange) is strange


def test_a_runtime_folder_that_cannot_be_made_says_why(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ResumedError, match="below cannot be created: Not a directory"):
        make_private_folder(tmp_path / "file" / "below")


def test_a_folder_that_others_may_write_is_not_used(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    with pytest.raises(ResumedError, match="may be written by others"):
        make_private_folder(tmp_path)
    tmp_path.chmod(0o755)
    make_private_folder(tmp_path)
    assert tmp_path.stat().st_mode & 0o777 == 0o700
