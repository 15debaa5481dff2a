"""Tells from a work tree's git dir which operation of git is half finished there."""

import os
import re
from dataclasses import dataclass

from resumed.daemon.ports.regular import open_regular


@dataclass(frozen=True)
class InProgress:
    """`operation`: merge, rebase, cherryPick, revert, bisect, am or squash; `done` of `total` steps
    where git tells. `branch` is the branch being rebased, or that a bisect began on."""

    operation: str
    done: int | None = None
    total: int | None = None
    branch: str | None = None


_OBJECT_ID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_MARKS = (
    ("MERGE_HEAD", "merge"),
    ("CHERRY_PICK_HEAD", "cherryPick"),
    ("REVERT_HEAD", "revert"),
)


def in_progress(git_dir: str, pseudo_refs: frozenset[str]) -> InProgress | None:
    """What is half finished, or `None`. `pseudo_refs` are those of `CHERRY_PICK_HEAD` and
    `REVERT_HEAD` that git itself names, for repositories that keep no files for them."""
    rebase = _rebase(git_dir)
    if rebase is not None:
        return rebase
    for mark, operation in _MARKS:
        if mark in pseudo_refs or os.path.exists(os.path.join(git_dir, mark)):
            return InProgress(operation)
    # Between two picks of a series there is no mark, only the list of what remains.
    todo = _line(git_dir, "sequencer/todo")
    if todo is not None:
        return InProgress("revert" if todo.startswith("revert ") else "cherryPick")
    if os.path.exists(os.path.join(git_dir, "BISECT_LOG")):
        return InProgress("bisect", branch=_bisected(git_dir))
    if os.path.exists(os.path.join(git_dir, "SQUASH_MSG")):
        return InProgress("squash")
    return None


def at_work(git_dir: str) -> bool:
    """Whether another git command holds this work tree's index, or is still making the work tree.

    A command that was killed leaves the same marks behind."""
    if os.path.lexists(os.path.join(git_dir, "index.lock")):
        return True
    return _line(git_dir, "locked") == "initializing"


def _rebase(git_dir: str) -> InProgress | None:
    if os.path.isdir(os.path.join(git_dir, "rebase-merge")):
        return InProgress(
            "rebase",
            done=_number(git_dir, "rebase-merge/msgnum"),
            total=_number(git_dir, "rebase-merge/end"),
            branch=_head_name(git_dir, "rebase-merge/head-name"),
        )
    if not os.path.isdir(os.path.join(git_dir, "rebase-apply")):
        return None
    applying = os.path.exists(os.path.join(git_dir, "rebase-apply/applying"))
    return InProgress(
        "am" if applying else "rebase",
        done=_number(git_dir, "rebase-apply/next"),
        total=_number(git_dir, "rebase-apply/last"),
        branch=None if applying else _head_name(git_dir, "rebase-apply/head-name"),
    )


def _bisected(git_dir: str) -> str | None:
    """The branch that a bisect began on; it may have begun on a commit."""
    began = _line(git_dir, "BISECT_START")
    return None if began is None or _OBJECT_ID.fullmatch(began) else began


def _head_name(git_dir: str, name: str) -> str | None:
    line = _line(git_dir, name)
    if line is None or not line.startswith("refs/heads/"):
        return None
    return line.removeprefix("refs/heads/")


def _number(git_dir: str, name: str) -> int | None:
    line = _line(git_dir, name)
    return int(line) if line is not None and line.isdecimal() else None


def _line(git_dir: str, name: str) -> str | None:
    try:
        with open_regular(os.path.join(git_dir, name)) as file:
            return os.fsdecode(file.readline(4096).rstrip(b"\r\n"))
    except (FileNotFoundError, NotADirectoryError):
        return None
