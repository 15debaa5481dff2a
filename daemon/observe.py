"""Answers probes by looking at the world, all at once.

Whatever goes wrong with one probe is that probe's answer: `Unseen`, with the reason.
"""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, assert_never

import msgspec

from resumed.daemon.identity import Identity, IdentityFailed
from resumed.daemon.ports import files
from resumed.daemon.ports.git import Git
from resumed.daemon.ports.git_command import GitFailed
from resumed.daemon.ports.policy import Policy
from resumed.daemon.storage.errors import StorageError
from resumed.restore.probes import (
    SLOW_PROBES,
    AnyObservation,
    AnyProbe,
    BranchProbe,
    CeilingProbe,
    CommitProbe,
    FileProbe,
    FolderProbe,
    HeadLogProbe,
    HistoryProbe,
    LooseProbe,
    NoRepository,
    RegistrationProbe,
    RepositoryProbe,
    RepositorySeen,
    Seen,
    SwitchProbe,
    TreeFileProbe,
    TreeFolderProbe,
    Unseen,
)

_LOG = logging.getLogger(__name__)


class KnownPlaces(Protocol):
    """Tells the ids of places that are known."""

    async def known(self, path: str) -> Identity | None:
        """The ids of the work tree around `path`; `worktree_id` is empty for a new one."""
        ...


@dataclass(frozen=True)
class Patience:
    """Seconds that one probe may take."""

    fast: float = 5.0
    slow: float = 1.5


@dataclass(frozen=True)
class Observer:
    """Looks at the world through its ports."""

    git: Git
    policy: Policy
    places: KnownPlaces
    patience: Patience = Patience()

    async def observe(self, probes: Sequence[AnyProbe]) -> Seen:
        """Answer every probe once; each is a key of the result."""
        distinct = tuple(dict.fromkeys(probes))
        answers = await asyncio.gather(*(self._answer(probe) for probe in distinct))
        return dict(zip(distinct, answers, strict=True))

    async def _answer(self, probe: AnyProbe) -> AnyObservation:
        limit = self.patience.slow if isinstance(probe, SLOW_PROBES) else self.patience.fast
        try:
            async with asyncio.timeout(limit):
                return await self._look(probe)
        except TimeoutError:
            return Unseen("timeout")
        except (GitFailed, IdentityFailed, StorageError) as failure:
            return Unseen(f"failed: {failure}")
        except OSError as error:
            return Unseen(f"failed: {error.strerror or type(error).__name__}")
        except Exception as error:
            _LOG.exception("a probe could not be answered: %s", type(probe).__name__)
            return Unseen(f"failed: {type(error).__name__}")

    async def _look(self, probe: AnyProbe) -> AnyObservation:
        match probe:
            case FolderProbe(path):
                return await files.folder(path)
            case RepositoryProbe(path):
                return await self._repository(path)
            case BranchProbe(path, branch):
                return await self.git.branch(path, branch)
            case CommitProbe(path, sha):
                return await self.git.commit(path, sha)
            case HistoryProbe(path, sha, branch):
                return await self.git.history(path, sha, branch)
            case LooseProbe(path, sha):
                return await self.git.loose(path, sha)
            case RegistrationProbe(path, worktree):
                return await self.git.registration(path, worktree)
            case HeadLogProbe(path):
                return await self.git.head_log(path)
            case SwitchProbe(path, branch):
                return await self.git.switch(path, branch)
            case FileProbe(path):
                return await files.file(path)
            case TreeFileProbe(path, sha, relative) | TreeFolderProbe(path, sha, relative):
                return await self.git.tree_file(path, sha, relative)
            case CeilingProbe(agent):
                return await self.policy.ceiling(agent)
            case _:
                assert_never(probe)

    async def _repository(self, path: str) -> RepositorySeen | NoRepository:
        seen = await self.git.repository(path)
        if isinstance(seen, NoRepository):
            return seen
        try:
            identity = await self.places.known(seen.top_level)
        except (GitFailed, StorageError, OSError) as failure:
            # Without ids the place is compared by its remotes and commits; that is not a failed look.
            _LOG.warning("the ids of a work tree could not be told: %s", failure)
            return seen
        if identity is None:
            return seen
        return msgspec.structs.replace(
            seen, repo_id=identity.repo_id, worktree_id=identity.worktree_id or None
        )
