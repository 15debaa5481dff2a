"""A person's computer in a test: a home with real repositories and the agents' records, seen whole.

Everything a daemon may touch lies under one folder, so that "nothing changed" can be compared.
"""

import contextlib
import hashlib
import json
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest

from resumed.protocol.sessions import (
    AgentInfo,
    OperationBeginParams,
    OperationCommitParams,
    PermissionsInfo,
    SessionEndParams,
    SessionStartParams,
    SessionStartResult,
    TurnCompleteParams,
    TurnStartParams,
    TurnStartResult,
)
from tests.support.codex import build_scratch_repo, install_recording
from tests.support.repository import Repository, make_repository, run_git
from tests.support.workspace import client, serving

ORIGIN = "https://github.com/acme/payments.git"
BEFORE = {"README.md": "# Payments\n", "rounding.py": "half = 0.5\n", "test_rounding.py": "assert True\n"}
EDITS = {"rounding.py": "half = 0.5\nstep = 0.01\n", "test_rounding.py": "assert half\n"}
_HEADS = "refs/heads/"


@dataclass(frozen=True)
class Entry:
    """One file, link or folder as it lies there. `time` is the modification time in nanoseconds."""

    kind: str
    mode: int
    time: int
    digest: str


@dataclass(frozen=True)
class State:
    """The home at one moment: every path, and where git says that HEADs and branches are.

    `heads` maps a checkout (relative to the home) to its branch (`None`: detached) and commit;
    `branches` maps `<main checkout>:<branch>` to its commit."""

    entries: dict[str, Entry]
    heads: dict[str, tuple[str | None, str]]
    branches: dict[str, str]


@dataclass(frozen=True)
class Work:
    """What a direct agent did before it stopped. `cut_off` is a call (tool, kind, path or command)
    that was announced and never ended; such a run is not ended either. `inside` is the folder in the
    checkout where it ran, `thread` the one that it goes on with, if any."""

    name: str = "Fix payment rounding"
    edits: Mapping[str, str] = field(default_factory=lambda: EDITS)
    commits: bool = True
    approval: str = "on-request"
    sandbox: str = "workspace-write"
    mode: str = "normal"
    cut_off: tuple[str, str, str] | None = None
    inside: str = ""
    thread: str | None = None


