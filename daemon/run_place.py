"""Where a run of a direct agent is, as it is put on record."""

import asyncio
import os

import msgspec

from resumed.daemon.identity import Identities
from resumed.daemon.ports.git import Git
from resumed.daemon.ports.git_command import GitFailed
from resumed.daemon.ports.policy import Policy
from resumed.daemon.start_facts import bound
from resumed.protocol.errors import ErrorCode, ResumedError
from resumed.restore.events.session import WorktreeBound
from resumed.restore.probes import CeilingSeen, RepositorySeen


class Where(msgspec.Struct, frozen=True):
    """A run's canonical folder, and the repository around it (`None`: there is none, or git does not
    answer)."""

    cwd: str
    repository: RepositorySeen | None


class World:
    """What a run records of its surroundings."""

    def __init__(
        self, root: str, workspace_id: str, git: Git, identities: Identities, policy: Policy
    ) -> None:
        self.root = root
        self.workspace_id = workspace_id
        self.git = git
        self.identities = identities
        self.policy = policy

    async def repository(self, folder: str) -> RepositorySeen | None:
        """The repository around a folder; `None` without one or when git does not answer."""
        try:
            seen = await self.git.repository(folder)
        except GitFailed:
            return None
        return seen if isinstance(seen, RepositorySeen) else None

    async def where(self, cwd: str) -> Where:
        """Where a run in this folder is. Raises `ResumedError` when that is not in this workspace."""
        real = await asyncio.to_thread(self._folder, cwd)
        seen = await self.repository(real)
        if seen is not None and seen.kind != "bare" and seen.top_level != self.root:
            raise ResumedError(
                ErrorCode.WORKSPACE_REFUSED,
                f"{cwd} belongs to another worktree ({seen.top_level}) than this workspace ({self.root}).",
                f"Connect to the daemon of {seen.top_level}.",
            )
        return Where(real, seen)

    def bound(self, where: Where) -> WorktreeBound:
        """The start of a run there, for the record."""
        if where.repository is not None:
            return bound(where.repository, where.cwd, "start")
        return WorktreeBound(cwd=where.cwd, cause="start", root=self.root)

    async def ceiling(self, agent: str) -> CeilingSeen:
        """What policy allows the agent at most; nothing is said when that can't be told."""
        seen = await self.policy.ceiling(agent)
        return seen if isinstance(seen, CeilingSeen) else CeilingSeen()

    def _folder(self, cwd: str) -> str:
        if "\0" in cwd:
            raise ResumedError(ErrorCode.INVALID_PARAMS, "cwd holds a NUL.", "Name an existing folder.")
        real = os.path.realpath(os.path.join(self.root, cwd))
        if real != self.root and not real.startswith(self.root.rstrip("/") + "/"):
            raise ResumedError(
                ErrorCode.WORKSPACE_REFUSED,
                f"{cwd} is not inside this workspace ({self.root}).",
                "Connect to the daemon of that folder.",
            )
        if not os.path.isdir(real):
            raise ResumedError(
                ErrorCode.WORKSPACE_REFUSED, f"{cwd} is not a folder.", "Name an existing folder."
            )
        return real
