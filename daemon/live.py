"""A run that an agent has open here: its lease, its stream, and the thread's states kept up to date."""

import uuid

from resumed.daemon.storage.lease import Lease
from resumed.daemon.storage.streams import Streams
from resumed.protocol.errors import ErrorCode, ResumedError
from resumed.restore.events.envelope import Event, Payload, Source, SourceKind
from resumed.restore.lifecycle import Lifecycle, LifecycleState
from resumed.restore.operation_state import OperationsState
from resumed.restore.place import WorktreeState
from resumed.restore.snapshot import Fold, Record
from resumed.restore.subsystems import SUBSYSTEMS


class Live:
    """One open run. Events go through `append`, so that the states never lag what is durable."""

    def __init__(self, streams: Streams, thread_id: str, session_id: str, client: str, lease: Lease) -> None:
        self.thread_id = thread_id
        self.session_id = session_id
        self.client = client
        self.lease = lease
        self.lifecycle = LifecycleState()
        self.last_durable = 0
        self._streams = streams
        self._fold = Fold(SUBSYSTEMS)
        self._turns = Lifecycle()

    @property
    def stream(self) -> str:
        """The run's stream."""
        return f"session:{self.session_id}"

    @property
    def operations(self) -> OperationsState:
        """The thread's operations so far."""
        state: OperationsState = self._fold.states["operations"]
        return state

    @property
    def place(self) -> WorktreeState:
        """Where the run is."""
        state: WorktreeState = self._fold.states["worktree"]
        return state

    def begin_from(self, record: Record, lifecycle: LifecycleState) -> None:
        """Take over what earlier runs of the thread folded."""
        self._fold = Fold(SUBSYSTEMS, dict(record.states))
        self.lifecycle = lifecycle

    async def append(self, *payloads: Payload, turn: str | None = None) -> int:
        """Make events of ours durable and fold them. Returns the last `seq`."""
        events = [event_of(payload, turn=turn) for payload in payloads]
        appended = await self.append_events(*events)
        return appended[-1][0]

    async def append_events(self, *events: Event) -> list[tuple[int, bool]]:
        """Make events durable and fold those that are new. Returns `seq` and whether it was a repeat."""
        appended = await self._streams.append(self.stream, *events)
        for event, result in zip(events, appended, strict=True):
            if not result.repeated:
                self._fold.feed(event)
                self.lifecycle = self._turns.apply(self.lifecycle, event)
        self.last_durable = max(self.last_durable, appended[-1].seq)
        return [(result.seq, result.repeated) for result in appended]

    def recorded(self, event_id: str) -> Event | None:
        """The event of that id, if this run holds it. Reads the run's stream."""
        return next((e for e in self._streams.read(self.stream) if e.event_id == event_id), None)

    def state(self, name: str) -> object:
        """What that subsystem folded."""
        return self._fold.states[name]


def event_of(
    payload: Payload, *, event_id: str | None = None, turn: str | None = None, at: str | None = None
) -> Event:
    """An event that a direct agent sent, or that we note for it."""
    return Event(
        payload=payload,
        event_id=event_id or str(uuid.uuid4()),
        src=Source(SourceKind.DIRECT, "direct"),
        turn=turn,
        at=at,
    )


def not_open(session_id: str) -> ResumedError:
    """No run of that id is open for this client."""
    return ResumedError(
        ErrorCode.SESSION_NOT_FOUND,
        f"No session {session_id} is open on this connection.",
        "Call session/start first; with its session_id an open one is taken up again.",
    )
