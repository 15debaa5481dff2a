"""Constant-time look-ups in a repository: HEAD, a branch, a commit, a file of a tree.

They go through pygit2 in a thread. What pygit2 cannot open (SHA-256, reftable, partial clones, …)
or takes long with (large files) is asked of git itself, with the same answer.
"""

import asyncio
import hashlib
import os
import re
import stat
from dataclasses import dataclass

import pygit2

from resumed.daemon.ports.git_command import GitCommand, GitFailed, printable
from resumed.daemon.ports.git_place import Place
from resumed.restore.probes import FileSeen

_OBJECT_ID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_KINDS = {stat.S_IFREG: "regular", stat.S_IFLNK: "link", stat.S_IFDIR: "folder"}


class _NotForPygit2(Exception):
    """This look-up is better asked of git itself."""


@dataclass(frozen=True)
class Head:
    """Where HEAD is. `reference` is the full name of what it names, `None` when it is detached;
    `sha` and `tree` are `None` on an unborn branch. `origin` is the address as configured."""

    reference: str | None
    sha: str | None
    tree: str | None
    origin: str | None

    @property
    def branch(self) -> str | None:
        """The branch's short name."""
        if self.reference is None or not self.reference.startswith("refs/heads/"):
            return None
        return self.reference.removeprefix("refs/heads/")


class GitObjects:
    """Look-ups; each raises `GitFailed` when neither pygit2 nor git can answer.

    Contents larger than `limit` bytes are hashed and not returned."""

    def __init__(self, command: GitCommand, limit: int) -> None:
        self._command = command
        self._limit = limit

    async def head(self, place: Place) -> Head:
        """Where the work tree's HEAD is."""
        try:
            return await asyncio.to_thread(_head, place)
        except pygit2.GitError:
            return await self._ask_head(place)

    async def branch(self, place: Place, name: str) -> str | None:
        """The commit of a local branch; `None` when there is no such branch."""
        try:
            return await asyncio.to_thread(_branch, place, name)
        except pygit2.GitError:
            return await self._ask_branch(place, f"refs/heads/{name}")

    async def commit_tree(self, place: Place, sha: str) -> str | None:
        """The id of the commit's tree; `None` when the repository does not hold the commit."""
        if not _OBJECT_ID.fullmatch(sha):
            raise GitFailed(f"{printable(sha)!r} is not a commit's full id")
        try:
            return await asyncio.to_thread(_commit_tree, place, sha)
        except pygit2.GitError:
            return await self._ask_commit_tree(place, sha)

    async def tree_file(self, place: Place, sha: str, relative: str) -> FileSeen:
        """The file in the commit's tree, with the bytes as stored (no filter or line end is applied).

        A submodule has the kind `other`."""
        path = _inner_path(relative)
        tree = await self.commit_tree(place, sha)
        if tree is None:
            raise GitFailed(f"commit {sha} is not in this repository")
        try:
            return await asyncio.to_thread(_tree_file, place, tree, path, self._limit)
        except (pygit2.GitError, _NotForPygit2):
            return await self._ask_tree_file(place, tree, path)

    async def _ask_head(self, place: Place) -> Head:
        named = await self._command.read(place.top_level, "symbolic-ref", "--quiet", "HEAD")
        reference = named.text if named.code == 0 else None
        config = await self._command.read(place.top_level, "config", "-z", "--get", "remote.origin.url")
        origin = config.text.rstrip("\0") if config.code == 0 else None
        if reference is not None and await self._ask_branch(place, reference) is None:
            return Head(reference, None, None, origin)
        sha = (await self._command.read(place.top_level, "rev-parse", "--verify", "HEAD^{commit}")).expect()
        tree = (await self._command.read(place.top_level, "rev-parse", "--verify", "HEAD^{tree}")).expect()
        return Head(reference, sha.text, tree.text, origin)

    async def _ask_branch(self, place: Place, reference: str) -> str | None:
        shown = await self._command.read(
            place.top_level, "show-ref", "--verify", "--quiet", "--hash", "--", reference
        )
        if shown.code != 0:
            (await self._command.read(place.top_level, "rev-parse", "--git-dir")).expect()
            return None
        found = await self._command.read(place.top_level, "rev-parse", "--verify", f"{reference}^{{commit}}")
        return found.expect().text

    async def _ask_commit_tree(self, place: Place, sha: str) -> str | None:
        there = await self._command.read(place.top_level, "cat-file", "-e", sha)
        if there.code != 0:
            (await self._command.read(place.top_level, "rev-parse", "--git-dir")).expect()
            return None
        tree = await self._command.read(
            place.top_level, "rev-parse", "--verify", "--quiet", f"{sha}^{{commit}}^{{tree}}"
        )
        return tree.text if tree.code == 0 else None

    async def _ask_tree_file(self, place: Place, tree: str, path: str) -> FileSeen:
        listed = await self._command.read(place.top_level, "ls-tree", "-z", "--full-tree", tree, "--", path)
        line = listed.expect().output
        if not line:
            return FileSeen(kind="absent")
        mode, _, identifier = os.fsdecode(line.partition(b"\t")[0]).split(" ")
        kind = _kind(int(mode, 8))
        if kind not in ("regular", "link"):
            return FileSeen(kind=kind)
        content = await self._command.read(place.top_level, "cat-file", "blob", identifier)
        return await asyncio.to_thread(_seen, kind, content.expect().output, self._limit)


