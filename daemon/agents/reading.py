"""Reading a foreign file line by line: bounded memory, damage counted, continued where it ended.

A line that cannot be read is passed over and told; it never ends the reading. A last line that is
cut off is left for the next reading, since the agent may still be writing it.
"""

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, Protocol

import msgspec

from resumed.daemon.ports.regular import open_regular
from resumed.restore.events.envelope import Event
from resumed.restore.wording import count

MAX_LINE = 64 * 1024 * 1024
_MAX_SENTENCES = 20
PREFIX_MADE = "ends1:"
"""Begins every `prefix_hash`: how it was made. One that was made otherwise is not comparable."""

_PREFIX_HEAD = 1 << 20
_PREFIX_TAIL = 1 << 16
_BUFFER = 1 << 20

Opener = Callable[[int], BinaryIO]


class UnreadableLine(Exception):
    """A line that holds no event we can take. `args[0]` says what is wrong with it, for people."""


class LineTranslator(Protocol):
    """Turns lines into events, and can be put aside between two of them."""

    def feed(self, line: bytes, offset: int) -> list[Event]:
        """The events of one line. Raises `UnreadableLine`; the state is then as before the line."""
        ...

    def snapshot(self) -> bytes:
        """The state, to continue after this line."""
        ...


class ForeignCursor(msgspec.Struct, frozen=True, kw_only=True):
    """Where a reading ended: the byte offset of the next line, and the translator's state there."""

    offset: int
    state: bytes
    skipped_lines: int = 0


class ForeignReading:
    """One pass over a file: iterate over its events, then ask what was passed over.

    It can be iterated once. `opener` opens the file for reading at a byte offset. `offset` is where
    the next reading begins.
    """

    def __init__(self, opener: Opener, translator: LineTranslator, cursor: ForeignCursor | None) -> None:
        self._opener = opener
        self._translator = translator
        self._sentences: list[str] = []
        self._lines_read = 0
        self._from_start = cursor is None
        self.offset = cursor.offset if cursor else 0
        self.skipped_lines = cursor.skipped_lines if cursor else 0

    def __iter__(self) -> Iterator[Event]:
        with self._opener(self.offset) as source:
            while line := source.readline(MAX_LINE):
                if line[-1:] != b"\n" and len(line) == MAX_LINE:
                    self._pass_over_long_line(source, len(line))
                    continue
                start, self.offset = self.offset, self.offset + len(line)
                self._lines_read += 1
                try:
                    events = self._translator.feed(line, start)
                except UnreadableLine as problem:
                    events = self._damaged(line, start, str(problem))
                yield from events

    @property
    def damage(self) -> tuple[str, ...]:
        """One sentence for each kind of damage or damaged line, the first 20; then how many more."""
        more = len(self._sentences) - _MAX_SENTENCES
        shown = tuple(self._sentences[:_MAX_SENTENCES])
        return (*shown, f"{more} more lines cannot be read.") if more > 0 else shown

    def prefix_hash(self, offset: int) -> str:
        """What stands for the first `offset` bytes of what is read, as they are now. Raises `OSError`."""
        return prefix_hash(self._opener, offset)

    def cursor(self) -> ForeignCursor:
        """Where to continue once the iteration has ended."""
        return ForeignCursor(
            offset=self.offset, state=self._translator.snapshot(), skipped_lines=self.skipped_lines
        )

    def _damaged(self, line: bytes, start: int, problem: str) -> list[Event]:
        if line[-1:] != b"\n":
            self.offset = start
            self._sentences.append(self._torn(line, start))
            return []
        if line.isspace():
            return []
        self._tell(start, problem)
        return self._rescued(line, start)

    def _rescued(self, line: bytes, start: int) -> list[Event]:
        """A whole line glued to the half of another one is taken."""
        glued = line.rfind(b'{"timestamp":"', 1)
        if glued < 0:
            return []
        try:
            return self._translator.feed(line[glued:], start + glued)
        except UnreadableLine:
            return []

    def _pass_over_long_line(self, source: BinaryIO, length: int) -> None:
        start = self.offset
        while rest := source.readline(MAX_LINE):
            length += len(rest)
            if rest[-1:] == b"\n":
                break
        self._lines_read += 1
        self.offset = start + length
        self._tell(start, f"is longer than {MAX_LINE >> 20} MiB")

    def _tell(self, start: int, problem: str) -> None:
        self.skipped_lines += 1
        self._sentences.append(f"{self._where(start)} {problem}; it was passed over.")

    def _where(self, start: int) -> str:
        return f"Line {self._lines_read}" if self._from_start else f"The line at byte {start}"

    def _torn(self, line: bytes, start: int) -> str:
        if not line.strip(b"\0"):
            return f"The file ends in {len(line)} NUL bytes after byte {start}."
        return f"The last line is cut off after {count(len(line), 'byte')} (at byte {start})."


def reason_of(error: OSError) -> str:
    """Why a file cannot be read, as part of a sentence."""
    return error.strerror or type(error).__name__


def open_plain(path: Path, offset: int) -> BinaryIO:
    """Open a file that is not compressed for reading at a byte offset. Raises `OSError`."""
    source = open_regular(path, _BUFFER)
    source.seek(offset)
    return source


def prefix_hash(opener: Opener, offset: int) -> str:
    """Stands for the first `offset` bytes that the opener gives: the SHA-256 of their length, the first
    MiB and the last 64 KiB of them. Raises `OSError`.

    Of a compressed file these are the bytes that were compressed, so that the file keeps its hash when
    it is compressed or moved. Cheap for any length, and different when the file was replaced, rewritten
    or shortened; a change of equal length is seen where it touches what is hashed.
    """
    digest = hashlib.sha256(str(offset).encode())
    for start, length in ((0, _PREFIX_HEAD), (max(0, offset - _PREFIX_TAIL), _PREFIX_TAIL)):
        with opener(start) as source:
            digest.update(source.read(min(offset, length)))
    return PREFIX_MADE + digest.hexdigest()
