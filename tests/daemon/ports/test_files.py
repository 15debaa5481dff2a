"""Looking at folders and files."""

import hashlib
import os
from pathlib import Path

import pytest

from resumed.daemon.ports import files
from resumed.restore.probes import FileSeen, FolderSeen


async def test_folder(tmp_path: Path) -> None:
    seen, real = tmp_path.stat(), os.path.realpath(tmp_path)
    assert await files.folder(str(tmp_path)) == FolderSeen("folder", seen.st_dev, seen.st_ino, real)
    (tmp_path / "alias").symlink_to(tmp_path)
    assert await files.folder(str(tmp_path / "alias")) == FolderSeen("folder", seen.st_dev, seen.st_ino, real)
    (tmp_path / "file").touch()
    file = await files.folder(str(tmp_path / "alias" / "file"))
    assert (file.kind, file.canonical) == ("file", f"{real}/file")
    for absent in ("missing", "file/inside", "missing/inside"):
        expected = FolderSeen("absent", canonical=f"{real}/{absent}")
        assert await files.folder(str(tmp_path / "alias" / absent)) == expected, absent
    (tmp_path / "dangling").symlink_to(tmp_path / "gone")
    assert await files.folder(str(tmp_path / "dangling")) == FolderSeen("absent", canonical=f"{real}/gone")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert (await files.folder(str(tmp_path / "loop"))).kind == "unreadable"
    assert (await files.folder("/" + "x" * 5000)).kind == "unreadable"


async def test_regular_file_up_to_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"0123456789")
    digest = hashlib.sha256(b"0123456789").hexdigest()
    seen = FileSeen(kind="regular", sha256=digest, size=10, content=b"0123456789")
    assert await files.file(str(path)) == seen
    assert await files.file(str(path), limit=10) == seen
    assert await files.file(str(path), limit=9) == FileSeen(kind="regular", sha256=digest, size=10)


async def test_file_of_many_blocks(tmp_path: Path) -> None:
    content = os.urandom(5 * 1024 * 1024 + 3)
    (tmp_path / "file").write_bytes(content)
    digest = hashlib.sha256(content).hexdigest()
    assert await files.file(str(tmp_path / "file")) == FileSeen(
        kind="regular", sha256=digest, size=len(content)
    )


async def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("secret")
    (tmp_path / "link").symlink_to("file")
    seen = await files.file(str(tmp_path / "link"))
    digest = hashlib.sha256(b"file").hexdigest()
    assert seen == FileSeen(kind="link", sha256=digest, size=4, content=b"file")


async def test_what_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert await files.file(str(tmp_path / "pipe")) == FileSeen(kind="other")
    assert await files.file("/dev/null") == FileSeen(kind="other")
    assert await files.file(str(tmp_path)) == FileSeen(kind="folder")
    assert await files.file(str(tmp_path / "missing")) == FileSeen(kind="absent")
    assert await files.file(str(tmp_path / "pipe" / "inside")) == FileSeen(kind="absent")


async def test_unreadable_is_not_absent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()

    def refuse(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("resumed.daemon.ports.files.os.open", refuse)
    assert "Permission denied" in str(await files.file(str(tmp_path / "file")))
