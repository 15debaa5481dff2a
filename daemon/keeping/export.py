"""Writes all that is kept of a thread into one file: its streams, copies of torn bytes, its contents.

Nothing is changed, so that it works while somebody has the thread; what they are just writing is then left
out at the last whole line.
"""

import asyncio
import contextlib
import hashlib
import os
import secrets
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec

from resumed.daemon.keeping import manifest as manifests
from resumed.daemon.keeping.belongings import Belongings, belongings, copies_of, files_of
from resumed.daemon.keeping.container import CHUNK_BYTES, ContainerWriter
from resumed.daemon.keeping.manifest import (
    CONTENTS,
    MANIFEST,
    QUARANTINE,
    SESSIONS,
    THREADS,
    Manifest,
    Member,
)
from resumed.daemon.ports.regular import open_regular
from resumed.daemon.storage import disk
from resumed.daemon.storage.blob_rows import BlobFound
from resumed.daemon.storage.blobs import Blobs
from resumed.daemon.storage.errors import StorageFailed
from resumed.daemon.storage.layout import Layout
from resumed.daemon.storage.reader import Reading
from resumed.daemon.threads import Store, Threads
from resumed.daemon.version import VERSION
from resumed.protocol.errors import ErrorCode, ResumedError
from resumed.protocol.keeping import ThreadExportResult
from resumed.restore.events import SCHEMA_VERSION


class _Part(msgspec.Struct, frozen=True):
    """A file to take along: so many bytes of it, under this name."""

    member: Member
    path: Path


