"""The events of the line at hand: envelope, identities and order.

The first event of a line has the line's own reference, further ones a suffix, so that every event
id is unique and the same on each reading.
"""

from resumed.daemon.agents.codex.lines import Line, Payload
from resumed.daemon.agents.codex.state import HeldMessage, TranslatorState
from resumed.daemon.agents.identity import derived_id, namespace
from resumed.restore.events import envelope
from resumed.restore.events.envelope import Event, Source, SourceKind
from resumed.restore.events.session import EntryAdded

AGENT = "codex"
MAX_TEXT = 4 * 1024
MAX_MESSAGE = 16 * 1024
_SPACE = namespace(AGENT)


class Emitter:
    """Collects the events of one line after another for one file."""

    def __init__(self, file_name: str, state: TranslatorState) -> None:
        self.state = state
        self.events: list[Event] = []
        self.offset = 0
        self.file_name = file_name
        self.compaction_output = False
        self._prefix = f"{AGENT}:{file_name}:"
        self._session = ""
        self._session_space = _SPACE
        self._origin = ""
        self._origin_space = _SPACE
        self._seq = 0
        self._ts = ""
        self._first = 0

    def at_line(self, offset: int, line: Line[Payload]) -> None:
        """Events are of this line from here on."""
        self.compaction_output = line.metadata is not None and line.metadata.compaction_output
        self.offset = offset
        self._seq = self.state.lines if line.ordinal is None else line.ordinal + 1
        self._ts = line.timestamp
        self._first = len(self.events)

    def add(self, payload: envelope.Payload, *, op: str | None = None, entry: str | None = None) -> None:
        """Add an event, in the open turn."""
        number = len(self.events) - self._first
        ref = f"{self._prefix}{self.offset}#{number}" if number else f"{self._prefix}{self.offset}"
        state = self.state
        self.events.append(
            Event(
                payload=payload,
                event_id=derived_id(_SPACE, ref),
                src=Source(SourceKind.STORE, ref),
                seq=self._seq,
                ts=self._ts,
                at=self._ts,
                turn=state.turn,
                op=op,
                id=entry,
                parent_id=state.leaf if entry else None,
            )
        )

    def entry(self, kind: str, role: str, text: str, display: bool = True, op: str | None = None) -> str:
        """Add an entry of the conversation after the one before; its text is bounded here."""
        limit = MAX_MESSAGE if kind == "message" else MAX_TEXT
        entry_id = self.origin_id(str(self.offset))
        self.add(EntryAdded(kind=kind, role=role, text=text[:limit], display=display), op=op, entry=entry_id)
        self.state.leaf = entry_id
        return entry_id

    def hold(self, text: str) -> None:
        """Keep a message back until the next line says whose it is."""
        self.state.held = HeldMessage(text[:MAX_MESSAGE], self.offset, self._seq, self._ts)

    def add_held(self, held: HeldMessage) -> None:
        """Add a message that was held back, as context, at its own line."""
        self.offset, self._seq, self._ts = held.offset, held.seq, held.ts
        self._first = len(self.events)
        self.entry("context", "user", held.text, display=False)

    def origin_id(self, name: str) -> str:
        """An id in the thread that wrote the line, so that a fork's copy has its parent's ids."""
        if self._origin != self.state.origin:
            self._origin = self.state.origin
            self._origin_space = namespace(self._origin)
        return derived_id(self._origin_space, name)

    def operation_id(self, call_id: str) -> str:
        """The id of a tool call."""
        return derived_id(_SPACE, f"{call_id}:{self.state.origin}")

    def turn_id(self, native: str | None) -> str:
        """Our id of a turn; a turn without an id of its own gets one from its place."""
        if self._session != self.state.session:
            self._session = self.state.session
            self._session_space = namespace(self._session)
        return derived_id(self._session_space, native or f"turn at {self.offset}")
