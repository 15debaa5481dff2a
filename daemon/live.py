"""A run that an agent has open here: its lease, its streams, and the thread's states kept up to date."""

import asyncio
import contextlib
import uuid
from collections.abc import Coroutine, Iterator
from typing import Any, TypeVar

import msgspec

from resumed.daemon.masking import Masker
from resumed.daemon.storage.errors import StreamMissing
from resumed.daemon.storage.lease import Lease
from resumed.daemon.storage.stores import StreamStore
from resumed.daemon.uninterrupted import uninterrupted
from resumed.protocol.errors import ErrorCode, ResumedError
from resumed.restore.events.envelope import Event, Payload, Source, SourceKind
from resumed.restore.events.session import (
    EntryAdded,
    OperationBegun,
    OperationSettled,
    TurnEnded,
    TurnStarted,
)
from resumed.restore.lifecycle import Lifecycle, LifecycleState
from resumed.restore.operation_state import OperationsState
from resumed.restore.place import WorktreeState
from resumed.restore.snapshot import Fold, Record
from resumed.restore.subsystems import SUBSYSTEMS

Written = TypeVar("Written")


class TurnOnRecord(msgspec.Struct, frozen=True):
    """What the thread's own streams hold of one turn; `ended` is `None` for one without an end,
    `answer` the text that it ended with."""

    begun: bool
    ended: TurnEnded | None
    answer: str = ""


class OperationOnRecord(msgspec.Struct, frozen=True):
    """What the thread's own streams hold of one operation."""

    begun: OperationBegun | None
    settled: OperationSettled | None


class Writing(msgspec.Struct, frozen=True):
    """What every run writes with: the streams, and what takes secrets out before."""

    streams: StreamStore
    masker: Masker


class Live:
    """One open run. Events go through `append`, so that the states never lag what is durable, even
    when the request that brought them is cancelled. After `close` it takes nothing more."""

    def __init__(self, writing: Writing, thread_id: str, session_id: str, client: str, lease: Lease) -> None:
        self.thread_id = thread_id
        self.session_id = session_id
        self.client = client
        self.lease = lease
        self.lifecycle = LifecycleState()
        self.last_durable = 0
        self.masker = writing.masker
        self._streams = writing.streams
        self._fold = Fold(SUBSYSTEMS)
        self._turns = Lifecycle()
        self._writing: set[asyncio.Task[Any]] = set()
        self._closed = False

    @property
    def stream(self) -> str:
        """The run's stream."""
        return f"session:{self.session_id}"

    @property
    def thread(self) -> str:
        """The thread's stream."""
        return f"thread:{self.thread_id}"

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
        """Take over what the thread folded so far, this run with it."""
        self._fold = Fold(SUBSYSTEMS, dict(record.states))
        self.lifecycle = lifecycle
        self.last_durable = record.through.get(self.stream, self.last_durable)

    async def append(self, *payloads: Payload, turn: str | None = None) -> int:
        """Make events of ours durable and fold them. Returns the last `seq`."""
        events = [event_of(payload, turn=turn) for payload in payloads]
        appended = await self.append_events(*events)
        return appended[-1][0]

    async def append_events(self, *events: Event) -> list[tuple[int, bool]]:
        """Make events durable and fold those that are new. Returns `seq` and whether it was a repeat."""
        return await self._write(self._append(events))

    async def append_to_thread(self, event: Event) -> None:
        """Make an event durable in the thread's own stream, and fold it."""
        await self._write(self._append_to_thread(event))

    async def close(self) -> None:
        """Refuse every later append, and wait for those that are under way."""
        self._closed = True
        while self._writing:
            await asyncio.wait(self._writing)

    def recorded(self, event_id: str) -> Event | None:
        """The event of that id, if this run holds it. Blocks: reads the run's stream."""
        return next((e for e in self._streams.read(self.stream) if e.event_id == event_id), None)

    def turn_on_record(self, turn_id: str, sessions: tuple[str, ...]) -> TurnOnRecord:
        """The turn as these runs of the thread hold it. Blocks: reads their streams."""
        begun, ended, answer, texts = False, None, "", {}
        for event in self._of_runs(sessions):
            match event.payload:
                case TurnStarted(turn_id=started) if started == turn_id:
                    begun = True
                case EntryAdded(text=text) if event.turn == turn_id:
                    texts[event.id] = text
                case TurnEnded(turn_id=over) as payload if over == turn_id:
                    ended, answer = payload, texts.get(payload.final_entry, "")
        return TurnOnRecord(begun, ended, answer)

    def operation_on_record(self, operation_id: str, sessions: tuple[str, ...]) -> OperationOnRecord:
        """The operation as these runs of the thread hold it. Blocks: reads their streams."""
        begun, settled = None, None
        for event in self._of_runs(sessions):
            match event.payload:
                case OperationBegun(operation_id=named) as payload if named == operation_id:
                    begun = begun or payload
                case OperationSettled(operation_id=named) as payload if named == operation_id:
                    settled = payload
        return OperationOnRecord(begun, settled)

    def _of_runs(self, sessions: tuple[str, ...]) -> Iterator[Event]:
        for session_id in sessions:
            with contextlib.suppress(StreamMissing):
                yield from self._streams.read(f"session:{session_id}")

    def state(self, name: str) -> Any:
        """What that subsystem folded."""
        return self._fold.states[name]

    async def _write(self, work: Coroutine[Any, Any, Written]) -> Written:
        if self._closed:
            work.close()
            raise not_open(self.session_id)
        writing = asyncio.create_task(work)
        self._writing.add(writing)
        writing.add_done_callback(self._writing.discard)
        return await uninterrupted(writing)

    async def _append(self, events: tuple[Event, ...]) -> list[tuple[int, bool]]:
        appended = await self._streams.append(self.stream, *events)
        for event, result in zip(events, appended, strict=True):
            if not result.repeated:
                self._feed(event)
        self.last_durable = max(self.last_durable, appended[-1].seq)
        return [(result.seq, result.repeated) for result in appended]

    async def _append_to_thread(self, event: Event) -> None:
        await self._streams.append(self.thread, event)
        self._feed(event)

    def _feed(self, event: Event) -> None:
        self._fold.feed(event)
        self.lifecycle = self._turns.apply(self.lifecycle, event)


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
