"""One event as one line, and back.

The checksum is verified on the bytes as they are on the disk; a line is never encoded again. Text
that is not valid Unicode (a path's surrogate escapes) takes a slower way through the standard
library, because msgspec refuses it in both directions.
"""

import json
import zlib
from functools import cache
from typing import Any

import msgspec

from resumed.daemon.storage.errors import EventRefused
from resumed.daemon.storage.upgrade import STEPS, Fields, Steps, lift
from resumed.restore.events import EVENT_TYPES, SCHEMA_VERSION, TYPE_NAMES
from resumed.restore.events.envelope import Event, Payload, Source, SourceKind, Unknown

MAX_LINE_BYTES = 64 << 20

_SUFFIX_HEAD = b',"crc":"'
_SUFFIX_LENGTH = len(_SUFFIX_HEAD) + 8 + len(b'"}')
_KIND_NAMES = {kind: kind.name.lower() for kind in SourceKind}
_KINDS = {name: kind for kind, name in _KIND_NAMES.items()}


class BadLine(msgspec.Struct, frozen=True):
    """A line that is not an event, and why in a few words."""

    reason: str


class _Origin(msgspec.Struct, gc=False):
    kind: str
    ref: str


class _Line(msgspec.Struct, omit_defaults=True, gc=False):
    seq: int
    ts: str
    type: str
    event_id: str
    src: _Origin
    at: str | None = None
    turn: str | None = None
    op: str | None = None
    id: str | None = None
    parent_id: str | None = None
    after: dict[str, int] = {}
    blobs: tuple[str, ...] = ()
    payload: Any = msgspec.UNSET


class _RawLine(_Line):
    payload: msgspec.Raw = msgspec.Raw()


_encoder = msgspec.json.Encoder()
_raw_line = msgspec.json.Decoder(_RawLine)
_fields = msgspec.json.Decoder(Fields)


@cache
def _payload_decoder(payload_type: type[Payload]) -> msgspec.json.Decoder[Payload]:
    return msgspec.json.Decoder(payload_type)


def encode(event: Event) -> bytes:
    """Return the event's line, newline included. Raises `EventRefused` for what JSON can't hold."""
    return encode_as(event, event.seq, event.ts)


def encode_as(event: Event, seq: int, ts: str) -> bytes:
    """Return the line of `event` under another `seq` and `ts`; the writer numbers events by it."""
    payload: Any = event.payload
    if isinstance(payload, Unknown):
        type_name, payload = payload.type, payload.fields
    else:
        type_name = _type_name(payload)
    source = event.src
    line = _Line(
        seq, ts, type_name, event.event_id, _Origin(_KIND_NAMES[source.kind], source.ref), event.at,
        event.turn, event.op, event.id, event.parent_id, event.after, event.blobs, payload,
    )  # fmt: skip
    body = _json(line)
    body.pop()
    body += b',"crc":"%08x"}\n' % zlib.crc32(body)
    if len(body) > MAX_LINE_BYTES:
        raise EventRefused(f"An event of {len(body)} bytes is larger than {MAX_LINE_BYTES}.")
    return bytes(body)


def decode(line: bytes, version: int = SCHEMA_VERSION, steps: Steps = STEPS) -> Event | BadLine:
    """Read one line, with or without its line end, written under schema `version`.

    A type that this version does not know becomes an `Unknown` payload; a known type whose payload
    does not fit is a `BadLine`, and so is everything whose checksum does not hold.
    """
    line = line.removesuffix(b"\n").removesuffix(b"\r")
    if not checksum_holds(line):
        return BadLine("its checksum does not hold")
    try:
        return _event(line, version, steps)
    except msgspec.ValidationError as error:
        return BadLine(f"it does not fit its type: {error}")
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        return BadLine(f"it is not an event: {type(error).__name__}")


def checksum_holds(line: bytes) -> bool:
    """Tell whether a line without its line end ends with the right checksum."""
    if line[-_SUFFIX_LENGTH:-10] != _SUFFIX_HEAD or line[-2:] != b'"}':
        return False
    return line[-10:-2] == b"%08x" % zlib.crc32(memoryview(line)[:-_SUFFIX_LENGTH])


def checksum_of(line: bytes) -> str:
    """Return the 8 hexadecimal digits of a line whose checksum holds."""
    return line.removesuffix(b"\n").removesuffix(b"\r")[-10:-2].decode("ascii", "replace")


def _type_name(payload: Payload) -> str:
    try:
        return TYPE_NAMES[type(payload)]
    except KeyError:
        raise EventRefused(f"{type(payload).__name__} is not an event type.") from None


def _json(line: _Line) -> bytearray:
    body = bytearray()
    try:
        _encoder.encode_into(line, body)
    except UnicodeEncodeError:
        return _surrogate_json(line)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise EventRefused(f"The event can't be written as JSON: {error}.") from error
    return body


def _surrogate_json(line: _Line) -> bytearray:
    try:
        text = json.dumps(msgspec.to_builtins(line), separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise EventRefused(f"The event can't be written as JSON: {error}.") from error
    return bytearray(text, "ascii")


def _event(line: bytes, version: int, steps: Steps) -> Event:
    try:
        stored: _Line = _raw_line.decode(line)
        payload = _payload(stored.type, stored.payload, version, steps)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        stored = msgspec.convert(json.loads(line), _Line)
        payload = _payload_of_fields(stored.type, stored.payload, version, steps)
    return Event(
        payload=payload,
        event_id=stored.event_id,
        src=Source(_KINDS[stored.src.kind], stored.src.ref),
        seq=stored.seq,
        ts=stored.ts,
        at=stored.at,
        turn=stored.turn,
        op=stored.op,
        id=stored.id,
        parent_id=stored.parent_id,
        after=stored.after,
        blobs=stored.blobs,
    )


def _payload(type_name: str, raw: msgspec.Raw, version: int, steps: Steps) -> Payload:
    payload_type = EVENT_TYPES.get(type_name)
    if payload_type is None or version < SCHEMA_VERSION:
        return _payload_of_fields(type_name, _fields.decode(raw), version, steps)
    return _payload_decoder(payload_type).decode(raw)


def _payload_of_fields(type_name: str, fields: Any, version: int, steps: Steps) -> Payload:
    if not isinstance(fields, dict):
        raise TypeError("a payload is an object")
    lifted = lift(type_name, fields, version, steps)
    payload_type = EVENT_TYPES.get(type_name)
    if payload_type is None:
        return Unknown(type=type_name, fields=lifted)
    return msgspec.convert(lifted, payload_type)
