"""Looks whether the streams of a staged conversation are what their names say.

Damage is taken in as it is: the bytes are those that were exported. What names another thread, another run
or a newer schema is not.
"""

from pathlib import Path

from resumed.daemon.keeping.belongings import FOREIGN
from resumed.daemon.keeping.container import ContainerDamaged
from resumed.daemon.keeping.manifest import CONTENTS, SESSIONS, THREADS, Manifest, NewerFile, session_of
from resumed.daemon.storage.reader import Reading
from resumed.restore.events import SCHEMA_VERSION
from resumed.restore.events.session import SessionMeta
from resumed.restore.events.thread import SessionLinked, ThreadMeta
from resumed.restore.events.worktree import WorktreeMeta


def check_streams(manifest: Manifest, new: Path) -> frozenset[str]:
    """Read every stream; returns the contents that were brought along, all of which some event names.

    Raises `ContainerDamaged`, `NewerFile` and `OSError`; blocks."""
    named: set[str] = set()
    linked: set[str] = set()
    for event in _read(new / THREADS / f"{manifest.thread_id}.jsonl"):
        named.update(event.blobs)
        match event.payload:
            case ThreadMeta(thread_id=thread) if thread != manifest.thread_id:
                raise ContainerDamaged("its record is of another conversation")
            case SessionMeta() | WorktreeMeta():
                raise ContainerDamaged("its record is none of a conversation")
            case SessionLinked(session_id=session) if event.src.ref != FOREIGN:
                linked.add(session)
    files: dict[str, str] = {}
    for member in manifest.of(SESSIONS):
        # Segments come behind the first file, and are read with it.
        stem = member.file.split(".")[0]
        if files.setdefault(session_of(member), stem) != stem:
            raise ContainerDamaged(f"the run {session_of(member)} is there twice")
    names = {member.name for member in manifest.of(SESSIONS)}
    for session, stem in files.items():
        if f"{SESSIONS}/{stem}.jsonl" not in names:
            raise ContainerDamaged(f"the first file of the run {session} is not in it")
        named |= _check_run(manifest, session, new / SESSIONS / f"{stem}.jsonl", session in linked)
    brought = frozenset(member.file for member in manifest.of(CONTENTS))
    if strange := brought - named:
        raise ContainerDamaged(f"nothing names the content {min(strange)[:12]}")
    return brought


def _check_run(manifest: Manifest, session: str, first: Path, is_linked: bool) -> set[str]:
    named: set[str] = set()
    says_whose = False
    for event in _read(first):
        named.update(event.blobs)
        match event.payload:
            case SessionMeta() as meta:
                says_whose = True
                if (meta.thread_id, meta.session_id) != (manifest.thread_id, session):
                    raise ContainerDamaged(f"the run {session} belongs to another conversation")
            case ThreadMeta() | WorktreeMeta():
                raise ContainerDamaged(f"the record of the run {session} is none of a run")
    if not (says_whose or is_linked):
        raise ContainerDamaged(f"nothing says whose run {session} is")
    return named


def _read(first: Path) -> Reading:
    reading = Reading(first)
    newest = max((file.version for file in reading.files), default=0)
    if newest > SCHEMA_VERSION:
        raise NewerFile(f"records of schema {newest}")
    return reading
