"""Codex's session files: found by name, listed from head and tail, read as a stream. Never written."""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from resumed.daemon.agents.agent import ForeignHead
from resumed.daemon.agents.codex.head import read_head
from resumed.daemon.agents.codex.names import plain_name
from resumed.daemon.agents.codex.translate import TRANSLATOR_VERSION, Translator
from resumed.daemon.agents.reading import ForeignCursor, ForeignReading

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
        try:
            with open_rollout(path, 0) as source:
                return read_head(path, source, archived=path.parent == self._archived)
        except OSError:
            return None

    def read(self, path: Path, cursor: ForeignCursor | None = None) -> ForeignReading:
        """The file's events, from the beginning or from a cursor of the same translator version.

        Raises `OSError` on iteration if the file is gone.
        """
        translator = Translator(plain_name(path.name), cursor.state if cursor else None)
        return ForeignReading(lambda offset: open_rollout(path, offset), translator, cursor)


def open_rollout(path: Path, offset: int) -> BinaryIO:
    """Open a rollout for reading at an offset of its uncompressed bytes."""
    if path.suffix != ".zst":
        plain = path.open("rb", buffering=_BUFFER)
        plain.seek(offset)
        return plain
    from zstandard import ZstdDecompressor

    stream = ZstdDecompressor().stream_reader(path.open("rb"), read_across_frames=True, closefd=True)
    source = io.BufferedReader(stream, _BUFFER)
    while offset > 0 and (passed := len(source.read(min(offset, _BUFFER)))):
        offset -= passed
    return source


def _newest_first(paths: Iterator[Path]) -> list[Path]:
    found = {path.name: path for path in paths if path.name.endswith((".jsonl", ".jsonl.zst"))}
    shown = [
        path for name, path in found.items() if plain_name(name) == name or plain_name(name) not in found
    ]
    return sorted(shown, key=lambda path: path.name, reverse=True)