class World:
    """One home folder and our state beside it. Paths are relative to the home."""

    def __init__(self, base: Path) -> None:
        self.home = base / "home"
        self.state = base / "state"
        self.home.mkdir(parents=True)
        self._daemons: dict[Path, contextlib.ExitStack] = {}

    def serve(self, folder: str) -> Path:
        """Begin the daemon over a folder if there is none; returns the folder."""
        path = self.home / folder
        if path not in self._daemons:
            stack = self._daemons[path] = contextlib.ExitStack()
            stack.enter_context(serving(path))
        return path

    def let_go(self) -> None:
        """Stop every daemon, as before a folder is moved."""
        while self._daemons:
            self._daemons.popitem()[1].close()

    def payments(self, name: str = "payments") -> Repository:
        """A repository on `fix/payment`, which is at the one commit of `main`."""
        repository = make_repository(self.home / name)
        repository.git("remote", "add", "origin", ORIGIN)
        repository.commit(BEFORE, "first")
        repository.git("switch", "--quiet", "--create", "fix/payment")
        return repository

    def scratch(self) -> tuple[Repository, Repository]:
        """The repository of the recordings and its linked checkout, as the last of them left it."""
        repository, linked = build_scratch_repo(self.home)
        return Repository(repository), Repository(linked)

    def codex(self, name: str, sha: str | None = None) -> str:
        """Put a recording into the Codex home, with its folders here; returns its thread."""
        folders = {
            f"/home/dev/{folder}": str(self.home / folder) for folder in ("repo", "repo-wt", "wt-feature")
        }
        path = install_recording(name, self.home / ".codex", folders, sha)
        return path.stem[-36:]

    def goes_on(self, thread: str) -> None:
        """Let the Codex of a thread go on after what was recorded up to now: one more message of its user."""
        (path,) = (self.home / ".codex").rglob(f"*{thread}.jsonl")
        after = _now()
        while _now() == after:
            pass
        message = {"type": "user_message", "message": "Go on, please.", "kind": "plain"}
        line = json.dumps({"timestamp": _now(), "type": "event_msg", "payload": message})
        with path.open("a", encoding="utf-8") as rollout:
            rollout.write(f"{line}\n")

    def allow(self, **limits: str) -> None:
        """Write our own settings: the widest `approval` and `sandbox`; none of them means no limit."""
        self.state.mkdir(exist_ok=True)
        lines = [f'{name} = "{value}"' for name, value in limits.items()]
        (self.state / "settings.toml").write_text("\n".join(["[permissions]", *lines, ""]))

    async def work(self, folder: str, work: Work | None = None) -> str:
        """Let a direct agent work in a checkout, through the daemon there; returns its thread."""
        work = work or Work()
        self.serve(folder)
        place = Repository(self.home / folder)
        async with client(place.root, name="agent") as agent:
            permissions = PermissionsInfo(approval=work.approval, sandbox=work.sandbox, mode=work.mode)
            run: SessionStartResult = await agent.call(
                "session/start",
                SessionStartParams(
                    agent=AgentInfo(name="acme", version="1.0"),
                    cwd=str(place.root / work.inside),
                    name=work.name,
                    thread_id=work.thread,
                    model="acme-large",
                    permissions=permissions,
                ),
            )
            session = run.session_id
            turn: TurnStartResult = await agent.call(
                "turn/start", TurnStartParams(session_id=session, message="Fix the rounding, please.")
            )
            for path, content in work.edits.items():
                operation = f"edit-{path}"
                await agent.call(
                    "operation/begin",
                    OperationBeginParams(
                        session_id=session, operation_id=operation, tool="edit", kind="write", paths=(path,)
                    ),
                )
                place.write({path: content})
                await agent.call(
                    "operation/commit", OperationCommitParams(session_id=session, operation_id=operation)
                )
            if work.commits and work.edits:
                place.commit({}, "agent's work")
            if work.cut_off is not None:
                await agent.call("operation/begin", _announced(session, *work.cut_off))
                return run.thread_id
            await agent.call(
                "turn/complete",
                TurnCompleteParams(
                    session_id=session, turn_id=turn.turn_id, token=turn.token, message="Rounded."
                ),
            )
            await agent.call("session/end", SessionEndParams(session_id=session))
        return run.thread_id

    def look(self) -> State:
        """Everything as it lies in the home now. Reading changes nothing."""
        marks = sorted((*self.home.glob("*/.git"), *self.home.glob("*/*/.git")))
        branches: dict[str, str] = {}
        for main in (mark.parent for mark in marks if mark.is_dir()):
            name = main.relative_to(self.home).as_posix()
            listed = run_git(main, "for-each-ref", "--format=%(refname) %(objectname)", "refs/heads")
            for branch, _, sha in (line.partition(" ") for line in listed.splitlines()):
                branches[f"{name}:{branch.removeprefix(_HEADS)}"] = sha
        heads: dict[str, tuple[str | None, str]] = {}
        for mark in marks:
            owner, head = self._head(mark)
            on = head.removeprefix(f"ref: {_HEADS}") if head.startswith("ref: ") else None
            at = branches.get(f"{owner}:{on}", "") if on else head
            heads[mark.parent.relative_to(self.home).as_posix()] = on, at
        return State(entries=entries(self.home), heads=heads, branches=branches)

    def _head(self, mark: Path) -> tuple[str, str]:
        git_dir = mark if mark.is_dir() else Path(mark.read_text().removeprefix("gitdir: ").strip())
        main = git_dir.parent if mark.is_dir() else git_dir.parents[2]
        head = git_dir / "HEAD"
        return main.relative_to(self.home).as_posix(), head.read_text().strip() if head.exists() else ""


@contextlib.contextmanager
def inhabited(base: Path) -> Iterator[World]:
    """A world at `base`, in the environment of this process and of all that it starts."""
    world = World(base)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(world.home))
        patch.setenv("RESUMED_HOME", str(world.state))
        patch.setenv("CODEX_HOME", str(world.home / ".codex"))
        try:
            yield world
        finally:
            world.let_go()


def entries(root: Path) -> dict[str, Entry]:
    """Every file, link and folder below `root`, by relative path."""
    found = {}
    for folder, names, files in os.walk(root):
        for name in (*names, *files):
            path = Path(folder, name)
            seen = path.lstat()
            if path.is_symlink():
                kind, content = "link", os.fsencode(os.readlink(path))
            elif stat.S_ISREG(seen.st_mode):
                kind, content = "file", path.read_bytes()
            else:
                kind, content = "folder", b""
            found[path.relative_to(root).as_posix()] = Entry(
                kind, stat.S_IMODE(seen.st_mode), seen.st_mtime_ns, hashlib.sha256(content).hexdigest()
            )
    return found


def changed(before: State, after: State) -> set[str]:
    """The paths that are not the same: made, gone, or with another kind, mode or content."""
    paths = before.entries.keys() | after.entries.keys()
    return {path for path in paths if _content(before, path) != _content(after, path)}


def _content(state: State, path: str) -> tuple[str, int, str] | None:
    entry = state.entries.get(path)
    return None if entry is None else (entry.kind, entry.mode, entry.digest)


def _announced(session: str, tool: str, kind: str, what: str) -> OperationBeginParams:
    paths = (what,) if kind == "write" else ()
    return OperationBeginParams(
        session_id=session,
        operation_id="cut-off",
        tool=tool,
        kind=kind,
        paths=paths,
        args={} if paths else {"command": what},
    )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
