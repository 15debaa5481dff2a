"""Reads many streams with one look at each folder, so that a thousand more cost a thousand times one.

A file that is made after its folder was looked at may be left out, as if the stream had been read before;
whoever follows what is on the disk finds it new, and reads that stream again. Blocking.
"""

from collections.abc import Container
from pathlib import Path
from typing import Protocol

from resumed.daemon.storage.errors import StreamMissing
from resumed.daemon.storage.layout import Layout, parse_stream
from resumed.daemon.storage.reader import Position, Reading, SentReading
from resumed.daemon.storage.segments import Listing


class _Afresh(Protocol):
    def read(self, stream: str, since: Position | None = None) -> Reading: ...

    def exists(self, stream: str) -> bool: ...


class Glance:
    """The streams of a state folder as they were found together. Those `being_written` by this process are
    read by `afresh`, which knows how much of them is durable, and sees each new file of theirs."""

    def __init__(self, layout: Layout, afresh: _Afresh, being_written: Container[str]) -> None:
        self._layout = layout
        self._afresh = afresh
        self._being_written = being_written
        self._listing = Listing()
        self._sessions: dict[str, Path] | None = None

    def read(self, stream: str, since: Position | None = None) -> Reading:
        """Begin a reading of what was sent. Raises `StreamMissing`."""
        if stream in self._being_written:
            return self._afresh.read(stream, since)
        path = self._find(stream)
        if path is None:
            raise StreamMissing(f"There is no {stream}.")
        return SentReading(path, self._layout.quarantine, since, listing=self._listing)

    def exists(self, stream: str) -> bool:
        """Tell whether the stream holds an event that was sent."""
        if stream in self._being_written:
            return self._afresh.exists(stream)
        try:
            return next(iter(self.read(stream)), None) is not None
        except StreamMissing:
            return False

    def _find(self, stream: str) -> Path | None:
        kind, _ = parse_stream(stream)
        if kind != "session":
            return self._layout.find_stream(stream)
        if self._sessions is None:
            self._sessions = {}
            for name, path in self._layout.first_files(kind):
                self._sessions.setdefault(name, path)
        found = self._sessions.get(stream)
        if found is None or found.exists():
            return found
        # It is in the other place now: put away, or brought back.
        return self._layout.find_stream(stream)
