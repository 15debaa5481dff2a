"""Copies of what git keeps for deleted work trees, made before it is replaced, so that it can be put back.

A copy is whole or it is not there; putting it back is whole or leaves git without the work tree.
"""

import contextlib
import errno
import hashlib
import itertools
import os
import shutil
import stat
import time
from dataclasses import dataclass
from pathlib import Path

from resumed.daemon.failpoints import passage
from resumed.daemon.ports.git_command import printable
from resumed.daemon.ports.regular import open_regular
from resumed.daemon.storage import disk

KEPT_SECONDS = 90 * 24 * 3600.0
"""How long a copy stays at least: a restore that was cut off may be taken back that much later."""


class NotCopied(Exception):
    """There is no such copy, or none could be made or put back. `sentence` is for people."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence


@dataclass(frozen=True)
class Registrations:
    """The copies in `folder`, one for each path of a deleted work tree: the newest one."""

    folder: Path

    def keep(self, git_dir: str, path: str) -> None:
        """Copy git's folder for the work tree that was at `path`, durably. Raises `NotCopied`."""
        copy = self._copy_of(path)
        staged = copy.with_suffix(".staged")
        try:
            with disk.locked(self.folder / "lock"):
                self._forget_old()
                _remove(staged)
                disk.make_folder(staged)
                _copy(Path(git_dir), staged / os.path.basename(git_dir))
                disk.sync_folder(staged)
                _remove(copy)
                staged.rename(copy)
                disk.sync_folder(self.folder)
        except OSError as error:
            where = printable(path)
            raise NotCopied(f"what git keeps for {where} could not be copied: {_reason(error)}") from error

    def check(self, path: str, head: str) -> None:
        """Raise `NotCopied` unless there is a copy for `path`, with a HEAD at this reference or commit."""
        wanted = f"ref: {head}" if head.startswith("refs/") else head
        try:
            with open_regular(_only_folder(self._copy_of(path)) / "HEAD") as file:
                said = os.fsdecode(file.read(8192)).strip()
        except OSError:
            said = ""
        if said != wanted:
            raise NotCopied(f"the copy of what git kept for {printable(path)} is not there any more")

    def put_back(self, path: str, common_dir: str) -> None:
        """Have git know the work tree at `path` again, as it was when it was copied. Raises `NotCopied`."""
        copy = self._copy_of(path)
        try:
            _put_back(_only_folder(copy), Path(common_dir), f"resumed-{copy.name}")
        except OSError as error:
            where = printable(path)
            raise NotCopied(f"what git kept for {where} could not be put back: {_reason(error)}") from error

    def _copy_of(self, path: str) -> Path:
        return self.folder / hashlib.sha256(os.fsencode(path)).hexdigest()[:32]

    def _forget_old(self) -> None:
        for copy in self.folder.iterdir():
            if copy.is_dir() and copy.stat().st_mtime < time.time() - KEPT_SECONDS:
                _remove(copy)


def _put_back(kept: Path, common_dir: Path, staged_name: str) -> None:
    # Beside the work trees and not among them: git would take a folder half copied for one of them.
    staged = common_dir / staged_name
    _remove(staged)
    _copy(kept, staged)
    folder = common_dir / "worktrees"
    with contextlib.suppress(FileExistsError):
        folder.mkdir()
        folder.chmod(stat.S_IMODE(common_dir.stat().st_mode))
    passage("registration")
    staged.rename(_free_name(folder, kept.name))
    passage("registration")
    disk.sync_folder(folder)


def _copy(source: Path, to: Path) -> None:
    try:
        shutil.copytree(source, to, symlinks=True, ignore=_what_is_no_file)
    except shutil.Error as error:
        raise OSError(errno.EIO, str(error.args[0][0][2])) from error
    for folder, _, names in os.walk(to):
        for name in names:
            _sync_file(Path(folder, name))
        disk.sync_folder(Path(folder))


def _sync_file(path: Path) -> None:
    if path.is_symlink():
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        disk.sync(descriptor)
    finally:
        os.close(descriptor)


def _what_is_no_file(folder: str, names: list[str]) -> list[str]:
    """Sockets and pipes, which belong to a program and not to the work tree."""
    modes = {name: os.lstat(os.path.join(folder, name)).st_mode for name in names}
    return [
        name
        for name, mode in modes.items()
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode))
    ]


def _free_name(folder: Path, name: str) -> Path:
    """As git names them: the work tree's own name, or that with the first number that is free."""
    names = itertools.chain([name], (f"{name}{n}" for n in itertools.count(1)))
    return next(folder / name for name in names if not os.path.lexists(folder / name))


def _only_folder(copy: Path) -> Path:
    return next((path for path in copy.iterdir()), copy)


def _remove(folder: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(folder)


def _reason(error: OSError) -> str:
    return error.strerror or str(error)
