"""Worktree streams in memory, as identities need them."""

from collections.abc import Iterator

from resumed.restore.events.envelope import Event


class MemoryStreams:
    """Streams by name; each holds the events it was created with."""

    def __init__(self) -> None:
        self.streams: dict[str, list[Event]] = {}

    def ids(self, kind: str) -> Iterator[str]:
        """The names of all streams of a kind."""
        return (name for name in list(self.streams) if name.startswith(f"{kind}:"))

    def read(self, stream: str) -> Iterator[Event]:
        """The events of a stream, from the first."""
        return iter(self.streams[stream])

    async def create(self, stream: str, first: Event) -> None:
        """Create a stream; fails the test when there is one."""
        assert stream not in self.streams, f"{stream} exists"
        self.streams[stream] = [first]
