"""What a kept content is as a value, and how it becomes a row of `blobs.db`.

A content is named by the SHA-256 of its raw bytes, as 64 lower-case hexadecimal digits. Its bytes are in
a table of their own, so that touching one and looking through all of them never reads contents.
"""

import hashlib
import re
from datetime import datetime
from typing import Any, NamedTuple

import msgspec
import zstandard

SCHEMA_VERSION = 1
SCHEMA = (
    """CREATE TABLE blobs (
        sha256 BLOB PRIMARY KEY, size INTEGER NOT NULL, codec TEXT NOT NULL, stored INTEGER NOT NULL,
        content INTEGER NOT NULL, touched_at INTEGER NOT NULL
    ) WITHOUT ROWID""",
    "CREATE INDEX blobs_by_touch ON blobs (touched_at, sha256)",
    "CREATE TABLE contents (id INTEGER PRIMARY KEY, data BLOB NOT NULL)",
)
COLUMNS = {
    "blobs": "sha256, size, codec, stored, content, touched_at",
    "contents": "id, data",
}

RAW = "raw"
ZSTD = "zstd"

_LEVEL = 3
_NAME = re.compile(r"[0-9a-f]{64}")


class BlobFound(msgspec.Struct, frozen=True):
    """The content: its hash and size are those it was put under."""

    data: bytes


class BlobMissing(msgspec.Struct, frozen=True):
    """There is no such content."""


class BlobDamaged(msgspec.Struct, frozen=True):
    """This one content can't be given back; `sentence` says why. Others are not affected."""

    sentence: str


class BlobTooLarge(msgspec.Struct, frozen=True):
    """Nothing was stored: the content has `size` bytes, and at most `limit` are taken."""

    size: int
    limit: int


class Packed(NamedTuple):
    """A content ready to be stored: the hash's 32 bytes, the size of the raw bytes, what is stored."""

    digest: bytes
    size: int
    codec: str
    data: bytes


class Stored(NamedTuple):
    """The row of a content without its bytes: `content` is the id of the row that has them."""

    size: int
    codec: str
    content: int


def digest_of(sha256: str) -> bytes | None:
    """The 32 bytes of a content's name; `None` for what is no such name."""
    return bytes.fromhex(sha256) if _NAME.fullmatch(sha256) else None


def milliseconds(time: str) -> int:
    """An RFC 3339 time as milliseconds since 1970."""
    return round(datetime.fromisoformat(time).timestamp() * 1000)


def pack(data: bytes) -> Packed:
    """Hash and compress; what does not get smaller is stored raw. Blocks, without holding other threads."""
    digest = hashlib.sha256(data).digest()
    compressed = zstandard.ZstdCompressor(level=_LEVEL).compress(data)
    if len(compressed) < len(data):
        return Packed(digest, len(data), ZSTD, compressed)
    return Packed(digest, len(data), RAW, data)


def unpack(digest: bytes, stored: Stored, data: Any) -> BlobFound | BlobDamaged:
    """Give back the raw bytes, or say why these are not the ones that were put. Blocks."""
    if not isinstance(data, bytes):
        return damaged(digest, "its bytes are gone")
    if stored.codec == ZSTD:
        # Compared first: the size that a damaged frame claims would be allocated.
        try:
            if zstandard.frame_content_size(data) != stored.size:
                return damaged(digest, "its bytes are of another size")
            data = zstandard.ZstdDecompressor().decompress(data)
        except (zstandard.ZstdError, MemoryError):
            return damaged(digest, "its bytes can't be decompressed")
    elif stored.codec != RAW:
        return damaged(digest, "it is stored in a way that is not known here")
    if len(data) != stored.size or hashlib.sha256(data).digest() != digest:
        return damaged(digest, "its bytes are not the ones that were put")
    return BlobFound(data)


def damaged(digest: bytes, reason: str) -> BlobDamaged:
    """One content is damaged, for this reason in a few words."""
    return BlobDamaged(f"The kept content {digest.hex()[:12]} can't be used: {reason}.")
