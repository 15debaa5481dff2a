"""The real daemon over a real folder, and a client of it, for tests that use the whole product.

Start with `serving(folder)`; the daemon and everything it started is gone when the block ends.
"""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from pathlib import Path

from resumed.daemon.rpc.client import Callbacks, Client
from resumed.daemon.runtime import Place, place_of
from resumed.protocol.daemon import ClientCapabilities
from resumed.protocol.restore import Answer, Answers, Drift, Question, RestoreReport, Wire
from resumed.protocol.resume import ThreadResumeParams
from tests.support.wire import connects, environment, wait_for

Decide = Callable[[Drift], Answer | str | None]


class Serving:
    """A daemon process over `folder`. It may be killed and started again."""

    def __init__(self, folder: Path, more: Mapping[str, str]) -> None:
        self.folder = folder
        self.place: Place = place_of(folder)
        self._more = dict(more)
        self.process = self._spawn()

    def _spawn(self) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            [sys.executable, "-m", "resumed.daemon", "serve", "--workspace", str(self.folder)],
            env=environment(**self._more),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def wait_listening(self) -> None:
        """Return once the socket takes connections; fails if the process ends before."""
        wait_for(lambda: self.process.poll() is not None or connects(self.place.socket))
        assert self.process.poll() is None, (self.process.returncode, self.log())

    def kill(self) -> None:
        """SIGKILL the daemon alone, as a crash would; what it started goes on."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(30)

    def wait_ended(self) -> int:
        """Wait until the daemon has ended by itself; returns its status."""
        return self.process.wait(60)

    def start_again(self, **more: str) -> None:
        """Start another daemon over the same folder, with these variables instead of the first ones."""
        self._more = more
        self.process = self._spawn()
        self.wait_listening()

    def stop(self) -> None:
        """Stop it as a system would, and wait."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)

    def log(self) -> str:
        """What the daemon has logged."""
        return self.place.log.read_text() if self.place.log.exists() else ""


@contextlib.contextmanager
def serving(folder: Path, **more: str) -> Iterator[Serving]:
    """Run the daemon over a folder; `more` are environment variables for it."""
    daemon = Serving(folder, more)
    try:
        daemon.wait_listening()
        yield daemon
    finally:
        daemon.stop()


class Person:
    """A client that answers questions. `decide` gives the choice for a drift: an id, an `Answer`, or
    `None` to leave. What was asked and told is kept."""

    def __init__(self, decide: Decide) -> None:
        self.decide = decide
        self.asked: list[Question] = []
        self.told: list[tuple[str, Wire]] = []

    async def answer(self, question: Question) -> Answers:
        """Answer one round."""
        self.asked.append(question)
        answers: dict[str, Answer] = {}
        for drift in question.drifts:
            decided = self.decide(drift)
            if decided is None:
                return Answers(cancelled=True)
            answers[drift.id] = Answer(choice=decided) if isinstance(decided, str) else decided
        return Answers(answers=answers)

    def tell(self, method: str, params: Wire) -> None:
        """Keep a notification."""
        self.told.append((method, params))

    @property
    def kinds(self) -> list[list[str]]:
        """The kinds asked, by round."""
        return [[drift.kind.value for drift in question.drifts] for question in self.asked]


def suggested(drift: Drift) -> str | None:
    """Take what is suggested."""
    return drift.suggested


def choosing(**choices: str) -> Decide:
    """Take the named choice for a kind (`branchDiffers="stay"`), else what is suggested."""
    return lambda drift: choices.get(drift.kind.value, drift.suggested)


@contextlib.asynccontextmanager
async def client(folder: Path, person: Person | None = None, name: str = "test") -> AsyncIterator[Client]:
    """A connected, initialized client; with a person it declares that it can be asked."""
    callbacks = Callbacks(question=person.answer, notification=person.tell) if person else Callbacks()
    connection = await Client.connect(place_of(folder).socket, callbacks)
    try:
        asks = person is not None
        await connection.initialize(name, "1", ClientCapabilities(restore_ask=asks, progress=asks))
        yield connection
    finally:
        await connection.close()


async def resume(folder: Path, thread: str, decide: Decide = suggested) -> tuple[RestoreReport, Person]:
    """Resume a thread, answering as decided. Returns the report and the person who was asked."""
    person = Person(decide)
    async with client(folder, person) as connection:
        report: RestoreReport = await connection.call("thread/resume", ThreadResumeParams(thread=thread))
    return report, person


async def resume_unattended(folder: Path, thread: str) -> RestoreReport:
    """Resume a thread with nobody to ask."""
    async with client(folder) as connection:
        report: RestoreReport = await connection.call(
            "thread/resume", ThreadResumeParams(thread=thread, unattended=True)
        )
    return report


def process_alive(pid: int) -> bool:
    """Whether a process of this id exists."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
