"""The file operations: modes whatever the umask, whole writes or errors, locks that end with their holder."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from resumed.daemon.storage import disk
from tests.support.streams import largest_file, program_environment
from tests.support.sync_gate import synced_folders


@pytest.fixture(params=[0o000, 0o022, 0o277])
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    return synced_folders(monkeypatch)


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


@pytest.mark.usefixtures("umask")
def test_files_and_folders_are_for_the_owner_alone_under_any_umask(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "file"
    os.close(disk.create(path))
    disk.replace(tmp_path / "a" / "other", b"x")
    with disk.locked(tmp_path / "a" / "lock"):
        pass
    assert [mode(tmp_path / "a"), mode(tmp_path / "a" / "b")] == [0o700, 0o700]
    assert [mode(entry) for entry in (path, tmp_path / "a" / "other", tmp_path / "a" / "lock")] == [0o600] * 3


def test_create_never_takes_an_existing_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"theirs")
    with pytest.raises(FileExistsError):
        disk.create(tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == b"theirs"


def test_a_short_write_raises(tmp_path: Path) -> None:
    descriptor = disk.create(tmp_path / "file")
    with largest_file(10), pytest.raises(OSError, match="10 of 25 bytes"):
        disk.write(descriptor, b"x" * 25)
    os.close(descriptor)
    assert (tmp_path / "file").read_bytes() == b"x" * 10


def test_replace_leaves_the_old_content_and_no_litter_when_it_fails(tmp_path: Path) -> None:
    disk.replace(tmp_path / "file", b"old")
    with largest_file(10), pytest.raises(OSError, match="bytes were written"):
        disk.replace(tmp_path / "file", b"x" * 25)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_bytes() == b"old"
    disk.replace(tmp_path / "file", b"new")
    assert (tmp_path / "file").read_bytes() == b"new"


def test_replace_takes_away_what_a_killed_one_has_staged(tmp_path: Path) -> None:
    (tmp_path / ".file.staged").write_bytes(b"half")
    disk.replace(tmp_path / "file", b"whole")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_bytes() == b"whole"


def test_a_name_is_durable_once_a_file_is_created_or_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    fsync = os.fsync

    def noted(descriptor: int) -> None:
        fsync(descriptor)
        synced.append(os.fstat(descriptor).st_ino)

    monkeypatch.setattr(os, "fsync", noted)
    os.close(disk.create(tmp_path / "folder" / "file"))
    assert synced == [tmp_path.stat().st_ino, (tmp_path / "folder").stat().st_ino]
    synced.clear()
    disk.replace(tmp_path / "folder" / "file", b"other")
    assert synced[-1] == (tmp_path / "folder").stat().st_ino


def test_folders_are_synced_up_to_the_top_and_no_further(tmp_path: Path, synced: list[Path]) -> None:
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    disk.sync_folders(folder, tmp_path)
    assert synced == [folder, folder.parent, tmp_path]


def test_a_lock_has_one_holder_even_within_a_process(tmp_path: Path) -> None:
    held = disk.lock(tmp_path / "lock")
    assert held is not None
    assert disk.lock(tmp_path / "lock") is None
    os.close(held)
    again = disk.lock(tmp_path / "lock")
    assert again is not None
    os.close(again)


def test_a_killed_holder_leaves_the_lock_free(tmp_path: Path) -> None:
    program = (
        "import sys, pathlib\nfrom resumed.daemon.storage import disk\n"
        "print(disk.lock(pathlib.Path(sys.argv[1])), flush=True)\nsys.stdin.read()\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "lock")]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=program_environment()
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline().strip().isdigit()
        assert disk.lock(tmp_path / "lock") is None
        holder.kill()
    taken = disk.lock(tmp_path / "lock")
    assert taken is not None
    os.close(taken)
