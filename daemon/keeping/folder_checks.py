"""Checks of the state folder itself: whose it is, where it lies, its identity, who may read what.

Read-only. Blocks.
"""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import msgspec

from resumed.daemon.keeping.findings import Finding
from resumed.daemon.ports.regular import open_regular
from resumed.daemon.storage.layout import KEY_BYTES, LAYOUT_VERSION
from resumed.daemon.storage.mounts import remote_file_system

_THE_PERSONS_OWN = ("settings.toml",)


class _Identity(msgspec.Struct):
    version: int
    install_id: str


def folder(home: Path) -> Iterator[Finding]:
    """Whether the folder may be used at all, and is the one it should be."""
    status = home.stat()
    if not stat.S_ISDIR(status.st_mode):
        yield _refused(home, "It is not a folder.")
        return
    if os.geteuid() not in (0, status.st_uid):
        yield _refused(home, "It belongs to another user.")
    if status.st_mode & 0o002:
        yield _refused(home, "It can be written by every user.")
    if (remote := remote_file_system(home)) is not None:
        sentence = f"It is on a remote file system ({remote}), where locks can't be relied on."
        yield Finding(kind="folder.remote", path=str(home), sentence=sentence)
    yield from _identity(home)


def modes(home: Path) -> Iterator[Finding]:
    """Folders and files of ours that others may enter, read or write."""
    for directory, folders, files in os.walk(home):
        for name in (*folders, *files):
            path = Path(directory, name)
            if name in _THE_PERSONS_OWN:
                continue
            try:
                mode = path.lstat().st_mode
            except FileNotFoundError:
                continue
            if stat.S_ISLNK(mode) or not mode & 0o077:
                continue
            kind = "mode.folder" if stat.S_ISDIR(mode) else "mode.file"
            sentence = f"Others may use it (mode {stat.S_IMODE(mode):03o})."
            yield Finding(kind=kind, path=str(path), sentence=sentence)
    if home.stat().st_mode & 0o075:
        sentence = f"Others may use it (mode {stat.S_IMODE(home.stat().st_mode):03o})."
        yield Finding(kind="mode.folder", path=str(home), sentence=sentence)


def _identity(home: Path) -> Iterator[Finding]:
    path = home / "layout.json"
    try:
        with open_regular(path) as file:
            found = msgspec.json.decode(file.read(), type=_Identity)
    except FileNotFoundError:
        if any(home.iterdir()):
            sentence = "It is missing: nothing says which installation this is."
            yield Finding(kind="folder.identity", path=str(path), sentence=sentence)
        return
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        yield Finding(kind="folder.identity", path=str(path), sentence=f"It can't be read: {error}.")
        return
    if found.version > LAYOUT_VERSION:
        sentence = f"It was written by a newer version (layout {found.version})."
        yield Finding(kind="folder.newer", path=str(path), sentence=sentence)
    key = home / "key"
    if not key.is_file() or key.stat().st_size != KEY_BYTES:
        yield Finding(kind="folder.key", path=str(key), sentence="It is missing or damaged.")


def _refused(home: Path, sentence: str) -> Finding:
    return Finding(kind="folder.refused", path=str(home), sentence=sentence)
