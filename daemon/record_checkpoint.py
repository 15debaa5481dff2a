"""A fold of a thread put aside: states, where each part was read to, and what proves it is the same.

A checkpoint of another fold, event schema or translator version is not used.
"""

from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from resumed.daemon.agents import AGENTS
from resumed.daemon.agents.reading import ForeignCursor, open_plain, prefix_hash
from resumed.daemon.storage.reader import Position
from resumed.restore.events import SCHEMA_VERSION
from resumed.restore.lifecycle import Lifecycle, LifecycleState
from resumed.restore.subsystems import SUBSYSTEMS

FORMAT = 2


class ForeignPart(msgspec.Struct, frozen=True, kw_only=True):
    """How far the agent's file was read, and what stands for those bytes."""

    path: str
    device: int
    inode: int
    prefix: str
    cursor: ForeignCursor


class Checkpoint(msgspec.Struct, kw_only=True):
    """`latest` is the time of the newest event in it: later events may follow, earlier ones may not.
    `damage` has a sentence for each of the `lost` places that were damaged up to here."""

    foreign: ForeignPart | None
    streams: dict[str, Position]
    latest: str
    states: dict[str, Any]
    lifecycle: LifecycleState
    events_read: int
    damage: tuple[str, ...] = ()
    lost: int = 0


class _Stored(msgspec.Struct, kw_only=True):
    versions: dict[str, int]
    foreign: ForeignPart | None
    streams: dict[str, Position]
    latest: str
    states: dict[str, bytes]
    lifecycle: LifecycleState
    events_read: int
    damage: tuple[str, ...] = ()
    lost: int = 0


_STATE_TYPES = {subsystem.name: subsystem.state_type for subsystem in SUBSYSTEMS if subsystem.handles}
_decoder = msgspec.msgpack.Decoder(_Stored)


def pack(checkpoint: Checkpoint) -> bytes:
    """The checkpoint as bytes."""
    states = {name: msgspec.msgpack.encode(checkpoint.states[name]) for name in _STATE_TYPES}
    return msgspec.msgpack.encode(
        _Stored(
            versions=_versions(),
            foreign=checkpoint.foreign,
            streams=checkpoint.streams,
            latest=checkpoint.latest,
            states=states,
            lifecycle=checkpoint.lifecycle,
            events_read=checkpoint.events_read,
            damage=checkpoint.damage,
            lost=checkpoint.lost,
        )
    )


def unpack(body: bytes) -> Checkpoint | None:
    """The checkpoint, or `None` when it is damaged or of other versions."""
    try:
        stored = _decoder.decode(body)
        if stored.versions != _versions():
            return None
        states = {
            name: msgspec.msgpack.decode(stored.states[name], type=state_type)
            for name, state_type in _STATE_TYPES.items()
        }
    except (msgspec.MsgspecError, KeyError):
        return None
    return Checkpoint(
        foreign=stored.foreign,
        streams=stored.streams,
        latest=stored.latest,
        states=states,
        lifecycle=stored.lifecycle,
        events_read=stored.events_read,
        damage=stored.damage,
        lost=stored.lost,
    )


def foreign_part(path: Path, cursor: ForeignCursor) -> ForeignPart | None:
    """Describe how far a file was read; `None` for one that can't be sought in, or is gone."""
    if path.suffix == ".zst":
        return None
    try:
        found = path.stat()
        prefix = prefix_hash(partial(open_plain, path), cursor.offset)
    except OSError:
        return None
    return ForeignPart(path=str(path), device=found.st_dev, inode=found.st_ino, prefix=prefix, cursor=cursor)


def foreign_holds(part: ForeignPart | None, path: Path | None) -> bool:
    """Whether the file is still the one that was read, at least as long, with the same beginning."""
    if part is None or path is None:
        return part is None and path is None
    if part.path != str(path):
        return False
    try:
        return foreign_part(path, part.cursor) == part and path.stat().st_size >= part.cursor.offset
    except OSError:
        return False


def _versions() -> dict[str, int]:
    versions = {subsystem.name: subsystem.version for subsystem in SUBSYSTEMS}
    versions |= {"format": FORMAT, "schema": SCHEMA_VERSION, "lifecycle": Lifecycle.version}
    for name, factory in AGENTS.items():
        store = factory({}).store
        versions[f"translator {name}"] = store.translator_version if store else 0
    return versions
