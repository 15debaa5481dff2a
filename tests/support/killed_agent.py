"""The story of two projects, played: the agent is dead, the daemon runs, and where everything lies."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from resumed.daemon.runtime import state_folder
from resumed.daemon.storage.reader import Reading
from resumed.protocol.restore import RestoreReport, SubsystemReport
from resumed.protocol.threads import ThreadListParams, ThreadListResult, ThreadReadParams, ThreadReadResult
from resumed.restore.events.envelope import Event
from tests.support import payments
from tests.support.payments import Killed, Projects
from tests.support.wire import Wire
from tests.support.workspace import Serving, client, serving


class Story:
    """`daemon` serves `root`, where the agent `killed` had worked."""

    def __init__(self, projects: Projects, daemon: Serving, killed: Killed) -> None:
        self.projects = projects
        self.daemon = daemon
        self.killed = killed
        self.root: Path = projects.payments.root
        self.thread = killed.thread_id

    def stream(self) -> Path:
        """The file of the run that died."""
        return session_file(self.killed.session_id)


@contextlib.contextmanager
def story(folder: Path, **more: str) -> Iterator[Story]:
    """Build the projects, run a daemon (with these variables), and let the agent die."""
    projects = payments.build_projects(folder / "dev")
    root = projects.payments.root
    with serving(root, **more) as daemon:
        with Wire(daemon.place.socket) as watching:
            watching.initialize()
            killed = payments.play_until_killed(folder, daemon.place.socket, payments.story(root))
            wait_until_noticed(watching, killed.thread_id)
        yield Story(projects, daemon, killed)


def wait_until_noticed(watching: Wire, thread_id: str) -> None:
    """Read what the daemon tells until it says that the thread was interrupted."""
    state = ""
    while state != "interrupted":
        told = watching.read()
        summary = told["params"].get("summary", {})
        state = summary.get("state", "") if summary.get("threadId") == thread_id else ""


def session_file(session_id: str) -> Path:
    """The first file of a run's stream."""
    (path,) = state_folder().glob(f"sessions/*/*/*/rollout-*-{session_id}.jsonl")
    return path


def events(path: Path) -> list[Event]:
    """Every good event of a stream, given its first file."""
    return list(Reading(path))


def stream_bytes() -> dict[str, bytes]:
    """Every stream of the state folder, by its path there."""
    home = state_folder()
    return {
        str(path.relative_to(home)): path.read_bytes()
        for kind in ("sessions", "threads", "worktrees")
        for path in home.glob(f"{kind}/**/*.jsonl")
    }


async def read(folder: Path, thread: str) -> ThreadReadResult:
    """All of one thread, as the daemon of `folder` tells it."""
    async with client(folder) as connection:
        result: ThreadReadResult = await connection.call("thread/read", ThreadReadParams(thread=thread))
    return result


async def listed(folder: Path) -> ThreadListResult:
    """Every thread that the daemon of `folder` lists."""
    async with client(folder) as connection:
        result: ThreadListResult = await connection.call("thread/list", ThreadListParams(scope="all"))
    return result


def part(report: RestoreReport, name: str) -> SubsystemReport:
    """One subsystem's part of a report."""
    return next(subsystem for subsystem in report.subsystems if subsystem.name == name)
