"""The contract of an agent's adapter: a name, and what it can do as optional objects.

An adapter never writes into an agent's folders and never starts an agent; it reads and plans. What
one agent does oddly stays in its adapter.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Protocol

import msgspec

from resumed.daemon.agents.reading import ForeignCursor, ForeignReading
from resumed.protocol.restore import LaunchPlan
from resumed.restore.effects import LaunchFacts


class ForeignHead(msgspec.Struct, frozen=True, kw_only=True):
    """What a list shows of an agent's own session file, read without reading all of it.

    `thread_id` is our id, `native_id` the agent's. `name` is the first user message on one line of
    at most 80 characters, empty if there was none. `sha`, `branch` and `origin` are as recorded at
    the start. `state`: idle, or interrupted (a turn or an action was open at the end). Times are
    RFC 3339 in UTC. `damaged` is one sentence when part of this could not be read; what is missing
    then comes from the file's name. `unread`: the disk or its compression was in the way, which may
    pass without the file changing.
    """

    path: str
    native_id: str
    thread_id: str
    name: str
    cwd: str
    branch: str | None
    sha: str | None
    origin: str | None
    created_at: str
    last_active_at: str
    agent_version: str | None
    state: str
    forked_from: str | None = None
    archived: bool = False
    damaged: str | None = None
    unread: bool = False


class ForeignStore(Protocol):
    """The agent's own session files, read only."""

    @property
    def translator_version(self) -> int:
        """Goes up when the same bytes give other events; cursors of another version are not used."""
        ...

    def files(self) -> Iterator[Path]:
        """Every session file, newest first. A store that does not exist has none."""
        ...

    def head(self, path: Path) -> ForeignHead | None:
        """What a list shows of the file, damaged or not; `None` if it is not there."""
        ...

    def read(self, path: Path, cursor: ForeignCursor | None = None) -> ForeignReading:
        """The file's events from the beginning, or from where an earlier reading ended.

        The reading raises `OSError` where the file is gone or cannot be read."""
        ...


class Launcher(Protocol):
    """How the agent is started from a restore."""

    @property
    def approvals(self) -> tuple[str, ...]:
        """The approvals, in the words of our scale, that its command can express."""
        ...

    def plan(self, facts: LaunchFacts) -> LaunchPlan | None:
        """The command that continues the session; `None` if there is none. Pure."""
        ...


class Agent(Protocol):
    """One agent. What it cannot do is `None`."""

    @property
    def name(self) -> str:
        """As in events and on the wire, for example `codex`."""
        ...

    @property
    def store(self) -> ForeignStore | None:
        """Its session files, if it keeps any that we can read."""
        ...

    @property
    def launcher(self) -> Launcher | None:
        """How to start it, if it can be started by a command."""
        ...


AgentFactory = Callable[[Mapping[str, str]], Agent]
