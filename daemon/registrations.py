"""Copies of what git keeps for deleted work trees, made before it is replaced, so that it can be put back.

A copy is an archive that is whole or not there, with the modes and times that git's files had. What is put
back is whole, or git does not know it.
"""

import contextlib
import itertools
import os
import shutil
import stat
import tarfile
import time
from dataclasses import dataclass
from pathlib import Path

from resumed.daemon.failpoints import passage
from resumed.daemon.storage import disk

KEPT_SECONDS = 90 * 24 * 3600.0
"""How long a copy stays at least: a restore that was cut off may be taken back that much later."""

_NAME = "comment"
"""The archive's keyword for the name of git's folder."""

_STAGED = ".staged"


class NotCopied(Exception):
    """There is no such copy, or none could be made or put back. `sentence` is for people."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence


@dataclass(frozen=True)
class Registrations:
    """The copies in `folder`, one for each restore that replaced what git kept."""

    folder: Path

    def keep(self, restore_id: str, git_dir: str) -> None:
        """Copy git's folder for a work tree, durably. Raises `NotCopied`."""
        copy = self._copy_of(restore_id)
        try:
            _archive(git_dir, copy)
        except (OSError, tarfile.TarError) as error:
            with contextlib.suppress(OSError):
                copy.with_suffix(_STAGED).unlink()
            raise NotCopied(f"what git keeps for it could not be copied: {_reason(error)}") from error

    def check(self, restore_id: str) -> None:
        """Raise `NotCopied` unless the restore's copy is there, and whole."""
        try:
            with tarfile.open(self._copy_of(restore_id)) as archive:
                archive.getmember("./HEAD")
        except (OSError, tarfile.TarError, KeyError) as error:
            raise NotCopied("the copy of what git kept for it is not there any more") from error

    def continue_log(self, restore_id: str, git_dir: str) -> None:
        """Let the log of HEAD of the work tree that was made again begin with that of the one before: what
        only that holds is not git's to collect then. Raises `NotCopied`."""
        try:
            _continue_log(self._copy_of(restore_id), Path(git_dir, "logs", "HEAD"))
        except (OSError, tarfile.TarError) as error:
            raise NotCopied(f"the log of HEAD could not be gone on with: {_reason(error)}") from error

    def put_back(self, restore_id: str, common_dir: str) -> None:
        """Have git know the work tree again, as it was when it was copied. Raises `NotCopied`."""
        # Beside the work trees and not among them: git would take a folder half copied for one of them.
        staged = Path(common_dir, f"resumed-{restore_id}")
        try:
            _put_back(self._copy_of(restore_id), staged)
        except (OSError, tarfile.TarError) as error:
            shutil.rmtree(staged, ignore_errors=True)
            raise NotCopied(f"what git kept for it could not be put back: {_reason(error)}") from error

    def forget_old(self) -> None:
        """Remove copies that were kept for their time, as far as the system lets us."""
        oldest = time.time() - KEPT_SECONDS
        for copy in self.folder.glob("*.*"):
            with contextlib.suppress(OSError):
                if copy.stat().st_mtime < oldest:
                    copy.unlink()

    def _copy_of(self, restore_id: str) -> Path:
        return self.folder / f"{restore_id}.tar"


def _archive(git_dir: str, copy: Path) -> None:
    staged = copy.with_suffix(_STAGED)
    staged.unlink(missing_ok=True)
    with os.fdopen(disk.create(staged), "wb") as file:
        named = {_NAME: os.path.basename(git_dir)}
        with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT, pax_headers=named) as archive:
            archive.add(git_dir, ".", filter=_only_files)
        file.flush()
        disk.sync(file.fileno())
    staged.replace(copy)
    disk.sync_folder(copy.parent)


def _continue_log(copy: Path, log: Path) -> None:
    with tarfile.open(copy) as archive:
        try:
            before = archive.extractfile("./logs/HEAD")
        except KeyError:
            before = None
        lines = before.read() if before is not None else b""
    if not lines or not log.exists():
        return
    staged = log.with_name(f"HEAD{_STAGED}")
    staged.unlink(missing_ok=True)
    with os.fdopen(disk.create(staged), "wb") as file:
        file.write(lines if lines.endswith(b"\n") else lines + b"\n")
        file.write(log.read_bytes())
        file.flush()
        os.fchmod(file.fileno(), stat.S_IMODE(log.stat().st_mode))
        disk.sync(file.fileno())
    passage("registration")
    staged.replace(log)
    disk.sync_folder(log.parent)


def _only_files(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """Sockets and pipes belong to a program, and not to the work tree."""
    return entry if entry.isfile() or entry.isdir() or entry.issym() or entry.islnk() else None


def _put_back(copy: Path, staged: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(staged)
    name = _extract(copy, staged)
    folder = staged.parent / "worktrees"
    with contextlib.suppress(FileExistsError):
        folder.mkdir()
        folder.chmod(stat.S_IMODE(staged.parent.stat().st_mode))
    passage("registration")
    staged.rename(_free_name(folder, name))
    passage("registration")
    disk.sync_folder(folder)
    disk.sync_folder(staged.parent)


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
