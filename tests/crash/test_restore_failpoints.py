"""The daemon is killed at every point of a restore's journal; the repository is never between.

Each kill gets a world of its own. `RESUMED_FAILPOINT=journal:n` kills right before and right after each
write of the journal, so every window between a step and its record is hit.
"""

import contextlib
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple

import pytest

from resumed.daemon.rpc.client import ConnectionLost
from resumed.daemon.runtime import state_folder
from resumed.protocol.restore import Drift, Outcome, RestoreReport
from resumed.restore.events.envelope import Payload
from resumed.restore.events.journal import RestoreAnswered, RestoreClosed, RestorePlanned, RestoreStep
from resumed.restore.events.session import SessionMeta
from tests.support.killed_agent import events, story
from tests.support.recorded_places import recorded_place
from tests.support.repository_facts import Facts, facts
from tests.support.workspace import Decide, Serving, choosing, resume, serving

KEPT = (Outcome.RESTORED, Outcome.PARTIAL)
JOURNALLED = (RestoreAnswered, RestorePlanned, RestoreStep, RestoreClosed)
MOST_POINTS = 60


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
    place = recorded_place(folder / "dev")
    thread = place.install("v171_worktree_workspace_write")
    place.remove_linked()
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


async def resume_and_look(world: World) -> tuple[RestoreReport, Facts]:
    """Resume, answering. Also returns the repository as it was when the first question came, which is
    after what the killed restore left was settled; without a question, as it is in the end."""
    seen: list[Facts] = []

    def decide(drift: Drift) -> str | None:
        if not seen:
            seen.append(world.facts())
        choice = world.decide(drift)
        assert choice is None or isinstance(choice, str)
        return choice

    report, _ = await resume(world.root, world.thread, decide)
    return report, seen[0] if seen else world.facts()


@pytest.fixture
def worlds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], Path]:
    """Gives each number a folder, with a state folder and a Codex home of its own in the environment."""

    def world(number: int) -> Path:
        folder = tmp_path / str(number)
        (folder / "work").mkdir(parents=True)
        monkeypatch.setenv("RESUMED_HOME", str(folder / "state"))
        monkeypatch.setenv("CODEX_HOME", str(folder / "codex"))
        return folder / "work"

    return world


@pytest.mark.timeout(600)
@pytest.mark.parametrize("build", [switched_branch, deleted_worktree])
async def test_killed_at_any_point_the_repository_is_as_before_or_as_after(
    build: Build, worlds: Callable[[int], Path]
) -> None:
    with build(worlds(0), "") as world:
        before = world.facts()
        whole = await try_resume(world)
        after = world.facts()
        (journal,) = journals()
    assert whole is not None
    assert whole.outcome in KEPT
    assert before != after
    assert journal.complete, journal
    assert list(journal.states) == list(range(1, journal.steps + 1))
    assert journal.outcome == whole.outcome.value

    for n in range(1, MOST_POINTS):
        with build(worlds(n), f"journal:{n}") as world:
            assert world.facts() == before
            if await try_resume(world) is not None:
                break
            crashed = world.facts()
            assert crashed in (before, after), n
            (killed,) = journals()
            world.daemon.start_again()
            report, settled = await resume_and_look(world)
            assert settled == (after if killed.complete else before), (n, killed)
            assert world.facts() == after, n
            assert report.outcome in KEPT, (n, report.headline)
            assert report.record.damage == (), n
            assert all(each.outcome is not None for each in journals()), n
    assert n - 1 >= 2 * 2 * journal.steps, "before and after each of the two writes of every step"


@pytest.mark.timeout(600)
async def test_a_recovery_that_is_killed_is_taken_up_again(worlds: Callable[[int], Path]) -> None:
    point = await _point_before_first_done(worlds)
    for m in range(1, MOST_POINTS):
        with switched_branch(worlds(m), f"journal:{point}") as world:
            before = world.facts()
            assert await try_resume(world) is None
            after = world.facts()
            world.daemon.start_again(RESUMED_FAILPOINT=f"journal:{m}")
            if (await try_resume(world)) is not None:
                break
            assert world.facts() in (before, after), m
            world.daemon.start_again()
            report, settled = await resume_and_look(world)
            assert settled in (before, after), m
            assert world.facts() == after, m
            assert report.outcome in KEPT
            assert report.record.damage == ()
    assert m > 2 * 3, "undone, closed and ended are each written by the recovery"


async def _point_before_first_done(worlds: Callable[[int], Path]) -> int:
    """The point at which the first step has had its effect and the journal does not say so yet."""
    with switched_branch(worlds(0), "") as world:
        assert await try_resume(world) is not None
        (path,) = (path for path in session_files() if is_resume(path))
    written = [each.payload for each in events(path) if isinstance(each.payload, JOURNALLED)]
    is_done = [isinstance(each, RestoreStep) and each.state == "done" for each in written]
    return 2 * is_done.index(True) + 1
