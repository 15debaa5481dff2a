"""State folders as those of several machines: each has its own identity, key, paths and contents."""

import contextlib
import hashlib
import os
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from resumed.daemon.runtime import state_folder
from resumed.daemon.storage.layout import Layout
from resumed.daemon.workspace import Workspace
from resumed.protocol.sessions import AgentInfo, SessionStartParams
from resumed.restore.events.session import EntryAdded
from tests.support.blobs import ask
from tests.support.parts import LocalClient, opened
from tests.support.streams import wrapped

CLIENT = LocalClient()
KEPT = (b"a content", b"another content" * 10_000, b"")


class Machine:
    """A machine of that name: where its state is, and where somebody works on it."""

    def __init__(self, folder: Path, name: str, patch: pytest.MonkeyPatch) -> None:
        self.state = folder / name / "state"
        self.work = folder / name / "work"
        self.work.mkdir(parents=True)
        self._patch = patch

    @contextlib.asynccontextmanager
    async def opened(self) -> AsyncIterator[Workspace]:
        """A workspace on this machine."""
        self._patch.setenv("RESUMED_HOME", str(self.state))
        async with opened(self.work) as workspace:
            yield workspace


async def ended_run(workspace: Workspace, *contents: bytes, thread_id: str | None = None) -> str:
    """A run that has ended, whose events name these contents, and its thread's id."""
    start = SessionStartParams(
        agent=AgentInfo(name="mender"), cwd=workspace.threads.root, thread_id=thread_id, name="Round"
    )
    live = await workspace.sessions.start(CLIENT, start)
    for content in contents:
        kept = await workspace.blobs.put(content)
        assert isinstance(kept, str)
        entry = wrapped(EntryAdded(kind="message", role="user", text="see"), str(uuid.uuid4()))
        await live.append_events(msgspec.structs.replace(entry, blobs=(kept,)))
    await workspace.sessions.end(live, "exit")
    return live.thread_id


def stream_files() -> dict[str, bytes]:
    """The files of all threads and runs of the state folder in force, by name, wherever they lie."""
    home = state_folder()
    return {
        path.name: path.read_bytes()
        for folder in ("sessions", "archived_sessions", "threads", "quarantine")
        for path in (home / folder).rglob("*")
        if path.is_file()
    }


def everything() -> dict[str, bytes]:
    """Every file of the state folder in force but locks, logs and indexes, and what is kept by name."""
    home = state_folder()
    found = {
        str(path.relative_to(home)): path.read_bytes()
        for path in home.rglob("*")
        if path.is_file()
        and path.suffix != ".lock"
        and path.relative_to(home).parts[0] not in ("workspaces", "logs", "worktrees")
        and not path.name.startswith("blobs.db")
    }
    return found | dict.fromkeys(contents(), b"")


def contents() -> set[str]:
    """The names of the contents that are kept in the state folder in force."""
    layout = Layout.open(state_folder())
    if not layout.blobs_path.exists():
        return set()
    return {str(name) for (name,) in ask(layout, "SELECT lower(hex(sha256)) FROM blobs")}


def sha256(data: bytes) -> str:
    """The name of a content."""
    return hashlib.sha256(data).hexdigest()


def leftovers() -> list[str]:
    """What is only there while something is under way."""
    home = state_folder()
    staged = [path for path in home.rglob("*staged*") if path.is_file()]
    return [os.path.relpath(path, home) for path in (*staged, *(home / "importing").glob("*"))]
