"""Copies of what git keeps for deleted work trees, made before it is replaced, so that it can be put back.

A copy is an archive that is whole or not there, with the modes and times that git's files had. What is put
back is whole, or git does not know it.
"""

import contextlib
import hashlib
import itertools
import os
import shutil
import stat
import tarfile
import time
from dataclasses import dataclass
from pathlib import Path

from resumed.daemon.failpoints import passage
from resumed.daemon.ports.git_command import printable
from resumed.daemon.storage import disk

KEPT_SECONDS = 90 * 24 * 3600.0
"""How long a copy stays at least: a restore that was cut off may be taken back that much later."""

_NAME = "comment"
"""The archive's keyword for the name of git's folder."""


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
        try:
            with disk.locked(self.folder / "lock"):
                self._forget_old()
                _archive(git_dir, copy)
        except (OSError, tarfile.TarError) as error:
            where = printable(path)
            raise NotCopied(f"what git keeps for {where} could not be copied: {_reason(error)}") from error

    def check(self, path: str, head: str) -> None:
        """Raise `NotCopied` unless there is a copy for `path`, with a HEAD at this reference or commit."""
        wanted = f"ref: {head}" if head.startswith("refs/") else head
        if _head(self._copy_of(path)) != wanted:
            raise NotCopied(f"the copy of what git kept for {printable(path)} is not there any more")

    def put_back(self, path: str, common_dir: str) -> None:
        """Have git know the work tree at `path` again, as it was when it was copied. Raises `NotCopied`."""
        try:
            _put_back(self._copy_of(path), Path(common_dir))
        except (OSError, tarfile.TarError) as error:
            where = printable(path)
            raise NotCopied(f"what git kept for {where} could not be put back: {_reason(error)}") from error

    def _copy_of(self, path: str) -> Path:
        return self.folder / f"{hashlib.sha256(os.fsencode(path)).hexdigest()[:32]}.tar"

    def _forget_old(self) -> None:
        for copy in self.folder.glob("*.tar"):
            if copy.stat().st_mtime < time.time() - KEPT_SECONDS:
                copy.unlink()


def _archive(git_dir: str, copy: Path) -> None:
    staged = copy.with_suffix(".staged")
    staged.unlink(missing_ok=True)
    with os.fdopen(disk.create(staged), "wb") as file:
        named = {_NAME: os.path.basename(git_dir)}
        with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT, pax_headers=named) as archive:
            archive.add(git_dir, ".", filter=_only_files)
        file.flush()
        disk.sync(file.fileno())
    staged.replace(copy)
    disk.sync_folder(copy.parent)


def _only_files(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """Sockets and pipes belong to a program, and not to the work tree."""
    return entry if entry.isfile() or entry.isdir() or entry.issym() or entry.islnk() else None


def _head(copy: Path) -> str:
    try:
        with tarfile.open(copy) as archive:
            file = archive.extractfile("./HEAD")
            return os.fsdecode(file.read()).strip() if file else ""
    except (OSError, tarfile.TarError, KeyError):
        return ""


def _put_back(copy: Path, common_dir: Path) -> None:
    # Beside the work trees and not among them: git would take a folder half copied for one of them.
    staged = common_dir / f"resumed-{copy.stem}"
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(staged)
    name = _extract(copy, staged)
    folder = common_dir / "worktrees"
    with contextlib.suppress(FileExistsError):
        folder.mkdir()
        folder.chmod(stat.S_IMODE(common_dir.stat().st_mode))
    passage("registration")
    staged.rename(_free_name(folder, name))
    passage("registration")
    disk.sync_folder(folder)


def _extract(copy: Path, staged: Path) -> str:
    """Extract a copy durably; returns the name that the folder had."""
    with tarfile.open(copy) as archive:
        # Nobody else writes to it, and modes that git gave to its files must not be narrowed.
        archive.extraction_filter = getattr(tarfile, "fully_trusted_filter", None)
        archive.extractall(staged, numeric_owner=True)
        name = archive.pax_headers.get(_NAME, staged.name)
    for folder, _, names in os.walk(staged):
        for each in names:
            _sync_file(Path(folder, each))
        disk.sync_folder(Path(folder))
    return name


def _sync_file(path: Path) -> None:
    if path.is_symlink():
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        disk.sync(descriptor)
    finally:
        os.close(descriptor)


def _free_name(folder: Path, name: str) -> Path:
    """As git names them: the work tree's own name, or that with the first number that is free."""
    names = itertools.chain([name], (f"{name}{n}" for n in itertools.count(1)))
    return next(folder / each for each in names if not os.path.lexists(folder / each))


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
