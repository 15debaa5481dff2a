"""The portable file of one conversation: a tar archive of plain files, compressed with zstd.

Any `tar` reads it. We read it strictly: only what we write ourselves is taken, member by member in the
order that its manifest gives, and nothing of the archive becomes a path before its name was checked.
"""

import hashlib
import tarfile
from collections.abc import Callable, Iterable
from typing import BinaryIO

import zstandard

LEVEL = 6
MAX_WINDOW_BYTES = 1 << 25
CHUNK_BYTES = 1 << 20

_BLOCK = tarfile.BLOCKSIZE
# Two kilobytes of input make at most 64 MiB of output, whoever made them.
_INPUT_BYTES = 1 << 11

Sink = Callable[[bytes], object]


class ContainerDamaged(Exception):
    """The file is not one that we wrote, or not all of it is there; the argument says what is wrong."""


class ContainerWriter:
    """Writes members to an open file. The same members give the same bytes. Raises `OSError`; blocks."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._compression = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True).compressobj()

    def add(self, name: str, size: int, parts: Iterable[bytes]) -> None:
        """Add a file of exactly `size` bytes. Raises `ValueError` when the parts have others, or when no
        archive can hold it."""
        self._write(_header(name, size))
        written = 0
        for part in parts:
            written += len(part)
            self._write(part)
        if written != size:
            raise ValueError(f"{name} has {written} bytes instead of {size}")
        self._write(bytes(-size % _BLOCK))

    def close(self) -> None:
        """Write the end. A file without it is damaged."""
        self._write(bytes(2 * _BLOCK))
        self._file.write(self._compression.flush())

    def _write(self, data: bytes) -> None:
        self._file.write(self._compression.compress(data))


class ContainerReader:
    """Reads members of an open file in order. Memory stays bounded whatever the file holds. Raises
    `ContainerDamaged` and `OSError`; blocks."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        decompressor = zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW_BYTES)
        self._decompression = decompressor.decompressobj()
        self._buffer = bytearray()

    def enter(self, name: str, size: int | None = None, limit: int | None = None) -> int:
        """Go to the next member, which must be a plain file of this name, and of this size or of at most
        `limit` bytes; returns its size. All of the member before has been read."""
        block = self._exactly(_BLOCK)
        try:
            header = tarfile.TarInfo.frombuf(block, "ascii", "strict")
        except (tarfile.HeaderError, UnicodeError, ValueError) as error:
            raise ContainerDamaged(f"{name} is missing: {error}") from error
        if header.name != name:
            raise ContainerDamaged(f"there is {header.name[:100]!r} in the place of {name}")
        if header.type != tarfile.REGTYPE or header.linkname:
            raise ContainerDamaged(f"{name} is no plain file")
        if size is not None and header.size != size:
            raise ContainerDamaged(f"{name} has {header.size} bytes instead of {size}")
        if header.size < 0 or (limit is not None and header.size > limit):
            raise ContainerDamaged(f"{name} is too large: {header.size} bytes")
        return header.size

    def read(self, size: int, sink: Sink) -> str:
        """Give the bytes of the member that was entered to `sink`, part by part; returns their SHA-256."""
        digest = hashlib.sha256()
        for start in range(0, size, CHUNK_BYTES):
            part = self._exactly(min(CHUNK_BYTES, size - start))
            digest.update(part)
            sink(part)
        if any(self._exactly(-size % _BLOCK)):
            raise ContainerDamaged("there is something between two of its members")
        return digest.hexdigest()

    def end(self) -> None:
        """Check that nothing follows the last member."""
        if any(self._exactly(2 * _BLOCK)):
            raise ContainerDamaged("it holds more than it says")
        while not self._buffer and self._fill():
            pass
        if self._buffer:
            raise ContainerDamaged("there is something behind its end")

    def _exactly(self, count: int) -> bytes:
        while len(self._buffer) < count:
            if not self._fill():
                raise ContainerDamaged("its end is missing")
        part = bytes(self._buffer[:count])
        del self._buffer[:count]
        return part

    def _fill(self) -> bool:
        """Decompress some more; false when there is no more, all of which was there."""
        data = self._file.read(_INPUT_BYTES)
        if self._decompression.eof:
            if data or self._decompression.unused_data:
                raise ContainerDamaged("there is something behind its end")
            return False
        if not data:
            raise ContainerDamaged("its end is missing")
        try:
            self._buffer += self._decompression.decompress(data)
        except (zstandard.ZstdError, MemoryError) as error:
            raise ContainerDamaged(f"it can't be decompressed ({error})") from error
        return True


def _header(name: str, size: int) -> bytes:
    info = tarfile.TarInfo(name)
    info.size, info.mode = size, 0o600
    return info.tobuf(tarfile.USTAR_FORMAT, "ascii", "strict")
