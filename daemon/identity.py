"""Keeps the ids of repositories and work trees: random, remembered, and matched by evidence.

The memory is the first line of each worktree stream. What cannot be told keeps the id that a place
had; a copy gets a new one.
"""

import asyncio
import contextlib
import os
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from resumed.daemon.evidence import Verdict, match
from resumed.daemon.ports.git import Git
from resumed.daemon.ports.git_command import GitFailed
from resumed.daemon.ports.git_place import Place, device_inode, locate
from resumed.daemon.storage import disk
from resumed.restore.events import SCHEMA_VERSION
from resumed.restore.events.envelope import Event, Source, SourceKind
from resumed.restore.events.worktree import WorktreeMeta

_ROOTS_SECONDS = 2.0
_LOCK_SECONDS = 10.0
_LOOK_AGAIN_SECONDS = 0.02
_ME = Source(SourceKind.OBSERVED, "identity")


class IdentityFailed(Exception):
    """The ids of a place can neither be told nor made. `sentence` is for people."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence


class MetaStreams(Protocol):
    """What identities need of the streams."""

    def ids(self, kind: str) -> Iterator[str]:
        """The names of all streams of a kind."""
        ...

    def read(self, stream: str) -> Iterable[Event]:
        """The events of a stream, from the first."""
        ...

    async def create(self, stream: str, first: Event) -> object:
        """Create a stream durably with its first event."""
        ...


@dataclass(frozen=True)
class Identity:
    """The ids of a work tree and its repository, and the evidence that is there now."""

    repo_id: str
    worktree_id: str
    evidence: dict[str, str]


@dataclass
class _Sight:
    # `roots` are those of HEAD, looked up at most once and only when they are needed.
    path: str
    git_dir: str
    common_dir: str
    evidence: dict[str, str]
    roots: str | None = None


class Identities:
    """Tells and mints ids. `lock` is a file that makes one process at a time mint."""

    def __init__(
        self, git: Git, streams: MetaStreams, lock: Path, mint: Callable[[], str] = lambda: str(uuid.uuid4())
    ) -> None:
        self._git = git
        self._streams = streams
        self._lock = lock
        self._mint = mint
        self._metas: dict[str, WorktreeMeta] = {}

    async def identify(self, path: str) -> Identity:
        """The ids of the work tree (or plain folder) around `path`; new ones if it has none yet.

        Raises `IdentityFailed` when the place is not known and cannot be looked at, and what the
        streams raise when nothing can be written."""
        async with _held(self._lock):
            metas = await asyncio.to_thread(self._remembered)
            sight = await self._sight(path, metas)
            if isinstance(sight, Identity):
                return sight
            verdicts = await self._verdicts(metas, sight)
            standing = await asyncio.to_thread(_standing, verdicts, sight)
            if standing is not None:
                return Identity(standing.repo_id, standing.worktree_id, sight.evidence)
            return await self._minted(verdicts, sight)

    async def known(self, path: str) -> Identity | None:
        """The ids of the work tree around `path` if they are known; mints nothing.

        Of a new work tree of a known repository `worktree_id` is empty."""
        metas = await asyncio.to_thread(self._remembered)
        try:
            sight = await self._sight(path, metas)
        except IdentityFailed:
            return None
        if isinstance(sight, Identity):
            return sight
        verdicts = await self._verdicts(metas, sight)
        standing = await asyncio.to_thread(_standing, verdicts, sight)
        if standing is not None:
            return Identity(standing.repo_id, standing.worktree_id, sight.evidence)
        repo_id = _repo_id(verdicts, sight)
        return None if repo_id is None else Identity(repo_id, "", sight.evidence)

    def _remembered(self) -> list[WorktreeMeta]:
        for stream in self._streams.ids("worktree"):
            if stream not in self._metas:
                first = next(iter(self._streams.read(stream)), None)
                if first is not None and isinstance(first.payload, WorktreeMeta):
                    self._metas[stream] = first.payload
        return list(self._metas.values())

    async def _sight(self, path: str, metas: list[WorktreeMeta]) -> _Sight | Identity:
        try:
            place = await asyncio.to_thread(locate, path)
            return await asyncio.to_thread(_folder, path) if place is None else await self._evidence(place)
        except (GitFailed, OSError) as failure:
            real = os.path.realpath(path)
            for meta in metas:
                if meta.path == real:
                    return Identity(meta.repo_id, meta.worktree_id, meta.evidence)
            raise IdentityFailed(f"{real} could not be looked at: {failure}") from failure

    async def _evidence(self, place: Place) -> _Sight:
        try:
            remotes = ",".join(await self._git.remotes(place.top_level))
        except GitFailed:
            remotes = ""
        evidence = {
            "kind": place.kind,
            "common_dir": place.common_id,
            "git_dir": device_inode(place.git_dir),
            "admin_name": os.path.basename(place.git_dir) if place.kind == "linked" else "main",
            "remotes": remotes,
        }
        return _Sight(place.top_level, place.git_dir, place.common_dir, evidence)

    async def _verdicts(self, metas: list[WorktreeMeta], sight: _Sight) -> list[tuple[WorktreeMeta, Verdict]]:
        return [(meta, await self._verdict(meta, sight)) for meta in metas]

    async def _verdict(self, meta: WorktreeMeta, sight: _Sight) -> Verdict:
        known, seen = meta.evidence, sight.evidence
        if "folder" in (known.get("kind"), seen["kind"]):
            return "same" if known.get("folder") == seen.get("folder") else "different"
        quick = match({**known, "roots": ""}, seen)
        is_sure = quick == "same" and known.get("remotes", "") == seen["remotes"] != ""
        if is_sure or quick == "different":
            return quick
        is_elsewhere = meta.path != sight.path and known.get("common_dir") != seen["common_dir"]
        if is_elsewhere and "" in (known.get("remotes", ""), seen["remotes"]):
            # Roots alone never make two places the same repository: they need not be looked up.
            return "unknown"
        return match(known, {**seen, "roots": await self._roots_like(known.get("roots", ""), sight)})

    async def _roots_like(self, known: str, sight: _Sight) -> str:
        # The known roots are looked up, which costs nothing; HEAD may be on a branch with another root.
        try:
            wanted = [root for root in known.split(",") if root]
            present = [root for root in wanted if (await self._git.commit(sight.path, root)).present]
            return ",".join(present) if present or not wanted else await self._roots(sight)
        except GitFailed:
            return ""

    async def _roots(self, sight: _Sight) -> str:
        if sight.roots is None:
            try:
                sight.roots = ",".join(await self._git.roots(sight.path, _ROOTS_SECONDS))
            except GitFailed:
                sight.roots = ""
        return sight.roots

    async def _minted(self, verdicts: list[tuple[WorktreeMeta, Verdict]], sight: _Sight) -> Identity:
        evidence = sight.evidence
        if evidence["kind"] != "folder":
            evidence = {**evidence, "roots": await self._roots(sight)}
        meta = WorktreeMeta(
            schema_version=SCHEMA_VERSION,
            worktree_id=self._mint(),
            repo_id=_repo_id(verdicts, sight) or self._mint(),
            path=sight.path,
            evidence=evidence,
        )
        event = Event(payload=meta, event_id=str(uuid.uuid4()), src=_ME)
        await self._streams.create(f"worktree:{meta.worktree_id}", event)
        return Identity(meta.repo_id, meta.worktree_id, evidence)


def _folder(path: str) -> _Sight:
    real = os.path.realpath(path)
    return _Sight(real, "", "", {"kind": "folder", "folder": device_inode(real)})


def _repo_id(verdicts: list[tuple[WorktreeMeta, Verdict]], sight: _Sight) -> str | None:
    for meta, verdict in verdicts:
        if verdict == "same" and meta.evidence.get("kind") != "folder":
            return meta.repo_id
    for meta, verdict in verdicts:
        if verdict == "unknown" and meta.path == sight.path:
            return meta.repo_id
    return None


def _standing(verdicts: list[tuple[WorktreeMeta, Verdict]], sight: _Sight) -> WorktreeMeta | None:
    like = [
        meta
        for meta, verdict in verdicts
        if verdict != "different" and meta.evidence.get("kind") == sight.evidence["kind"]
    ]
    for meta in like:
        if meta.path == sight.path and _is_still(meta, sight):
            return meta
    for meta in like:
        if _has_moved(meta, sight):
            return meta
    return None


def _is_still(meta: WorktreeMeta, sight: _Sight) -> bool:
    if sight.evidence["kind"] == "folder" or meta.evidence.get("git_dir") == sight.evidence["git_dir"]:
        return True
    # A linked work tree made again at its old place, unless the old one was moved away and lives on.
    return sight.evidence["kind"] == "linked" and meta.evidence.get("git_dir") not in _admin_ids(sight)


def _has_moved(meta: WorktreeMeta, sight: _Sight) -> bool:
    # A plain folder's inode is soon given out again, so without git a move cannot be told.
    if sight.evidence["kind"] == "folder" or meta.path == sight.path:
        return False
    pieces = ("git_dir", "admin_name")
    if any(meta.evidence.get(piece) != sight.evidence[piece] for piece in pieces):
        return False
    # A copied folder points to the same git dir as the original, which is then still in its place.
    try:
        original = locate(meta.path)
    except (GitFailed, OSError):
        return True
    return original is None or original.git_dir != sight.git_dir


def _admin_ids(sight: _Sight) -> set[str]:
    folder = os.path.join(sight.common_dir, "worktrees")
    with contextlib.suppress(OSError):
        return {device_inode(os.path.join(folder, name)) for name in os.listdir(folder)}
    return set()


@contextlib.asynccontextmanager
async def _held(lock: Path) -> AsyncIterator[None]:
    deadline = time.monotonic() + _LOCK_SECONDS
    while (descriptor := disk.lock(lock)) is None:
        if time.monotonic() >= deadline:
            raise IdentityFailed("another process has been naming a place for too long")
        await asyncio.sleep(_LOOK_AGAIN_SECONDS)
    try:
        yield
    finally:
        os.close(descriptor)
