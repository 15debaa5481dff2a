"""What the shell may rely on of whoever keeps streams and contents.

Use these types where something is given a store; which files there are is known to `streams` and
`blobs` alone. An append or a put that has returned is durable.
"""

from collections.abc import Collection, Iterator
from typing import Protocol

from resumed.daemon.storage.appender import Appended
from resumed.daemon.storage.blob_rows import BlobDamaged, BlobFound, BlobMissing, BlobTooLarge
from resumed.daemon.storage.damage import Damage, LooseBytes
from resumed.daemon.storage.reader import Position
from resumed.restore.events.envelope import Event


class StreamReading(Protocol):
    """One pass over the events of a stream, in order. What it found is complete when it has ended."""

    @property
    def position(self) -> Position | None:
        """Behind the last event read; the next reading may go on from there."""
        ...

    @property
    def restarted(self) -> bool:
        """Whether the position to go on from is not there (any more), so that all events are read."""
        ...

    @property
    def seq(self) -> int:
        """The last event's `seq`; 0 before the first."""
        ...

    @property
    def damage(self) -> tuple[Damage, ...]:
        """What is missing, unreadable or there twice."""
        ...

    @property
    def trailing(self) -> tuple[LooseBytes, ...]:
        """Bytes behind the last event that are no event."""
        ...

    def __iter__(self) -> Iterator[Event]: ...


class StreamReader(Protocol):
    """Streams by name, to be read. Raises the refusals of `errors`."""

    def read(self, stream: str, since: Position | None = None) -> StreamReading:
        """Begin a reading of what is durable, on from a position if it is still there. Blocks."""
        ...

    def exists(self, stream: str) -> bool:
        """Tell whether the stream holds an event that was sent. Blocks."""
        ...


class StreamStore(StreamReader, Protocol):
    """Streams by name, each with one writer at a time. Raises the refusals of `errors`."""

    async def create(self, stream: str, first: Event, *more: Event) -> Appended:
        """Create a stream with its meta event and with more after it, all or none; the same again is
        answered."""
        ...

    async def append(self, stream: str, *events: Event) -> tuple[Appended, ...]:
        """Append events in order, contiguously, all or none; those sent before are answered."""
        ...

    def glance(self) -> StreamReader:
        """Begin to read many streams at a lower cost for each; what is begun after this may not be seen."""
        ...

    def ids(self, kind: str) -> Iterator[str]:
        """Yield the names of all streams of a kind. Blocks."""
        ...

    async def release(self, stream: str) -> None:
        """Stop being the stream's writer, until something is appended here again."""
        ...

    async def close(self) -> None:
        """Finish what was submitted and take in nothing more."""
        ...


class BlobStore(Protocol):
    """Contents by the SHA-256 of their bytes, as 64 hexadecimal digits. Raises the refusals of `errors`."""

    async def put(self, data: bytes) -> str | BlobTooLarge:
        """Keep a content and return its name."""
        ...

    async def get(self, sha256: str) -> BlobFound | BlobMissing | BlobDamaged:
        """Give back a content, verified."""
        ...

    async def absent(self, names: Collection[str]) -> tuple[str, ...]:
        """Return which contents are not durable, and keep the others from being collected."""
        ...

    async def close(self) -> None:
        """Finish what is being stored and take in nothing more."""
        ...
