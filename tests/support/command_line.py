"""The installed `resumed` program in tests: run with pipes, or under a terminal that is typed into.

Every daemon that a command starts is stopped by `stopping_daemons`.
"""

import contextlib
import functools
import os
import signal
import subprocess
import sys
import termios
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import pexpect

from resumed.daemon.runtime import LockHeld, runtime_folder, take_lock
from tests.support.codex import NAMES, build_scratch_repo, install_recording
from tests.support.wire import DEADLINE, wait_for

PROGRAM = Path(sys.executable).with_name("resumed")
COMMIT = "d585eef34e4ec41e24d4f504906dc908fc9e38a2"
AS_LEFT = "[[bare]] fix the rounding"
CUT_OFF = "[[slow]] kill me"
IN_WORKTREE = "[[bare]] in the worktree"

_OF_THE_BUNDLE = (
    "v171_on_request_two_turns",
    "v171_read_only",
    "v171_rejected_plan",
    "v171_workspace_write_then_resumed_read_only",
    "v171_worktree_workspace_write",
)


def recorded_workspace(home: Path, names: Sequence[str] = NAMES) -> Path:
    """Make the repository of the recordings below `home`, with these recordings in the agent's folder.

    Returns the main checkout, on `fix/payment`; the linked one is `repo-wt` beside it.
    """
    repository, linked = build_scratch_repo(home / "dev")
    replacements = {
        "/home/dev/repo-wt": str(linked),
        "/home/dev/repo": str(repository),
        "/home/dev/wt-feature": str(home / "dev" / "wt-feature"),
    }
    for name in names:
        commit = None if name in _OF_THE_BUNDLE else COMMIT
        install_recording(name, Path(os.environ["CODEX_HOME"]), replacements, commit)
    return repository


@contextlib.contextmanager
def stopping_daemons() -> Iterator[None]:
    """Stop every daemon whose lock is in this test's runtime folder, and wait until it is gone."""
    try:
        yield
    finally:
        for lock in (runtime_folder() / "r").glob("*.lock"):
            pid = _holder(lock)
            if pid:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGTERM)
            wait_for(functools.partial(_is_free, lock))


def run(folder: Path, *arguments: str, **more: str) -> "subprocess.CompletedProcess[str]":
    """Run the program in a folder without a terminal; `more` are environment variables."""
    return subprocess.run(
        [PROGRAM, *arguments],
        cwd=folder,
        env={**os.environ, **more},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


class Terminal:
    """The program under a pseudo-terminal of 80 columns. `seen` is all that it showed."""

    program: ClassVar[tuple[str, ...]] = (str(PROGRAM),)

    def __init__(self, folder: Path, *arguments: str, **more: str) -> None:
        self._child: Any = pexpect.spawn(
            self.program[0],
            [*self.program[1:], *arguments],
            cwd=str(folder),
            env={**os.environ, "TERM": "xterm", "NO_COLOR": "1", **more},
            dimensions=(50, 80),
            encoding="utf-8",
            timeout=DEADLINE,
        )
        self.seen = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._child.close(force=True)

    def wait_for(self, text: str) -> str:
        """Return what was shown up to and with this text."""
        self._child.expect_exact(text)
        shown = f"{self._child.before}{text}".replace("\r\n", "\n")
        self.seen += shown
        return shown

    def enter(self, text: str = "") -> None:
        """Type a line."""
        self._child.sendline(text)

    def escape(self) -> None:
        """Type Esc alone."""
        self._child.send("\x1b")

    def end_input(self) -> None:
        """Type Ctrl-D."""
        self._child.sendeof()

    def interrupt(self) -> None:
        """Type Ctrl-C."""
        self._child.sendintr()

    def suspend(self) -> None:
        """Type Ctrl-Z."""
        self._child.sendcontrol("z")

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the program."""
        self._child.kill(number)

    def settings(self) -> object:
        """How the terminal is set."""
        return termios.tcgetattr(self._child.child_fd)

    def exit_code(self) -> int | None:
        """Wait for the end; `None` when a signal ended it."""
        self._child.expect_exact(pexpect.EOF)
        self.seen += str(self._child.before).replace("\r\n", "\n")
        self._child.close()
        code: int | None = self._child.exitstatus
        return code


def _is_free(lock: Path) -> bool:
    return _holder(lock) is None


def _holder(lock: Path) -> int | None:
    """The process that holds a lock; 0 while it has not said who it is."""
    try:
        os.close(take_lock(lock))
    except LockHeld as held:
        return held.pid
    return None


class ShellTerminal(Terminal):
    """As `Terminal`, but below a shell that shows `suspended` when the program is, and takes it up again
    when a line is typed."""

    program = ("/bin/sh", "-c", 'set -m; "$0" "$@"; echo suspended; read line; fg', str(PROGRAM))