class _Found(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be exported: files, the names of contents, and the newest schema of the streams."""

    parts: tuple[_Part, ...]
    contents: tuple[str, ...]
    runs: int
    schema_version: int


class Exporter:
    """Exports threads of a state folder."""

    def __init__(self, threads: Threads, store: Store, blobs: Blobs) -> None:
        self._threads = threads
        self._layout = store.layout
        self._blobs = blobs

    async def export(self, thread: str, path: str) -> ThreadExportResult:
        """Write a thread into a new file at `path`; when this returns, it is durable.

        Raises `ResumedError` (`fileRefused`, `nothingKept`) and `StorageFailed`; then there is no file."""
        target = await asyncio.to_thread(checked_target, self._layout, path)
        row = await self._threads.find(thread)
        record = await self._threads.record(row.thread_id)
        try:
            found = await asyncio.to_thread(_look, self._layout, row.thread_id)
            sizes, missing = await self._contents(found.contents)
            members = (
                *(part.member for part in found.parts),
                *(Member(name=f"{CONTENTS}/{name}", size=size, sha256=name) for name, size in sizes.items()),
            )
            manifest = Manifest(
                kind=manifests.KIND,
                format=manifests.FORMAT,
                program=VERSION,
                schema_version=found.schema_version,
                thread_id=row.thread_id,
                name=record.name,
                members=members,
                missing=missing,
                depends_on=record.depends_on,
            )
            size, digest = await self._write(target, manifest, found.parts)
        except (OSError, ValueError) as error:
            raise StorageFailed(f"The conversation can't be written to {target}: {error}.") from error
        return ThreadExportResult(
            thread_id=row.thread_id,
            name=record.name,
            path=str(target),
            bytes=size,
            sha256=digest,
            runs=found.runs,
            contents=len(sizes),
            missing=len(missing),
            depends_on=record.depends_on,
        )

    async def _contents(self, names: tuple[str, ...]) -> tuple[dict[str, int], tuple[str, ...]]:
        """The sizes of the contents that are whole, and the names of the others."""
        sizes: dict[str, int] = {}
        missing: list[str] = []
        for name in names:
            got = await self._blobs.get(name)
            if isinstance(got, BlobFound):
                sizes[name] = len(got.data)
            else:
                missing.append(name)
        return sizes, tuple(missing)

    async def _write(self, target: Path, manifest: Manifest, parts: tuple[_Part, ...]) -> tuple[int, str]:
        async with _staged(target) as file:
            writer = await asyncio.to_thread(ContainerWriter, file)
            data = manifests.encode(manifest)
            await asyncio.to_thread(writer.add, MANIFEST, len(data), [data])
            for part in parts:
                await asyncio.to_thread(
                    writer.add, part.member.name, part.member.size, _bytes(part.path, part.member.size)
                )
            for member in manifest.of(CONTENTS):
                got = await self._blobs.get(member.file)
                if not isinstance(got, BlobFound):
                    raise StorageFailed("A content that was there a moment ago is gone; try again.")
                await asyncio.to_thread(writer.add, member.name, member.size, [got.data])
            await asyncio.to_thread(writer.close)
        return await asyncio.to_thread(_measured, target)


def checked_target(layout: Layout, path: str) -> Path:
    """The place of a new file. Raises `ResumedError` `fileRefused`; blocks."""
    target = Path(path)
    if "\0" in path or not target.is_absolute() or not target.name:
        raise refused_file(f"{path!r} is no absolute path.", "Give the whole path of a new file.")
    folder = Path(os.path.realpath(target.parent))
    home = Path(os.path.realpath(layout.home))
    if not folder.is_dir():
        raise refused_file(f"There is no folder {target.parent}.", "Name a file in a folder that exists.")
    if home in (folder, *folder.parents):
        raise refused_file(f"{path} is inside of the state folder.", "Name a file outside of it.")
    if os.path.lexists(target):
        raise refused_file(f"{path} exists already.", "Nothing is overwritten: name another file.")
    return folder / target.name


def refused_file(sentence: str, hint: str) -> ResumedError:
    """The refusal of a path that a client gave."""
    return ResumedError(ErrorCode.FILE_REFUSED, sentence, hint)


@contextlib.asynccontextmanager
async def _staged(target: Path) -> AsyncIterator[BinaryIO]:
    """A file that appears at the target, durably, when the block ends well, and not at all otherwise.

    Raises `ResumedError` when something else has come to be there meanwhile."""
    staged = target.with_name(f".{target.name[:100]}.{secrets.token_hex(8)}.staged")
    descriptor = os.open(staged, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, disk.FILE_MODE)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            await asyncio.to_thread(file.flush)
            await asyncio.to_thread(disk.sync, file.fileno())
        await asyncio.to_thread(_appear, staged, target)
    finally:
        staged.unlink(missing_ok=True)


def _appear(staged: Path, target: Path) -> None:
    # A link is not made over what is there, as a rename would be.
    try:
        os.link(staged, target)
    except FileExistsError as error:
        raise refused_file(
            f"{target} exists already.", "Nothing is overwritten: name another file."
        ) from error
    except OSError:
        if os.path.lexists(target):
            raise
        staged.rename(target)
    disk.sync_folder(target.parent)


def _look(layout: Layout, thread_id: str) -> _Found:
    own = belongings(layout, thread_id)
    if not own.known:
        raise ResumedError(
            ErrorCode.NOTHING_KEPT,
            "Nothing is kept here of this conversation but what its agent's own file says.",
            "Take the agent's file along; resumed show names it.",
        )
    try:
        return _gathered(layout, own)
    except FileNotFoundError:
        # It was put away or brought back meanwhile.
        return _gathered(layout, own)


def _gathered(layout: Layout, own: Belongings) -> _Found:
    parts: list[_Part] = []
    contents: set[str] = set()
    schema_version = SCHEMA_VERSION
    for stream in reversed(own.streams):
        is_written = disk.is_locked(layout.stream_lock_path(stream))
        folder = THREADS if stream.startswith("thread:") else SESSIONS
        files = files_of(layout, stream)
        parts += [_part(folder, path, _length(path, is_written)) for path in files]
        reading = Reading(files[0])
        schema_version = max(schema_version, *(file.version for file in reading.files))
        for event in reading:
            contents.update(event.blobs)
    names = {part.path.name for part in parts}
    parts += [_part(QUARANTINE, path, path.stat().st_size) for path in copies_of(layout, names)]
    return _Found(
        parts=tuple(parts),
        contents=tuple(sorted(contents)),
        runs=len(own.sessions),
        schema_version=schema_version,
    )


def _part(folder: str, path: Path, size: int) -> _Part:
    digest = hashlib.sha256()
    for part in _bytes(path, size):
        digest.update(part)
    return _Part(Member(name=f"{folder}/{path.name}", size=size, sha256=digest.hexdigest()), path)


def _length(path: Path, is_written: bool) -> int:
    """How much of a stream's file is taken: while somebody writes it, up to the last line end."""
    size = path.stat().st_size
    if not is_written:
        return size
    with open_regular(path) as file:
        while size:
            start = max(0, size - CHUNK_BYTES)
            file.seek(start)
            end = file.read(size - start).rfind(b"\n") + 1
            if end:
                return start + end
            size = start
    return 0


def _bytes(path: Path, size: int) -> Iterator[bytes]:
    with open_regular(path) as file:
        left = size
        while left:
            part = file.read(min(CHUNK_BYTES, left))
            if not part:
                raise ValueError(f"{path.name} has become shorter")
            left -= len(part)
            yield part


def _measured(path: Path) -> tuple[int, str]:
    with open_regular(path) as file:
        return path.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest()
