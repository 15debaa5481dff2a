"""Runs git as a child process.

Git is other people's code: no hooks, no fsmonitor program, no inherited `GIT_*`, no network while
reading, and its own session, so that a daemon that is killed does not tear a running checkout.
"""

import asyncio
import contextlib
import itertools
import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import IO

from resumed.daemon.failpoints import passage

READ_SECONDS = 10.0
WRITE_SECONDS = 600.0
MOVER = "resumed"
"""Who, in git's logs, moved what a restore moved."""
_CHILDREN_AT_ONCE = 8
_GRACE_SECONDS = 5.0
_NAMED = 3
_READING = {"GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1"}
_SAFE = ("--no-pager", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")


class GitFailed(Exception):
    """Git could not answer. `sentence` is one sentence for people."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence


@dataclass(frozen=True)
class Outcome:
    """How a git command ended: exit code, raw output, and what it said on standard error."""

    code: int
    output: bytes
    said: bytes

    @property
    def text(self) -> str:
        """The output without its last newline; bytes that are not UTF-8 become surrogates."""
        return os.fsdecode(self.output).removesuffix("\n")

    @property
    def reason(self) -> str:
        """What git said last that is meant for people, printable."""
        lines = self.said.decode("utf-8", "backslashreplace").strip().splitlines()
        telling = [n for n, line in enumerate(lines) if line.startswith(("fatal: ", "error: "))] or [0]
        if not lines:
            return f"git ended with {self.code}"
        said = lines[telling[0]].removeprefix("fatal: ").removeprefix("error: ")
        if not said.endswith(":"):
            return said
        # The files follow, one on each line.
        rest = itertools.takewhile(lambda line: line.startswith("\t"), lines[telling[0] + 1 :])
        return f"{said} {', '.join(line.strip() for line in itertools.islice(rest, _NAMED))}".rstrip(" :")

    def expect(self) -> "Outcome":
        """Itself when git ended with 0, else raises `GitFailed`."""
        if self.code != 0:
            raise GitFailed(self.reason)
        return self


def printable(name: str) -> str:
    """A file name for people: bytes that are not UTF-8 are written as `\\xNN`."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


class GitCommand:
    """Runs git, at most eight children at a time. `program` is the git to use; commands that change a
    repository run under `umask` (-1: this process's own).

    Children are started and waited for in threads of their own: asyncio's children can hang a loop
    that is stopped while one of them is being started."""

    def __init__(self, program: str = "git", umask: int = -1) -> None:
        self._program = program
        self._umask = umask
        self._threads = ThreadPoolExecutor(_CHILDREN_AT_ONCE, thread_name_prefix="git")

    async def read(self, folder: str, *arguments: str, seconds: float = READ_SECONDS) -> Outcome:
        """Run a command that changes nothing. It is killed on cancellation and after `seconds`.

        Raises `GitFailed` when it takes too long or cannot be started."""
        environment = {**_environment(os.environ), **_READING}
        child = _Child((self._program, *_SAFE, "-C", folder, *arguments), environment)
        running = asyncio.get_running_loop().run_in_executor(self._threads, child.run)
        try:
            async with asyncio.timeout(seconds) as limit:
                return await running
        except TimeoutError:
            if not limit.expired():
                raise
            raise GitFailed(f"git {arguments[0]} took longer than {seconds:g} s") from None
        finally:
            child.stop(signal.SIGKILL)

    async def write(
        self, folder: str, *arguments: str, by: str = "", seconds: float = WRITE_SECONDS
    ) -> Outcome:
        """Run a command that changes a repository. A cancelled caller waits until it has ended. The logs
        of what moves name `by` as the one who moved it, if that is given.

        Raises `GitFailed` when it takes too long or cannot be started; it was then asked to stop,
        so that it removes its own lock files."""
        task = asyncio.ensure_future(self._write(folder, arguments, by, seconds))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            await asyncio.wait((task,))
            raise

    async def _write(self, folder: str, arguments: tuple[str, ...], by: str, seconds: float) -> Outcome:
        mover = {"GIT_COMMITTER_NAME": MOVER, "GIT_COMMITTER_EMAIL": by} if by else {}
        environment = {**_environment(os.environ), **mover}
        child = _Child((self._program, *_SAFE, "-C", folder, *arguments), environment, self._umask)
        passage("git")
        running = asyncio.get_running_loop().run_in_executor(self._threads, child.run)
        done, _ = await asyncio.wait((running,), timeout=seconds)
        if done:
            passage("git")
            return running.result()
        child.stop(signal.SIGTERM)
        done, _ = await asyncio.wait((running,), timeout=_GRACE_SECONDS)
        if not done:
            child.stop(signal.SIGKILL)
            await asyncio.wait((running,))
        raise GitFailed(f"git {arguments[0]} took longer than {seconds:g} s")


class _Child:
    """One git: `run` blocks in a thread, `stop` may be called from another one at any time."""

    def __init__(self, words: tuple[str, ...], environment: Mapping[str, str], umask: int = -1) -> None:
        self._words = words
        self._umask = umask
        self._environment = environment
        self._turn = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = False

    def run(self) -> Outcome:
        """Start git, wait for its end, and return what it wrote."""
        # Files instead of pipes: a git that outlives the daemon must not die of a broken pipe.
        with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as said:
            with self._turn:
                if self._stopped:
                    raise GitFailed("git was not started: its answer is not wanted any more")
                process = self._process = self._start(output, said)
            code = process.wait()
            output.seek(0)
            said.seek(0)
            return Outcome(code, output.read(), said.read())

    def stop(self, how: signal.Signals) -> None:
        """Send a signal to git and what it started, unless it has ended."""
        with self._turn:
            self._stopped = True
            if self._process is not None and self._process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(self._process.pid, how)

    def _start(self, output: IO[bytes], said: IO[bytes]) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(
                self._words,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=said,
                env=self._environment,
                start_new_session=True,
                umask=self._umask,
            )
        except OSError as error:
            raise GitFailed(f"git could not be started: {error.strerror}") from error


def _environment(inherited: Mapping[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in inherited.items() if not name.startswith("GIT_")}
    kept.pop("LANGUAGE", None)
    return {**kept, "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}
