"""Worlds with one restore in them that changes a repository: to be resumed, killed, and looked at."""

import contextlib
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple

from resumed.daemon.rpc.client import ConnectionLost
from resumed.daemon.runtime import state_folder
from resumed.protocol.restore import Drift, Outcome, RestoreReport
from resumed.restore.events.envelope import Payload
from resumed.restore.events.journal import RestoreAnswered, RestoreClosed, RestorePlanned, RestoreStep
from resumed.restore.events.session import SessionMeta
from tests.support.killed_agent import events, story
from tests.support.recorded_places import RecordedPlace
from tests.support.repository import every_byte, run_git
from tests.support.repository_facts import Facts, facts
from tests.support.workspace import Decide, Serving, choosing, resume, serving

KEPT = (Outcome.RESTORED, Outcome.PARTIAL)
JOURNALLED = (RestoreAnswered, RestorePlanned, RestoreStep, RestoreClosed)


class World(NamedTuple):
    """One thread to resume. `base` is the folder that holds the repository and its work trees."""

    daemon: Serving
    root: Path
    base: Path
    thread: str
    decide: Decide

    def facts(self) -> Facts:
        """The repository now."""
        return facts(self.root, self.base)

    def kept(self) -> dict[str, bytes]:
        """Every byte that git keeps for the linked work trees, and the names beside that."""
        kept = every_byte(self.root / ".git" / "worktrees")
        return kept | {f"../{path.name}": b"" for path in (self.root / ".git").iterdir()}


class Looked(NamedTuple):
    """A report, and what there was when the killed restore before it had been settled."""

    report: RestoreReport
    settled: Facts
    kept: dict[str, bytes]


class Journal(NamedTuple):
    """A restore's journal: how many steps were planned, the states of each, and how it ended."""

    steps: int
    states: dict[int, list[str]]
    outcome: str | None

    @property
    def complete(self) -> bool:
        """Whether every planned step was done."""
        return bool(self.steps) and all(
            self.states.get(n) == ["begun", "done"] for n in range(1, self.steps + 1)
        )


Build = Callable[[Path, str], AbstractContextManager[World]]


@contextlib.contextmanager
def switched_branch(folder: Path, failpoint: str) -> Iterator[World]:
    """The agent died on `fix/payment` with uncommitted edits; the person went to `main` with them."""
    with story(folder, RESUMED_FAILPOINT=failpoint) as told:
        told.projects.payments.git("switch", "--quiet", "main")
        yield World(told.daemon, told.root, told.root.parent, told.thread, choosing(branchDiffers="switch"))


@contextlib.contextmanager
def deleted_worktree(folder: Path, failpoint: str) -> Iterator[World]:
    """A Codex session whose linked work tree was deleted; its branch is there."""
    place = RecordedPlace(folder / "dev")
    thread = place.install("v171_worktree_workspace_write")
    place.remove_linked()
    with serving(place.repo, RESUMED_FAILPOINT=failpoint) as daemon:
        yield World(daemon, place.repo, place.folder, thread, choosing(worktreeRemoved="recreate"))


@contextlib.contextmanager
def replaced_worktree(folder: Path, failpoint: str) -> Iterator[World]:
    """The same, but its folder was deleted by hand when it was on another branch, so that git still has it
    registered; and the recorded branch is gone."""
    place = RecordedPlace(folder / "dev")
    thread = place.install("v171_worktree_workspace_write")
    branch = run_git(place.linked, "branch", "--show-current").strip()
    run_git(place.linked, "switch", "--quiet", "--create", "another")
    run_git(place.repo, "branch", "--quiet", "-D", branch)
    shutil.rmtree(place.linked)
    with serving(place.repo, RESUMED_FAILPOINT=failpoint) as daemon:
        yield World(daemon, place.repo, place.folder, thread, choosing(worktreeRemoved="recreate"))


def journals() -> list[Journal]:
    """The journal of every restore."""
    return [
        journal_of([event.payload for event in events(path)]) for path in session_files() if is_resume(path)
    ]


def journal_of(payloads: list[Payload]) -> Journal:
    """What the events of one run say of its restore."""
    planned = [payload for payload in payloads if isinstance(payload, RestorePlanned)]
    closed = [payload.outcome for payload in payloads if isinstance(payload, RestoreClosed)]
    states: dict[int, list[str]] = {}
    for payload in payloads:
        if isinstance(payload, RestoreStep):
            states.setdefault(payload.n, []).append(payload.state)
    return Journal(len(planned[-1].steps) if planned else 0, states, closed[0] if closed else None)


def session_files() -> list[Path]:
    """The files of all runs."""
    return list(state_folder().glob("sessions/*/*/*/*.jsonl"))


def is_resume(path: Path) -> bool:
    """Whether a restore began this run."""
    meta = events(path)[0].payload
    return isinstance(meta, SessionMeta) and meta.reason == "resume"


async def try_resume(world: World) -> RestoreReport | None:
    """Resume, answering; `None` when the daemon was killed meanwhile."""
    try:
        report, _ = await resume(world.root, world.thread, world.decide)
    except ConnectionLost:
        assert world.daemon.wait_ended() == -signal.SIGKILL
        return None
    return report


async def resume_and_look(world: World) -> Looked:
    """Resume, answering. What is looked at is as it was when the first question came, which is after
    what the killed restore left was settled; without a question, as it is in the end."""
    seen: list[tuple[Facts, dict[str, bytes]]] = []

    def decide(drift: Drift) -> str | None:
        if not seen:
            seen.append((world.facts(), world.kept()))
        choice = world.decide(drift)
        assert choice is None or isinstance(choice, str)
        return choice

    report, _ = await resume(world.root, world.thread, decide)
    settled, kept = seen[0] if seen else (world.facts(), world.kept())
    return Looked(report, settled, kept)


async def point_before_first_done(build: Build, folder: Path) -> int:
    """The point at which the first step has had its effect and the journal does not say so yet."""
    with build(folder, "") as world:
        assert await try_resume(world) is not None
        (path,) = (path for path in session_files() if is_resume(path))
    written = [each.payload for each in events(path) if isinstance(each.payload, JOURNALLED)]
    is_done = [isinstance(each, RestoreStep) and each.state == "done" for each in written]
    return 2 * is_done.index(True) + 1