def _open(place: Place) -> pygit2.Repository:
    # A fresh one for each look-up (about 0.3 ms): libgit2's objects do not belong to two threads.
    return pygit2.Repository(place.git_dir, pygit2.enums.RepositoryOpenFlag.NO_SEARCH)


def _head(place: Place) -> Head:
    repository = _open(place)
    try:
        origin: str | None = repository.config["remote.origin.url"]
    except KeyError:
        origin = None
    target = repository.lookup_reference("HEAD").target
    reference = target if isinstance(target, str) else None
    if repository.head_is_unborn:
        return Head(reference, None, None, origin)
    commit = repository.head.peel(pygit2.Commit)
    return Head(reference, str(commit.id), str(commit.tree_id), origin)


def _branch(place: Place, name: str) -> str | None:
    repository = _open(place)
    try:
        return str(repository.lookup_reference(f"refs/heads/{name}").peel(pygit2.Commit).id)
    except (KeyError, ValueError):
        return None


def _commit_tree(place: Place, sha: str) -> str | None:
    repository = _open(place)
    try:
        found = repository.get(sha)
    except ValueError:
        return None
    return str(found.tree_id) if isinstance(found, pygit2.Commit) else None


def _tree_file(place: Place, tree: str, path: str, limit: int) -> FileSeen:
    repository = _open(place)
    try:
        entry = repository[tree].peel(pygit2.Tree)[path]
    except KeyError:
        return FileSeen(kind="absent")
    kind = _kind(int(entry.filemode))
    if kind not in ("regular", "link"):
        return FileSeen(kind=kind)
    if repository.odb.read_header(entry.id)[1] > limit:
        raise _NotForPygit2
    return _seen(kind, repository[entry.id].peel(pygit2.Blob).data, limit)


def _kind(mode: int) -> str:
    return _KINDS.get(stat.S_IFMT(mode), "other")


def _seen(kind: str, content: bytes, limit: int) -> FileSeen:
    return FileSeen(
        kind=kind,
        sha256=hashlib.sha256(content).hexdigest(),
        size=len(content),
        content=content if len(content) <= limit else None,
    )


def _inner_path(relative: str) -> str:
    parts = [part for part in relative.split("/") if part not in ("", ".")]
    if relative.startswith("/") or ".." in parts or not parts or "\0" in relative:
        raise GitFailed(f"{printable(relative)!r} is not a path inside a repository")
    return "/".join(parts)
