"""The only JSON knowledge of the protocol: bytes to values and back.

Numbers are not taken from strings, unknown fields are ignored, an unknown enum value is refused.
"""

import json
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")

_encoder = msgspec.json.Encoder()


class Malformed(ValueError):
    """Params that do not fit their type; `args[0]` says where and why."""


def decode_json(body: bytes) -> Any:
    """Parse bytes into plain values. Raises `Malformed`."""
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        if b"\\ud" not in body and b"\\uD" not in body:
            raise Malformed(str(error)) from error
        return _decode_surrogates(body)


def to_type(value: Any, expected: type[T]) -> T:
    """Turn plain values into a wire type, strictly. Raises `Malformed`."""
    try:
        return msgspec.convert(value, expected, strict=True)
    except msgspec.ValidationError as error:
        raise Malformed(str(error)) from error


def to_json(value: Any) -> bytes:
    """Encode a wire type, or plain values holding wire types."""
    try:
        return _encoder.encode(value)
    except UnicodeEncodeError:
        # A name that is not UTF-8: its odd bytes travel as lone surrogates, in JSON's own escapes.
        return json.dumps(msgspec.to_builtins(value), ensure_ascii=True, separators=(",", ":")).encode()


def to_plain(value: Any) -> Any:
    """Turn a wire type into plain dictionaries and lists, names as on the wire."""
    return msgspec.to_builtins(value)


def _decode_surrogates(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Malformed(str(error)) from error
