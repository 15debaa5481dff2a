"""Answers the probes about git repositories.

Every answer is what is there now; what cannot be told raises `GitFailed`, and is never "unchanged".
"""

import asyncio
import os

from resumed.daemon.ports.git_changes import in_the_way, uncommitted, written
from resumed.daemon.ports.git_command import GitCommand, GitFailed, printable
from resumed.daemon.ports.git_head_log import head_log
from resumed.daemon.ports.git_objects import GitObjects, Head
from resumed.daemon.ports.git_origin import normalise_origin
from resumed.daemon.ports.git_own import only_there
from resumed.daemon.ports.git_place import Place, locate
from resumed.daemon.ports.git_progress import InProgress, in_progress
from resumed.daemon.ports.git_registration import registration
from resumed.daemon.ports.git_worktrees import registered
from resumed.restore.probes import (
    BranchSeen,
    CommitSeen,
    FileSeen,
    HeadLogSeen,
    HistorySeen,
    LooseSeen,
    NoRepository,
    RegistrationSeen,
    RepositorySeen,
    SwitchSeen,
    WorktreeEntry,
)

CONTENT_LIMIT = 2 * 1024 * 1024


class Git:
    """Reads repositories. `path` is always an absolute path in one; all methods raise `GitFailed`."""

    def __init__(self, command: GitCommand) -> None:
        self._command = command
        self._objects = GitObjects(command, CONTENT_LIMIT)

    async def repository(self, path: str) -> RepositorySeen | NoRepository:
        """The repository around `path`, with HEAD, what is half finished, and all work trees."""
        place = await _located(path)
        if place is None:
            return NoRepository()
        head, worktrees, unfinished = await asyncio.gather(
            self._objects.head(place), registered(self._command, place), self._unfinished(place)
        )
        return _repository_seen(place, head, worktrees, unfinished)

    async def branch(self, path: str, name: str) -> BranchSeen:
        """The local branch's commit, and which work tree has it checked out.

        One whose folder is gone counts, as it does for git, unless another one has it too."""
        place = await self._place(path)
        sha, worktrees = await asyncio.gather(
            self._objects.branch(place, name), registered(self._command, place)
        )
        holders = sorted((entry for entry in worktrees if entry.branch == name), key=lambda entry: entry.gone)
        return BranchSeen(sha=sha, checked_out_at=holders[0].path if holders else None)

    async def commit(self, path: str, sha: str) -> CommitSeen:
        """Is the commit (a full id) in the object store?"""
        tree = await self._objects.commit_tree(await self._place(path), sha)
        return CommitSeen(present=tree is not None, tree=tree)

    async def history(self, path: str, sha: str, branch: str | None = None) -> HistorySeen:
        """How the commit relates to HEAD, or to the branch. A missing commit or a cut history is not
        known."""
        place = await self._place(path)
        if await self._objects.commit_tree(place, sha) is None:
            raise GitFailed(f"commit {sha} is not in this repository")
        if branch is None:
            tip, missing = (await self._objects.head(place)).sha, "there is no commit on this branch yet"
        else:
            tip = await self._objects.branch(place, branch)
            missing = f"there is no branch {printable(branch)}"
        if tip is None:
            raise GitFailed(missing)
        if tip == sha:
            return HistorySeen("same")
        older, newer = await asyncio.gather(
            self._is_ancestor(place, sha, tip), self._is_ancestor(place, tip, sha)
        )
        if older or newer:
            return HistorySeen("ancestor" if older else "descendant")
        if os.path.exists(os.path.join(place.common_dir, "shallow")):
            raise GitFailed("the history is cut off here (a shallow clone)")
        return HistorySeen("diverged")

    async def loose(self, path: str, sha: str) -> LooseSeen:
        """Is the commit on no branch, tag or remote branch?"""
        place = await self._place(path)
        told = await self._command.read(
            place.top_level, "rev-list", "-n", "1", sha, "--not", "--branches", "--tags", "--remotes"
        )
        return LooseSeen(bool(told.expect().text))

    async def registration(self, path: str, worktree: str) -> RegistrationSeen:
        """What git keeps for a registered work tree whose folder is gone."""
        return await registration(self._command, await self._place(path), worktree)

    async def only_there(self, path: str) -> tuple[str, ...]:
        """What only this work tree holds, beside what is uncommitted, each kind in a few words."""
        place = await self._place(path)
        try:
            return await only_there(self._command, place)
        except OSError as error:
            raise GitFailed(f"{printable(path)} could not be looked into: {error.strerror}") from error

    async def head_log(self, path: str) -> HeadLogSeen:
        """Which restore made the work tree, and which moved its HEAD last."""
        place = await self._place(path)
        return await asyncio.to_thread(head_log, place.git_dir)

    async def switch(self, path: str, branch: str) -> SwitchSeen:
        """Which uncommitted files a switch to the branch would overwrite or carry along."""
        place = await self._place(path)
        sha = await self._objects.branch(place, branch)
        if sha is None:
            raise GitFailed(f"there is no branch {printable(branch)}")
        return await self.in_the_way(path, sha)

    async def in_the_way(self, path: str, sha: str) -> SwitchSeen:
        """Which uncommitted files moving HEAD to the commit would overwrite or carry along."""
        return await in_the_way(self._command, await self.agreed_root(path), sha)

    async def written(self, path: str, sha: str) -> tuple[str, ...]:
        """The paths that moving HEAD to the commit would write or remove."""
        return await written(self._command, await self.agreed_root(path), sha)

    async def tree_file(self, path: str, sha: str, relative: str) -> FileSeen:
        """The file in the commit's tree, with the bytes as stored."""
        return await self._objects.tree_file(await self._place(path), sha, relative)

    async def uncommitted(self, path: str) -> tuple[str, ...]:
        """Every changed, staged, untracked and ignored path of the work tree."""
        return await uncommitted(
            self._command, await self.agreed_root(path), "--untracked-files=all", "--ignored=traditional"
        )

    async def agreed_root(self, path: str) -> str:
        """The work tree's top level, if git too would take its files to be there.

        Otherwise a command of git would look at, or write to, another folder's files."""
        place = await self._place(path)
        if place.kind == "bare":
            raise GitFailed("a bare repository has no files")
        shown = (await self._command.read(place.top_level, "rev-parse", "--show-toplevel")).expect()
        if os.path.realpath(shown.text) != place.top_level:
            raise GitFailed(
                f"the repository's configuration (core.worktree) says that the files of"
                f" {printable(place.top_level)} are in {printable(shown.text)}"
            )
        return place.top_level

    async def roots(self, path: str, seconds: float) -> tuple[str, ...]:
        """The commits without parents that HEAD goes back to, sorted; empty when that is not known
        (no commit yet, or a cut history)."""
        place = await self._place(path)
        head = await self._objects.head(place)
        if head.sha is None or os.path.exists(os.path.join(place.common_dir, "shallow")):
            return ()
        found = await self._command.read(
            place.top_level, "rev-list", "--max-parents=0", head.sha, seconds=seconds
        )
        return tuple(sorted(found.expect().text.split()))

    async def remotes(self, path: str) -> tuple[str, ...]:
        """The normalised addresses of the remotes, `origin` first, then by name."""
        place = await self._place(path)
        listed = await self._command.read(
            place.top_level, "config", "-z", "--get-regexp", r"^remote\..*\.url$"
        )
        if listed.code not in (0, 1):
            raise GitFailed(listed.reason)
        pairs = [line.partition("\n") for line in os.fsdecode(listed.output).split("\0") if line]
        pairs.sort(key=lambda pair: (pair[0] != "remote.origin.url", pair[0]))
        addresses = (normalise_origin(address) for _, _, address in pairs)
        return tuple(dict.fromkeys(address for address in addresses if address is not None))

    async def _place(self, path: str) -> Place:
        place = await _located(path)
        if place is None:
            raise GitFailed(f"{printable(path)} is in no repository")
        return place

    async def _unfinished(self, place: Place) -> InProgress | None:
        named: set[str] = set()
        if os.path.isdir(os.path.join(place.common_dir, "reftable")):
            for name in ("CHERRY_PICK_HEAD", "REVERT_HEAD"):
                shown = await self._command.read(place.top_level, "rev-parse", "--verify", "--quiet", name)
                named |= {name} if shown.code == 0 else set()
        return await asyncio.to_thread(in_progress, place.git_dir, frozenset(named))

    async def _is_ancestor(self, place: Place, older: str, newer: str) -> bool:
        told = await self._command.read(place.top_level, "merge-base", "--is-ancestor", older, newer)
        if told.code not in (0, 1):
            raise GitFailed(told.reason)
        return told.code == 0


async def _located(path: str) -> Place | None:
    try:
        return await asyncio.to_thread(locate, path)
    except OSError as error:
        raise GitFailed(f"{printable(path)} could not be looked into: {error.strerror}") from error


def _repository_seen(
    place: Place, head: Head, worktrees: tuple[WorktreeEntry, ...], unfinished: InProgress | None
) -> RepositorySeen:
    branch = head.branch
    if branch is None and unfinished is not None:
        branch = unfinished.branch
    return RepositorySeen(
        top_level=place.top_level,
        git_dir=place.git_dir,
        common_dir=place.common_dir,
        common_id=place.common_id,
        kind=place.kind,
        branch=branch,
        sha=head.sha,
        tree=head.tree,
        detached=head.reference is None and branch is None,
        unborn=head.sha is None,
        in_progress=unfinished.operation if unfinished else None,
        done=unfinished.done if unfinished else None,
        total=unfinished.total if unfinished else None,
        origin=normalise_origin(head.origin) if head.origin else None,
        worktrees=worktrees,
    )
