"""Which threads belong to this workspace: by folder, by registered work tree, by repository.

A thread whose folder is gone belongs here when its origin is ours and its commit is in our objects.
"""

import asyncio
import os
from collections.abc import Iterable

import msgspec

from resumed.daemon.ports.git import Git
from resumed.daemon.ports.git_command import GitFailed
from resumed.daemon.ports.git_origin import normalise_origin
from resumed.daemon.storage.rows import RecordedPlace
from resumed.restore.probes import RepositorySeen

PROJECT, WORKTREE, ELSEWHERE = "project", "worktree", "elsewhere"


class Folders(msgspec.Struct, frozen=True, kw_only=True):
    """Folders whose threads are listed here, by group; a folder includes all below it."""

    project: tuple[str, ...]
    worktrees: tuple[str, ...]

    def group(self, root: str) -> str:
        """The group of a thread by its recorded folder; the longest folder that holds it decides."""
        best, longest = ELSEWHERE, -1
        for group, folders in ((PROJECT, self.project), (WORKTREE, self.worktrees)):
            for folder in folders:
                inside = root == folder or root.startswith(folder.rstrip("/") + "/")
                if inside and len(folder) > longest:
                    best, longest = group, len(folder)
        return best


class Surroundings:
    """Answers for one workspace root; what a commit look-up said is remembered. `registry` is the folder
    where git registers the linked work trees here, once it was looked for and is known."""

    def __init__(self, root: str, git: Git) -> None:
        self.registry: str | None = None
        self._root = root
        self._git = git
        self._ours: dict[tuple[str, str], bool] = {}

    async def folders(self, places: Iterable[RecordedPlace]) -> Folders:
        """This root and the gone folders of threads that belong to it, and the other work trees; each
        also by the names that records have for it."""
        places = list(places)
        try:
            repository = await self._git.repository(self._root)
        except GitFailed:
            repository = None
        if not isinstance(repository, RepositorySeen):
            alone = Folders(project=(self._root,), worktrees=())
            return await asyncio.to_thread(_with_other_names, alone, {place.root for place in places})
        self.registry = os.path.join(repository.common_dir, "worktrees")
        others = tuple(entry.path for entry in repository.worktrees if entry.path != self._root)
        here = Folders(project=(self._root,), worktrees=others)
        known = await asyncio.to_thread(_with_other_names, here, {place.root for place in places})
        recorded = [place for place in places if known.group(place.root) == ELSEWHERE]
        gone = await asyncio.to_thread(_gone, {place.root for place in recorded})
        ours = [
            place.root
            for place in recorded
            if place.root in gone and await self._is_ours(place.origin, place.sha, repository)
        ]
        return Folders(project=(*known.project, *dict.fromkeys(ours)), worktrees=known.worktrees)

    async def _is_ours(self, origin: str | None, sha: str | None, repository: RepositorySeen) -> bool:
        if not origin or not sha or repository.origin is None:
            return False
        # Our own records hold it normalised already.
        if repository.origin not in (origin, normalise_origin(origin)):
            return False
        key = (origin, sha)
        if key not in self._ours:
            try:
                self._ours[key] = (await self._git.commit(self._root, sha)).present
            except GitFailed:
                return False
        return self._ours[key]


def _with_other_names(folders: Folders, recorded: set[str]) -> Folders:
    """With the recorded paths that lead into these folders through symbolic links."""
    names: dict[str, list[str]] = {PROJECT: [], WORKTREE: [], ELSEWHERE: []}
    for root in sorted(recorded):
        if root and folders.group(root) == ELSEWHERE:
            names[folders.group(os.path.realpath(root))].append(root)
    return Folders(
        project=(*folders.project, *names[PROJECT]), worktrees=(*folders.worktrees, *names[WORKTREE])
    )


def _gone(folders: set[str]) -> set[str]:
    return {folder for folder in folders if folder and not os.path.isdir(folder)}
