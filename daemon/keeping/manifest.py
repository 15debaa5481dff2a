"""What a portable file says of itself, first of all: whose it is, and each of its members.

Only names of these shapes are members; where each belongs in a state folder follows from the name alone.
"""

import re

import msgspec

from resumed.daemon.keeping.container import ContainerDamaged
from resumed.daemon.storage.blobs import MAX_BLOB_BYTES
from resumed.protocol.converter import Malformed, decode_json, to_json, to_type
from resumed.protocol.ids import InvalidId, parse_uuid
from resumed.restore.events import SCHEMA_VERSION

FORMAT = 1
KIND = "resumed-conversation"
MANIFEST = "manifest.json"
MAX_MANIFEST_BYTES = 64 << 20
MAX_BYTES = 64 << 30
"""All members together may have so many bytes."""

THREADS, SESSIONS, QUARANTINE, CONTENTS = "threads", "sessions", "quarantine", "contents"

_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_THREAD_FILE = rf"(?P<thread>{_UUID})(?:\.[1-9][0-9]{{0,5}})?\.jsonl"
_SESSION_FILE = (
    r"rollout-[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}-[0-9]{2}-[0-9]{2}"
    rf"-(?P<session>{_UUID})(?:\.[1-9][0-9]{{0,5}})?\.jsonl"
)
_COPY = r"(?:\.(?:0|[1-9][0-9]{0,18})\.torn)"
_SHAPES = {
    THREADS: re.compile(_THREAD_FILE),
    SESSIONS: re.compile(_SESSION_FILE),
    QUARANTINE: re.compile(rf"(?:{_THREAD_FILE}|{_SESSION_FILE}){_COPY}"),
    CONTENTS: re.compile(r"[0-9a-f]{64}"),
}


class NewerFile(Exception):
    """The file was written by a newer version; the argument says which."""


class Member(msgspec.Struct, frozen=True, kw_only=True):
    """One file of the archive: its name there, its size and its SHA-256."""

    name: str
    size: int
    sha256: str

    @property
    def folder(self) -> str:
        """What kind of member it is: threads, sessions, quarantine or contents."""
        return self.name.partition("/")[0]

    @property
    def file(self) -> str:
        """Its name without the folder."""
        return self.name.partition("/")[2]


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """`schema_version` is the newest of the streams inside. `missing` are contents that events name and
    that were not there to be taken along; `depends_on` is the agent's own file, which is no member."""

    kind: str
    format: int
    program: str
    schema_version: int
    thread_id: str
    name: str
    members: tuple[Member, ...]
    missing: tuple[str, ...] = ()
    depends_on: str | None = None

    @property
    def size(self) -> int:
        """The bytes of all members."""
        return sum(member.size for member in self.members)

    def of(self, folder: str) -> tuple[Member, ...]:
        """The members of one kind."""
        return tuple(member for member in self.members if member.folder == folder)


class _Versions(msgspec.Struct, frozen=True):
    kind: str
    format: int
    program: str = ""


def encode(manifest: Manifest) -> bytes:
    """The manifest as a member's bytes."""
    # A name or a path may hold bytes that are no text.
    return to_json(manifest) + b"\n"


def decode(data: bytes) -> Manifest:
    """Read and check a manifest. Raises `NewerFile` and `ContainerDamaged`."""
    try:
        plain = decode_json(data)
        versions = to_type(plain, _Versions)
        if versions.kind != KIND or versions.format < 1:
            raise ContainerDamaged("it is no conversation")
        if versions.format > FORMAT:
            raise NewerFile(f"format {versions.format}, by version {versions.program[:40]}")
        manifest = to_type(plain, Manifest)
    except (Malformed, RecursionError) as error:
        raise ContainerDamaged(f"its manifest can't be read ({error})") from error
    if manifest.schema_version > SCHEMA_VERSION:
        raise NewerFile(f"records of schema {manifest.schema_version}")
    _check(manifest)
    return manifest


def session_of(member: Member) -> str:
    """The run whose stream a member of `sessions` is a part of."""
    match = _SHAPES[SESSIONS].fullmatch(member.file)
    assert match is not None
    return match["session"]


def _check(manifest: Manifest) -> None:
    try:
        if parse_uuid(manifest.thread_id) != manifest.thread_id:
            raise ContainerDamaged("its conversation has an odd id")
    except InvalidId as error:
        raise ContainerDamaged("its conversation has no id") from error
    names: set[str] = set()
    for member in manifest.members:
        _check_member(manifest, member)
        if member.name in names:
            raise ContainerDamaged(f"{member.name} is there twice")
        names.add(member.name)
    if f"{THREADS}/{manifest.thread_id}.jsonl" not in names:
        raise ContainerDamaged("the conversation's own record is not in it")
    if manifest.size > MAX_BYTES:
        raise ContainerDamaged(f"it claims to hold {manifest.size} bytes")


def _check_member(manifest: Manifest, member: Member) -> None:
    shape = _SHAPES.get(member.folder)
    match = shape.fullmatch(member.file) if shape is not None else None
    if match is None or member.size < 0 or not _SHAPES[CONTENTS].fullmatch(member.sha256):
        raise ContainerDamaged(f"{member.name[:100]!r} can't be a part of it")
    if member.folder == THREADS and match["thread"] != manifest.thread_id:
        raise ContainerDamaged(f"{member.name} belongs to another conversation")
    if member.folder == CONTENTS and (member.file != member.sha256 or member.size > MAX_BLOB_BYTES):
        raise ContainerDamaged(f"{member.name} is not what it is called")
