"""Frames on a byte stream: LSP base framing, or one JSON text per line.

The first byte of a message decides (`{` or `[` begins a line), and a reply goes out in the framing
that its client used last. Bodies are bytes here; nothing in this file knows JSON.
"""

import asyncio
import enum
import re
from typing import NamedTuple

MAX_FRAME = 64 * 1024 * 1024
_MAX_HEADERS = 16 * 1024
_CHUNK = 256 * 1024
_BLANK = b"\r\n\t "
_LONGEST_NUMBER = 18
_HEADERS_END = re.compile(rb"\r?\n\r?\n")


class Framing(enum.Enum):
    """How a client marks where a message ends."""

    HEADERS = "headers"
    LINES = "lines"


class Frame(NamedTuple):
    """One message's bytes and the framing it came in."""

    body: bytes
    framing: Framing


class FramingError(Exception):
    """Bytes that are no frame; where the next one begins is unknown. `args[0]` is a sentence."""


class FrameTooLarge(FramingError):
    """A frame over the limit; its bytes are not kept."""


class FrameReader:
    """Reads frames from a stream, at most `limit` bytes of body each."""

    def __init__(self, stream: asyncio.StreamReader, limit: int = MAX_FRAME) -> None:
        self._stream = stream
        self._limit = limit
        self._buffer = bytearray()
        self.framing = Framing.HEADERS

    async def read(self) -> Frame | None:
        """Return the next frame, or `None` when the stream ends (also in the middle of a frame).

        Raises `FrameTooLarge`, `FramingError`; after either the stream cannot be read on.
        """
        if not await self._skip_blank():
            return None
        if self._buffer[0] in b"{[":
            self.framing = Framing.LINES
            body = await self._line()
        else:
            self.framing = Framing.HEADERS
            body = await self._after_headers()
        return None if body is None else Frame(body, self.framing)

    async def discard(self) -> None:
        """Read the rest of the stream away, so that a last answer still reaches the sender."""
        self._buffer.clear()
        while await self._stream.read(_CHUNK):
            pass

    async def _fill(self) -> bool:
        chunk = await self._stream.read(_CHUNK)
        self._buffer += chunk
        return bool(chunk)

    async def _skip_blank(self) -> bool:
        while True:
            blank = len(self._buffer) - len(self._buffer.lstrip(_BLANK))
            del self._buffer[:blank]
            if self._buffer:
                return True
            if not await self._fill():
                return False

    async def _line(self) -> bytes | None:
        searched = 0
        while (end := self._buffer.find(b"\n", searched)) < 0:
            searched = len(self._buffer)
            self._refuse_over_limit(searched)
            if not await self._fill():
                return None
        self._refuse_over_limit(end)
        return self._take(end + 1)[:-1]

    async def _after_headers(self) -> bytes | None:
        searched = 0
        while (end := _HEADERS_END.search(self._buffer, searched)) is None:
            if len(self._buffer) > _MAX_HEADERS:
                raise FramingError("The headers of a message are longer than 16 KiB.")
            self._refuse_headerless()
            searched = max(0, len(self._buffer) - 3)
            if not await self._fill():
                return None
        headers = self._take(end.end())[: end.start()]
        length = content_length(headers)
        self._refuse_over_limit(length)
        while len(self._buffer) < length:
            if not await self._fill():
                return None
        return self._take(length)

    def _refuse_headerless(self) -> None:
        """Refuse a first line without a colon at once: waiting for more of it would wait for ever."""
        first, newline, _ = self._buffer.partition(b"\n")
        if newline and b":" not in first:
            raise FramingError("A message must begin with a header line or with '{'.")

    def _refuse_over_limit(self, length: int) -> None:
        if length > self._limit:
            raise FrameTooLarge(f"A message may hold at most {self._limit // (1024 * 1024)} MiB.")

    def _take(self, count: int) -> bytes:
        taken = bytes(self._buffer[:count])
        del self._buffer[:count]
        return taken


def content_length(headers: bytes) -> int:
    """Return the body's length from a block of header lines; names in any case, unknown ones ignored.

    Raises `FramingError` when it is missing, twice with different values, or no plain number.
    """
    lengths: set[int] = set()
    for line in headers.splitlines():
        name, colon, value = line.partition(b":")
        if not colon:
            raise FramingError("A header line has no colon.")
        if name.strip().lower() != b"content-length":
            continue
        number = value.strip()
        if not number.isdigit() or len(number) > _LONGEST_NUMBER:
            raise FramingError("Content-Length is not a number.")
        lengths.add(int(number))
    if len(lengths) != 1:
        raise FramingError("A message needs one Content-Length header.")
    return lengths.pop()


def frame(body: bytes, framing: Framing) -> bytes:
    """Return the bytes to send for one message."""
    match framing:
        case Framing.HEADERS:
            return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
        case Framing.LINES:
            return body + b"\n"
