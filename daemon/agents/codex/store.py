"""Codex's session files: found by name, listed from head and tail, read as a stream. Never written."""

import errno
import io
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from resumed.daemon.agents.agent import ForeignHead
from resumed.daemon.agents.codex.head import read_head, unread_head
from resumed.daemon.agents.codex.names import plain_name
from resumed.daemon.agents.codex.translate import TRANSLATOR_VERSION, Translator
from resumed.daemon.agents.reading import ForeignCursor, ForeignReading, open_plain
from resumed.daemon.ports.regular import open_regular

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_BUFFER = 1 << 20


class CodexStore:
    """The sessions under one Codex home."""

    translator_version = TRANSLATOR_VERSION

    def __init__(self, home: Path) -> None:
        self._sessions = home / "sessions"
        self._archived = home / "archived_sessions"

    def files(self) -> Iterator[Path]:
        """Every rollout, newest start first, archived ones last; of a compressed and a plain copy the
        plain one, which the agent prefers too."""
        yield from _newest_first(self._sessions.glob("*/*/*/rollout-*.jsonl*"))
        yield from _newest_first(self._archived.glob("rollout-*.jsonl*"))

    def head(self, path: Path) -> ForeignHead | None:
        """What a list shows; a few pages of the file are read, whatever its size."""
        archived = path.parent == self._archived
        try:
            with open_rollout(path, 0) as source:
                return read_head(path, source, archived)
        except FileNotFoundError:
            return None
        except OSError as error:
            return unread_head(path, error, archived)

    def read(self, path: Path, cursor: ForeignCursor | None = None) -> ForeignReading:
        """The file's events, from the beginning or from a cursor of the same translator version.

        Raises `OSError` on iteration if the file is gone or cannot be read.
        """
        translator = Translator(plain_name(path.name), cursor.state if cursor else None)
        return ForeignReading(lambda offset: open_rollout(path, offset), translator, cursor)


def open_rollout(path: Path, offset: int) -> BinaryIO:
    """Open a rollout for reading at an offset of its uncompressed bytes. Opening and reading raise
    `OSError`, of a damaged compression too."""
    if path.suffix != ".zst":
        return open_plain(path, offset)
    source = io.BufferedReader(_Decompressed(open_regular(path)), _BUFFER)
    while offset > 0 and (passed := len(source.read(min(offset, _BUFFER)))):
        offset -= passed
    return source


class _Decompressed(io.RawIOBase):
    """The bytes of a compressed file; what is wrong with the compression is a failure to read."""

    def __init__(self, compressed: BinaryIO) -> None:
        from zstandard import ZstdDecompressor

        self._compressed = compressed
        self._stream = ZstdDecompressor().stream_reader(compressed, read_across_frames=True, closefd=False)

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        """Fill the buffer."""
        from zstandard import ZstdError

        try:
            return self._stream.readinto(buffer)
        except ZstdError as error:
            raise OSError(errno.EIO, "its compression is damaged") from error

    def close(self) -> None:
        """Close the file too."""
        self._compressed.close()
        super().close()


def _newest_first(paths: Iterator[Path]) -> list[Path]:
    found = {path.name: path for path in paths if path.name.endswith((".jsonl", ".jsonl.zst"))}
    shown = [
        path for name, path in found.items() if plain_name(name) == name or plain_name(name) not in found
    ]
    return sorted(shown, key=lambda path: path.name, reverse=True)
