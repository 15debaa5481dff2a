"""Takes in a conversation from a portable file, also from another machine.

Everything is checked before anything changes: the archive, each hash, whose each stream is, and what is
here already. Then it is decided at one point; a kill before it leaves nothing, one after it loses nothing.
"""

import asyncio
import contextlib
import logging
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from resumed.daemon.failpoints import passage
from resumed.daemon.keeping import incoming
from resumed.daemon.keeping import manifest as manifests
from resumed.daemon.keeping.belongings import belongings, files_of
from resumed.daemon.keeping.container import ContainerDamaged, ContainerReader
from resumed.daemon.keeping.export import refused_file
from resumed.daemon.keeping.manifest import (
    CONTENTS,
    MANIFEST,
    MAX_MANIFEST_BYTES,
    QUARANTINE,
    SESSIONS,
    THREADS,
    Manifest,
    Member,
    NewerFile,
    session_of,
)
from resumed.daemon.keeping.staged_streams import check_streams
from resumed.daemon.leases import Leases
from resumed.daemon.ports.regular import open_regular
from resumed.daemon.storage import disk
from resumed.daemon.storage.blobs import Blobs
from resumed.daemon.storage.errors import StorageFailed
from resumed.daemon.storage.layout import Layout
from resumed.daemon.threads import Store
from resumed.daemon.uninterrupted import uninterrupted
from resumed.protocol.daemon import ClientInfo
from resumed.protocol.errors import ErrorCode, ResumedError
from resumed.protocol.keeping import ThreadImportResult

SPARE_BYTES = 64 << 20
"""What must stay free on the disk."""

_GROUP_LIMIT = 64
_GROUP_BYTES = 8 << 20

_log = logging.getLogger(__name__)


class _Conflict(NamedTuple):
    sentence: str


class Importer:
    """Takes conversations into a state folder."""

    def __init__(self, leases: Leases, store: Store, blobs: Blobs) -> None:
        self._leases = leases
        self._layout = store.layout
        self._blobs = blobs

    async def take_in(self, path: str, client: ClientInfo) -> ThreadImportResult:
        """Take in the conversation of a file.

        Raises `ResumedError`: `fileRefused`, `importDamaged`, `importNewer`, `importConflict`, `threadBusy`,
        or `StorageFailed`; nothing was changed then."""
        self._layout.check_writable()
        return await uninterrupted(self._take_in(path, client))

    async def tidy(self) -> None:
        """Finish, or remove, what a killed process left."""
        try:
            await asyncio.to_thread(incoming.tidy, self._layout)
        except OSError as error:
            _log.warning("what is left of taking in a conversation could not be tidied up: %s", error)

    async def _take_in(self, path: str, client: ClientInfo) -> ThreadImportResult:
        try:
            held = contextlib.ExitStack()
            try:
                file = await asyncio.to_thread(held.enter_context, _opened(path))
                new = await asyncio.to_thread(held.enter_context, incoming.taking_in(self._layout))
                manifest = await asyncio.to_thread(_extract, file, new)
                named = await asyncio.to_thread(check_streams, manifest, new)
                status = await self._decide(manifest, new, client)
            finally:
                # To remove what was staged takes the longer the more it is.
                await asyncio.to_thread(held.close)
        except ContainerDamaged as damage:
            raise _refused(ErrorCode.IMPORT_DAMAGED, f"The file can't be taken in: {damage}.") from damage
        except NewerFile as newer:
            hint = "Nothing was changed. A newer version of this program can take it in."
            sentence = f"The file was written by a newer version ({newer})."
            raise ResumedError(ErrorCode.IMPORT_NEWER, sentence, hint) from newer
        except incoming.ImportBusy as busy:
            raise StorageFailed("Another conversation is being taken in now.") from busy
        except OSError as error:
            raise StorageFailed(f"The conversation can't be taken in: {error.strerror}.") from error
        return ThreadImportResult(
            thread_id=manifest.thread_id,
            name=manifest.name,
            status=status,
            runs=len({session_of(member) for member in manifest.of(SESSIONS)}),
            contents=len(named),
            missing=len(manifest.missing),
            depends_on=manifest.depends_on,
        )

    async def _decide(self, manifest: Manifest, new: Path, client: ClientInfo) -> str:
        async with self._leases.held(manifest.thread_id, client):
            # A removal that was begun is finished before; a restore that was cut off is taken back.
            await self._leases.settle(manifest.thread_id)
            here = await asyncio.to_thread(_compare, self._layout, manifest, new)
            if isinstance(here, _Conflict):
                hint = "Nothing was changed. Export or purge the one that is here first, to take this one in."
                raise ResumedError(ErrorCode.IMPORT_CONFLICT, here.sentence, hint)
            await self._keep_contents(manifest, new)
            passage("import.contents")
            if here:
                return "present"
            await asyncio.to_thread(incoming.decide, self._layout)
            await asyncio.to_thread(incoming.finish, self._layout)
        return "imported"

    async def _keep_contents(self, manifest: Manifest, new: Path) -> None:
        # Those that are put at the same time share a commit.
        for group in _grouped(manifest.of(CONTENTS)):
            data = await asyncio.to_thread(_staged, new, group)
            await asyncio.gather(*map(self._blobs.put, data))


