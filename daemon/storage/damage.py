"""What a stream lost, collected while it is read.

A bad line that a later `note{torn_tail}` names by file, offset, length and SHA-256 is healed: it was
never acknowledged, and is no damage.
"""

from collections.abc import Collection

import msgspec

from resumed.restore.events.journal import Note

FIRST_LINE = "firstLine"
"""The kind of damage that makes a stream one that can only be read."""


class Damage(msgspec.Struct, frozen=True, kw_only=True):
    """Something a stream lost. `kind`: firstLine, badLine, gap, duplicate, chain.

    `seq_before` and `seq_after` are the good events around it (0: there is none before, `None`: none
    after); `offset` and `length` are bytes in the file of that name; `sentence` is for people."""

    kind: str
    file: str
    seq_before: int
    seq_after: int | None
    offset: int
    length: int
    sentence: str


class LooseBytes(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes that are no event: a bad line without its line end, or (`torn`) what follows the last
    line end of the last file. `reason` is a few words."""

    file: str
    offset: int
    length: int
    sha256: str
    reason: str
    torn: bool
    first_line: bool


class DamageLog:
    """Takes what a reader meets, in order. `trailing` holds the loose bytes behind the last event."""

    def __init__(self) -> None:
        self.trailing: list[LooseBytes] = []
        self._found: list[Damage | tuple[LooseBytes, int, int | None]] = []

    def loose(self, loose: LooseBytes, seq_before: int) -> None:
        """Bytes that are no event follow the event `seq_before`."""
        self.trailing.append(loose)
        self._found.append((loose, seq_before, None))

    def note(self, note: Note, file: str) -> None:
        """A note from the file of that name was read; it may heal bad lines."""
        if note.kind != "torn_tail":
            return
        named = note.details
        self._found = [entry for entry in self._found if not _names(named, file, entry)]
        self.trailing = [loose for loose in self.trailing if not _names(named, file, (loose, 0, None))]

    def being_declared(self, declared: Collection[LooseBytes]) -> None:
        """Of these bytes it is known that a writer was about to declare them torn: they are no damage."""
        self._found = [
            entry for entry in self._found if isinstance(entry, Damage) or entry[0] not in declared
        ]

    def event(self, seq_before: int, seq: int, file: str, offset: int) -> None:
        """The good event `seq` follows; between it and `seq_before` something may be missing."""
        if self.trailing:
            self._found = [_settled(entry, seq) for entry in self._found]
            self.trailing = []
        elif seq > seq_before + 1:
            sentence = f"Events {seq_before + 1} to {seq - 1} are missing."
            self._add("gap", file, (seq_before, seq), offset, sentence)

    def duplicate(self, seq_before: int, seq: int, file: str, offset: int) -> None:
        """An event came that was read before."""
        sentence = f"Event {seq} is there again; the first one counts."
        self._add("duplicate", file, (seq_before, seq), offset, sentence)

    def chain(self, seq_before: int, seq: int, file: str, offset: int) -> None:
        """A file does not continue the one before it."""
        sentence = f"Event {seq_before} is not the one that the file after it continues."
        self._add("chain", file, (seq_before, seq), offset, sentence)

    def damage(self) -> tuple[Damage, ...]:
        """Everything that is not healed. A torn end is none: nobody was told that it was written."""
        return tuple(
            entry if isinstance(entry, Damage) else _of_line(*entry)
            for entry in self._found
            if isinstance(entry, Damage) or not entry[0].torn
        )

    def _add(self, kind: str, file: str, around: tuple[int, int], offset: int, sentence: str) -> None:
        before, after = around
        self._found.append(
            Damage(
                kind=kind,
                file=file,
                seq_before=before,
                seq_after=after,
                offset=offset,
                length=0,
                sentence=sentence,
            )
        )


_Entry = Damage | tuple[LooseBytes, int, int | None]


def _settled(entry: _Entry, seq: int) -> _Entry:
    if isinstance(entry, Damage) or entry[2] is not None:
        return entry
    return entry[0], entry[1], seq


def _names(named: dict[str, object], file: str, entry: _Entry) -> bool:
    if isinstance(entry, Damage):
        return False
    loose = entry[0]
    return (
        named.get("file", file) == loose.file
        and named.get("offset") == loose.offset
        and named.get("length") == loose.length
        and named.get("sha256") == loose.sha256
    )


def _of_line(loose: LooseBytes, before: int, after: int | None) -> Damage:
    if loose.first_line:
        where = "The first line"
    elif after is None:
        where = f"A line after event {before}"
    else:
        where = f"A line between events {before} and {after}"
    return Damage(
        kind=FIRST_LINE if loose.first_line else "badLine",
        file=loose.file,
        seq_before=before,
        seq_after=after,
        offset=loose.offset,
        length=loose.length,
        sentence=f"{where} can't be read: {loose.reason}.",
    )
