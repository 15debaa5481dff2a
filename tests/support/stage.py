"""The stage of the demonstration: a sandbox, the real command line on a terminal, and what was promised.

Everything a person would see is printed; nothing of it is made up here. A promise that is not kept is
printed where it is broken, and again at the end.
"""

import contextlib
import fcntl
import os
import re
import shlex
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pexpect

from tests.support.environment import hermetic

PROGRAM = Path(sys.executable).with_name("resumed")
WIDTH, HEIGHT = 80, 60
DEADLINE = 60.0
PROMPT = "leave everything as it is "


class Pick(NamedTuple):
    """A question by a part of its text, and the beginning of the choice taken; without one the
    suggestion is taken, by Enter."""

    question: str
    choice: str = ""


class Stage:
    """One sandbox. `home` is the person's home folder, `dev` their projects; `broken` are promises."""

    def __init__(self, base: Path) -> None:
        self.home = base / "home"
        self.dev = self.home / "dev"
        self.dev.mkdir(parents=True)
        self.broken: list[str] = []

    def title(self, text: str, *told: str) -> None:
        """Begin a case: a heading, and what has happened before Resume is pressed."""
        rule = "━" * WIDTH
        print(f"\n{rule}\n{text}\n{rule}")
        for line in told:
            self.say(line)

    def say(self, text: str) -> None:
        """What happens outside of the program."""
        print(f"  · {text}")

    def resumed(self, folder: Path, *arguments: str, picks: Sequence[Pick] = (), status: int) -> str:
        """Run the program on a terminal in `folder`; returns what was on it.

        `picks` are answered in order; all of them must be asked, and no more. `status` is how it ends.
        """
        where = str(folder).replace(str(self.home), "~")
        print(f"\n{where} $ {shlex.join(('resumed', *arguments))}", flush=True)
        terminal = pexpect.spawn(
            str(PROGRAM),
            list(arguments),
            cwd=str(folder),
            env={**os.environ, "NO_COLOR": "1", "TERM": "dumb"},
            dimensions=(HEIGHT, WIDTH),
            encoding="utf-8",
            timeout=DEADLINE,
        )
        seen, left = "", list(picks)
        while terminal.expect_exact([PROMPT, pexpect.EOF]) == 0:
            asked = (terminal.before or "").replace("\r\n", "\n")
            seen += asked + PROMPT
            typed = _typed(left.pop(0), asked) if left else None
            if typed is None:
                self.promise(False, f"a question it must not ask: {asked.strip().splitlines()[:1]}")
            terminal.sendline("q" if typed is None else typed)
        seen += (terminal.before or "").replace("\r\n", "\n")
        terminal.close()
        print(seen.strip("\n"))
        for pick in left:
            self.promise(False, f"it asks “{pick.question}”")
        self.promise(terminal.exitstatus == status, f"exit status {status} (it is {terminal.exitstatus})")
        return seen

    def shows(self, seen: str, *texts: str) -> None:
        """Promise that texts are on the terminal, however they are broken into lines."""
        flat = " ".join(seen.split())
        for text in texts:
            self.promise(" ".join(text.split()) in flat, f"it shows “{text}”")

    def promise(self, kept: bool, sentence: str) -> None:
        """Remember and print a promise that is not kept."""
        if not kept:
            self.broken.append(sentence)
            print(f"\n  ✗ NOT AS PROMISED: {sentence}")


@contextlib.contextmanager
def stage() -> Iterator[Stage]:
    """A sandbox whose folders and variables are this process' own; its daemons are stopped at the end.

    `RESUMED_DEMO_KEEP=1` leaves the folders; they are removed otherwise."""
    keep = os.environ.get("RESUMED_DEMO_KEEP") == "1"
    base = Path(tempfile.mkdtemp(prefix="resumed-demo-")).resolve()
    # A socket's path must be short, and a temporary folder's need not be.
    runtime = Path(tempfile.mkdtemp(prefix="resumed-", dir="/tmp"))
    clean = hermetic(os.environ, base / "home", runtime)
    os.environ.clear()
    os.environ.update(clean)
    try:
        yield Stage(base)
    finally:
        _stop_daemons(runtime)
        shutil.rmtree(runtime, ignore_errors=True)
        if keep:
            print(f"\nThe repositories, the records and the state folder are in {base / 'home'}")
        else:
            shutil.rmtree(base, ignore_errors=True)


def _typed(pick: Pick, asked: str) -> str | None:
    """What to type for a pick, if this is its question and it has that choice."""
    if pick.question not in " ".join(asked.split()):
        return None
    if not pick.choice:
        return ""
    found = re.search(rf"^ +(\d+) +{re.escape(pick.choice)}", asked, re.MULTILINE)
    return found[1] if found else None


def _stop_daemons(runtime: Path) -> None:
    for lock in (runtime / "r").glob("*.lock"):
        with lock.open("rb") as file:
            with contextlib.suppress(ProcessLookupError, ValueError):
                os.kill(int(file.read()), signal.SIGTERM)
            fcntl.flock(file, fcntl.LOCK_EX)