@contextlib.contextmanager
def _opened(path: str) -> Iterator[BinaryIO]:
    if "\0" in path or not os.path.isabs(path):
        raise refused_file(f"{path!r} is no absolute path.", "Give the whole path of the file.")
    try:
        file = open_regular(path)
    except OSError as error:
        raise refused_file(f"{path} can't be read: {error.strerror}.", "Nothing was changed.") from error
    with file:
        yield file


def _extract(file: BinaryIO, new: Path) -> Manifest:
    """Check the whole file and stage its members. Blocks."""
    reader = ContainerReader(file)
    collected: list[bytes] = []
    reader.read(reader.enter(MANIFEST, limit=MAX_MANIFEST_BYTES), collected.append)
    manifest = manifests.decode(b"".join(collected))
    free = shutil.disk_usage(new).free
    # Contents are kept besides being staged.
    if 2 * manifest.size + SPARE_BYTES > free:
        raise StorageFailed(f"There is no room for the {manifest.size} bytes that the file claims to hold.")
    disk.make_folder(new / CONTENTS)
    for member in manifest.members:
        _extract_member(reader, member, new / member.folder / member.file)
    reader.end()
    return manifest


def _extract_member(reader: ContainerReader, member: Member, target: Path) -> None:
    reader.enter(member.name, size=member.size)
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, disk.FILE_MODE)
    try:
        digest = reader.read(member.size, lambda part: disk.write(descriptor, part))
        if member.folder != CONTENTS:
            # Contents are made durable where they are kept; all else stays the file that it is.
            disk.sync(descriptor)
    finally:
        os.close(descriptor)
    if digest != member.sha256:
        raise ContainerDamaged(f"the bytes of {member.name} are not the ones that were written")


def _staged(new: Path, members: list[Member]) -> list[bytes]:
    return [(new / CONTENTS / member.file).read_bytes() for member in members]


def _grouped(members: tuple[Member, ...]) -> Iterator[list[Member]]:
    """The members in groups, so that what is in memory at a time stays bounded."""
    group: list[Member] = []
    for member in members:
        if group and (
            len(group) == _GROUP_LIMIT or sum(each.size for each in group) + member.size > _GROUP_BYTES
        ):
            yield group
            group = []
        group.append(member)
    if group:
        yield group


def _compare(layout: Layout, manifest: Manifest, new: Path) -> bool | _Conflict:
    """Whether all of it is here already; false when nothing of it is. Blocks."""
    thread_id = manifest.thread_id
    own = belongings(layout, thread_id)
    streams = {f"thread:{thread_id}": THREADS}
    streams |= {f"session:{session_of(member)}": SESSIONS for member in manifest.of(SESSIONS)}
    if not own.streams:
        taken = next((stream for stream in streams if layout.find_stream(stream) is not None), None)
        return False if taken is None else _Conflict("A run of it belongs to another conversation here.")
    here = {path.name: path for stream in streams for path in files_of(layout, stream)}
    for member in manifest.members:
        if member.folder in (CONTENTS, QUARANTINE):
            continue
        staged, path = new / member.folder / member.file, here.get(member.file)
        if path is None or not incoming.begins_with(path, staged):
            return _Conflict(f"“{manifest.name}” is here already, and not all of the file is part of it.")
    return True


def _refused(code: ErrorCode, sentence: str) -> ResumedError:
    return ResumedError(code, sentence, "Nothing was changed. Export the conversation again where it is.")
