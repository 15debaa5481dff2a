"""Only regular files are opened, and whatever else is there is refused at once."""

import os
import threading
from pathlib import Path

import pytest

from resumed.daemon.ports.regular import open_regular
from tests.support.odd_files import KINDS, put_something_odd


def test_a_file_and_a_link_to_one_are_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"one\ntwo\n")
    (tmp_path / "link").symlink_to("file")
    for name in ("file", "link"):
        with open_regular(tmp_path / name, 1 << 20) as source:
            assert (source.readline(), source.seekable(), source.read()) == (b"one\n", True, b"two\n")


def test_what_is_not_there_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        open_regular(str(tmp_path / "gone"))


@pytest.mark.parametrize("kind", KINDS)
def test_whatever_else_is_refused_without_opening_it(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_something_odd(tmp_path / "odd", kind)
    opened: list[str] = []
    monkeypatch.setattr(os, "open", lambda path, flags: opened.append(path))
    reason = "Is a directory" if kind == "folder" else "it is no regular file"
    with pytest.raises(OSError, match=reason):
        open_regular(tmp_path / "odd")
    assert opened == []


def test_a_pipe_that_takes_the_files_place_in_between_is_refused_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_something_odd(tmp_path / "odd", "pipe")
    (tmp_path / "file").touch()
    seen = os.stat(tmp_path / "file")
    monkeypatch.setattr("resumed.daemon.ports.regular.os.stat", lambda path: seen)
    refused: list[str | None] = []

    def open_it() -> None:
        try:
            open_regular(tmp_path / "odd")
        except OSError as error:
            refused.append(error.strerror)

    opening = threading.Thread(target=open_it, daemon=True)
    opening.start()
    opening.join(20)
    assert refused == ["it is no regular file"]
