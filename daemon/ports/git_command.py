"""Runs git as a child process.

Git is other people's code: no hooks, no fsmonitor program, no inherited `GIT_*`, no network while
reading, and its own session, so that a daemon that is killed does not tear a running checkout.
"""

import asyncio
import contextlib
import os
import signal
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from typing import IO

READ_SECONDS = 10.0
WRITE_SECONDS = 600.0
_CHILDREN_AT_ONCE = 8
_GRACE_SECONDS = 5.0
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
        telling = [line for line in lines if line.startswith(("fatal: ", "error: "))] or lines
        if not telling:
            return f"git ended with {self.code}"
        return telling[0].removeprefix("fatal: ").removeprefix("error: ")

    def expect(self) -> "Outcome":
        """Itself when git ended with 0, else raises `GitFailed`."""
        if self.code != 0:
            raise GitFailed(self.reason)
        return self


def printable(name: str) -> str:
    """A file name for people: bytes that are not UTF-8 are written as `\\xNN`."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


class GitCommand:
    """Runs git, at most eight children at a time. `program` is the git to use."""

    def __init__(self, program: str = "git") -> None:
        self._program = program
        self._children = asyncio.Semaphore(_CHILDREN_AT_ONCE)

    async def read(self, folder: str, *arguments: str, seconds: float = READ_SECONDS) -> Outcome:
        """Run a command that changes nothing. It is killed on cancellation and after `seconds`.

        Raises `GitFailed` when it takes too long or cannot be started."""
        environment = {**_environment(os.environ), "GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1"}
        async with self._children:
            with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as said:
                child = await self._start(folder, arguments, environment, output, said)
                try:
                    await asyncio.wait_for(child.wait(), seconds)
                except TimeoutError:
                    raise GitFailed(f"git {arguments[0]} took longer than {seconds:g} s") from None
                finally:
                    await _end(child, signal.SIGKILL)
                return _outcome(child, output, said)

    async def write(self, folder: str, *arguments: str, seconds: float = WRITE_SECONDS) -> Outcome:
        """Run a command that changes a repository. A cancelled caller waits until it has ended.

        Raises `GitFailed` when it takes too long or cannot be started; it was then asked to stop,
        so that it removes its own lock files."""
        task = asyncio.ensure_future(self._write(folder, arguments, seconds))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            await asyncio.wait((task,))
            raise

    async def _write(self, folder: str, arguments: tuple[str, ...], seconds: float) -> Outcome:
        with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as said:
            child = await self._start(folder, arguments, _environment(os.environ), output, said)
            try:
                await asyncio.wait_for(child.wait(), seconds)
            except TimeoutError:
                await _end(child, signal.SIGTERM)
                raise GitFailed(f"git {arguments[0]} took longer than {seconds:g} s") from None
            return _outcome(child, output, said)

    async def _start(
        self,
        folder: str,
        arguments: tuple[str, ...],
        environment: Mapping[str, str],
        output: IO[bytes],
        said: IO[bytes],
    ) -> asyncio.subprocess.Process:
        # Files instead of pipes: a git that outlives the daemon must not die of a broken pipe.
        try:
            return await asyncio.create_subprocess_exec(
                self._program,
                *_SAFE,
                "-C",
                folder,
                *arguments,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=said,
                env=environment,
                start_new_session=True,
            )
        except OSError as error:
            raise GitFailed(f"git could not be started: {error.strerror}") from error


def _environment(inherited: Mapping[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in inherited.items() if not name.startswith("GIT_")}
    kept.pop("LANGUAGE", None)
    return {**kept, "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}


def _outcome(child: asyncio.subprocess.Process, output: IO[bytes], said: IO[bytes]) -> Outcome:
    output.seek(0)
    said.seek(0)
    return Outcome(child.returncode if child.returncode is not None else -1, output.read(), said.read())


async def _end(child: asyncio.subprocess.Process, how: signal.Signals) -> None:
    if child.returncode is not None:
        return
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, how)
    waiting = asyncio.ensure_future(child.wait())
    done, _ = await asyncio.wait((waiting,), timeout=_GRACE_SECONDS)
    if not done:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        await waiting
