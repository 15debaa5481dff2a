"""Takes a linked work tree away in parts that are each done at once, so that being cut off between two of
them is seen, and the next try goes on there.

Its folder is renamed to a name beside it, then git's folder for it to one where git looks for none; both are
deleted last. Whether anything in them would be lost is decided by the caller, before.
"""

import contextlib
import os
import shutil
from dataclasses import dataclass

from resumed.daemon.failpoints import passage
from resumed.daemon.ports.git_place import pointer_of
from resumed.daemon.ports.git_registration import registered_path
from resumed.daemon.storage import disk


@dataclass(frozen=True)
class Removal:
    """One work tree that goes. `files` and `git_dir` are where its folder and git's folder for it are put
    meanwhile; `worktrees` is the folder of all of git's."""

    path: str
    files: str
    git_dir: str
    worktrees: str

    @classmethod
    def of(cls, path: str, common_dir: str, restore_id: str) -> "Removal":
        """The removal of the work tree at `path`, by this restore."""
        return cls(
            path=path,
            files=os.path.join(os.path.dirname(path), f".resumed-{restore_id}"),
            git_dir=os.path.join(common_dir, f"resumed-{restore_id}-removed"),
            worktrees=os.path.join(common_dir, "worktrees"),
        )

    def has_begun(self) -> bool:
        """Whether it was begun, and cut off."""
        return os.path.lexists(self.files) or os.path.lexists(self.git_dir)

    def begin(self) -> None:
        """Put the folder aside: from here on the work tree is gone. Raises `OSError`."""
        passage("removal")
        os.rename(self.path, self.files)

    def forget(self) -> None:
        """Put git's folder for it aside, so that git does not know it any more; an empty one stands there if
        git has forgotten it already. Raises `OSError`."""
        passage("removal")
        if os.path.lexists(self.git_dir):
            return
        known = _pointed_at(self.files)
        # A work tree that is at the path again is somebody else's, and so is what git keeps for it.
        if known is None or registered_path(known) != self.path or _pointed_at(self.path) == known:
            os.mkdir(self.git_dir)
        else:
            os.rename(known, self.git_dir)
        passage("removal")

    def end(self) -> None:
        """Delete what was put aside, durably. Raises `OSError`."""
        for folder in (self.files, self.git_dir):
            passage("removal")
            with contextlib.suppress(FileNotFoundError):
                shutil.rmtree(folder)
        # As git does with its last one.
        with contextlib.suppress(OSError):
            os.rmdir(self.worktrees)
        for name in (self.path, os.path.join(self.worktrees, "any"), self.git_dir):
            with contextlib.suppress(FileNotFoundError):
                disk.sync_folder(os.path.dirname(name))
        passage("removal")


def _pointed_at(files: str) -> str | None:
    """Git's folder for the work tree whose files are there; `None` where there is none."""
    pointer = pointer_of(files)
    return None if pointer is None else os.path.realpath(pointer)
