"""Finishes or takes back a restore that was killed, before anything else touches its thread.

What to do is decided by `restore/recover.py` from the journal and from what is seen now.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import NamedTuple

import msgspec

from resumed.daemon.failpoints import passage
from resumed.daemon.freezing import own_event
from resumed.daemon.observe import Observer
from resumed.daemon.perform import Performer
from resumed.daemon.perform_checks import Refused, Tools, idle
from resumed.daemon.ports.git_command import GitFailed
from resumed.daemon.storage.reader import Position
from resumed.daemon.storage.stores import StreamStore
from resumed.protocol.errors import ErrorCode, ResumedError
from resumed.restore.effects import NotPerformed, Performed
from resumed.restore.events.envelope import Event, Payload
from resumed.restore.events.journal import RestoreClosed, RestoreStep
from resumed.restore.events.session import SessionEnded, SessionMeta
from resumed.restore.events.thread import SessionLinked
from resumed.restore.left_place import place_records
from resumed.restore.place import within
from resumed.restore.probes import RepositorySeen
from resumed.restore.recover import (
    NOTHING_RECOVERED,
    Recovered,
    Recovery,
    Unfinished,
    Verdict,
    recover,
    recovery_probes,
    unfinished,
)
from resumed.restore.steps import AddWorktree, AnyVerb, RecordState, SwitchBranch
from resumed.restore.wording import with_short_paths

REMEMBERED = 1000
"""Threads of which it is remembered that every restore has its end."""

SessionsOf = Callable[[str], Awaitable[tuple[str, ...]]]
"""The runs that name a thread, as far as is known."""

OpenRestore = tuple[str, tuple[Event, ...]]
RECOVER = "recover"
"""Who wrote what a recovery put on record."""


class _Looked(NamedTuple):
    """A thread's restores without an end, what recoveries did that no restore has told, and how far its
    stream was read."""

    open: tuple[OpenRestore, ...] = ()
    untold: Recovered = NOTHING_RECOVERED
    through: Position | None = None


class Recoverer:
    """Recovers threads; the caller holds the thread's lease.

    `root` is the folder served here: a work tree that holds it is not taken away. How far a thread's
    stream names no restore without an end is remembered: one that has its end keeps it, and a new one, of
    whichever daemon, is named behind that before it does anything. What a recovery did is on record with
    the end that it wrote, and told by the next restore, whoever recovered."""

    def __init__(
        self, streams: StreamStore, observer: Observer, tools: Tools, root: str, sessions: SessionsOf
    ) -> None:
        self._streams = streams
        self._sessions = sessions
        self._root = root
        self._observer = observer
        self._tools = tools
        self._performer = Performer(tools, _records_nothing)
        self._looked: dict[str, _Looked] = {}

    async def recover(self, thread_id: str, agent_active_at: str = "") -> Recovered:
        """Settle every restore of the thread that has no end. Returns what recoveries of the thread, this
        one or earlier ones, did that no restore has told yet. `agent_active_at`: when the agent last wrote
        to its own file.

        Raises `ResumedError` when it cannot be settled yet."""
        looked = await self._look_at(thread_id)
        for session_id, events in looked.open:
            try:
                await self._settle(session_id, events, agent_active_at)
            finally:
                await self._streams.release(f"session:{session_id}")
        return (await self._look_at(thread_id)).untold if looked.open else looked.untold

    async def settle(self, thread_id: str, agent_active_at: str = "") -> Recovered:
        """As `recover`, where nobody is there who could be told.

        Raises `ResumedError`, `restoreUnfinished` when something in a repository has to be taken back."""
        first = await self.would_write(thread_id, agent_active_at)
        if first is not None:
            hint = "Resume it once with somebody there to answer."
            raise ResumedError(ErrorCode.RESTORE_UNFINISHED, first, hint)
        return await self.recover(thread_id, agent_active_at)

    async def would_write(self, thread_id: str, agent_active_at: str = "") -> str | None:
        """What `recover` would take back in a repository, in one sentence; nothing is done."""
        for _, events in (await self._look_at(thread_id)).open:
            restore = _plan_of(events)
            if restore is None:
                continue
            recovery = await self._decided(restore, events, agent_active_at)
            if recovery.undo:
                titles = [restore.steps[n - 1].title for n, _ in recovery.undo]
                return f"A restore that was cut off has to be taken back first: {'; '.join(titles)}."
        return None

    async def _look_at(self, thread_id: str) -> "_Looked":
        known = self._looked.pop(thread_id, _Looked())
        sessions = await self._sessions(thread_id)
        looked = await asyncio.to_thread(self._look, f"thread:{thread_id}", known, sessions)
        # Those without an end are looked at again.
        self._looked[thread_id] = known if looked.open or looked.through is None else looked
        if len(self._looked) > REMEMBERED:
            del self._looked[next(iter(self._looked))]
        return looked

    def _look(self, thread: str, known: "_Looked", sessions: tuple[str, ...]) -> "_Looked":
        """The open restores that a thread's stream names behind what is known, and what is untold now. Where
        the stream has lost something, those count too that only name the thread themselves."""
        linked, through = [], None
        if self._streams.exists(thread):
            reading = self._streams.read(thread, known.through)
            payloads = [event.payload for event in reading]
            linked = [payload.session_id for payload in payloads if isinstance(payload, SessionLinked)]
            through = None if reading.damage else reading.position
            if reading.restarted:
                known = _Looked()
        if through is None:
            linked = list(dict.fromkeys((*sessions, *linked)))
        found, untold = [], known.untold
        for session_id in linked:
            stream = f"session:{session_id}"
            if not self._streams.exists(stream):
                continue
            events = iter(self._streams.read(stream))
            first = next(events)
            meta = first.payload
            if not isinstance(meta, SessionMeta) or meta.reason != "resume":
                # Any other run may be long, and holds no restore.
                continue
            whole = (first, *events)
            end = next((e for e in whole if isinstance(e.payload, RestoreClosed | SessionEnded)), None)
            if end is None:
                found.append((meta.session_id, whole))
            else:
                untold = _untold_after(end, untold)
        return _Looked(tuple(found), untold, through)

    async def _settle(self, session_id: str, events: tuple[Event, ...], agent_active_at: str) -> None:
        restore = _plan_of(events)
        if restore is None:
            # Killed while it was still asking: nothing was done.
            await self._append(session_id, RestoreClosed(restore_id="", outcome="cancelled"))
            await self._append(session_id, SessionEnded(reason="cancelled", clean=False))
            return
        await self._wait_for_git(restore)
        recovery = await self._decided(restore, events, agent_active_at)
        if recovery.verdict is Verdict.FINISH:
            await self._append(session_id, RestoreClosed(restore_id=restore.restore_id, outcome="restored"))
            return
        await self._roll_back(session_id, restore, recovery, events[-1].ts)

    async def _decided(
        self, restore: Unfinished, events: tuple[Event, ...], agent_active_at: str
    ) -> Recovery:
        """What recovering does: a place that somebody is in is not pulled from under them."""
        probes = recovery_probes(restore)
        recovery = recover(restore, await self._observer.observe(probes) if probes else {})
        if bool(agent_active_at) and agent_active_at > events[-1].ts:
            return _leaving(restore, recovery, recovery.standing, "since the agent went on")
        here = frozenset(n for n in recovery.standing if self._holds_root(restore.steps[n - 1].do))
        return _leaving(restore, recovery, here, "since Resume was pressed in it")

    def _holds_root(self, verb: AnyVerb) -> bool:
        return isinstance(verb, AddWorktree) and within(self._root, verb.path)

    async def _wait_for_git(self, restore: Unfinished) -> None:
        """A git that outlived its daemon is let finish: what it leaves is judged, not what it is at."""
        for n in restore.states:
            match restore.steps[n - 1].do if n <= len(restore.steps) else None:
                case AddWorktree(path=path) | SwitchBranch(root=path):
                    await self._wait_at(path)

    async def _wait_at(self, path: str) -> None:
        try:
            seen = await self._tools.git.repository(path)
            if isinstance(seen, RepositorySeen):
                await idle(self._tools, seen.git_dir, path)
        except Refused as refusal:
            raise ResumedError(
                ErrorCode.THREAD_BUSY,
                f"A restore that was cut off has not come to its end: {_short(refusal.sentence)}.",
                "Try again when git has ended; if no git runs there any more, remove that lock file.",
            ) from refusal
        except GitFailed as failure:
            raise ResumedError(
                ErrorCode.THREAD_BUSY,
                f"A restore that was cut off cannot be judged: {_short(failure.sentence)}.",
                "Try again when git answers there.",
            ) from failure

    async def _roll_back(
        self, session_id: str, restore: Unfinished, recovery: Recovery, cut_off_at: str
    ) -> None:
        stuck = [*recovery.stuck, *recovery.notes]
        undone = sorted(recovery.undone)
        staying = set(recovery.standing)
        for n, verb in recovery.undo:
            begun = RestoreStep(restore_id=restore.restore_id, n=n, state="undoing")
            await self._append(session_id, begun)
            reply = await self._performer.perform(verb)
            if isinstance(reply, NotPerformed):
                stuck.append(f"{restore.steps[n - 1].title} could not be undone: {_short(reply.reason)}")
                continue
            staying.discard(n)
            await self._append(session_id, RestoreStep(restore_id=restore.restore_id, n=n, state="undone"))
            undone.append(n)
        titles = [restore.steps[n - 1].title for n in undone if 1 <= n <= len(restore.steps)]
        report: dict[str, object] = {"undone": titles} if titles else {}
        report |= {"stuck": stuck} if stuck else {}
        closed = RestoreClosed(restore_id=restore.restore_id, outcome="rolledBack", report=report)
        left = place_records(restore.steps) if staying else ()
        await self._append(session_id, closed, *left, at=cut_off_at)
        await self._append(session_id, SessionEnded(reason="rolledBack", clean=False))

    async def _append(self, session_id: str, *payloads: Payload, at: str | None = None) -> None:
        """In one write. `at` is since when it is so, if not since now."""
        events = [msgspec.structs.replace(own_event(payload, RECOVER), at=at) for payload in payloads]
        passage("journal")
        await self._streams.append(f"session:{session_id}", *events)
        passage("journal")


def _untold_after(end: Event, untold: Recovered) -> Recovered:
    """What is untold once a restore has ended so. One that was not itself recovered has told it, unless
    somebody went away in the middle."""
    if not isinstance(end.payload, RestoreClosed):
        return untold
    if end.src.ref != RECOVER:
        return untold if end.payload.outcome == "cancelled" else NOTHING_RECOVERED
    try:
        said = msgspec.convert(end.payload.report, Recovered)
    except msgspec.ValidationError:
        return untold
    return Recovered(undone=(*untold.undone, *said.undone), stuck=(*untold.stuck, *said.stuck))


def _leaving(restore: Unfinished, recovery: Recovery, places: frozenset[int], why: str) -> Recovery:
    """Without the steps that led to these places. What is half taken away already is no place any more."""
    undo = tuple((n, verb) for n, verb in recovery.undo if n not in places)
    left = (restore.steps[n - 1].title for n, _ in recovery.undo if n in places)
    notes = (*recovery.notes, *(f"{title} was left, {why}." for title in left))
    return msgspec.structs.replace(recovery, undo=undo, notes=notes)


def _short(text: str) -> str:
    home = os.path.expanduser("~")
    return with_short_paths(text, home, os.path.realpath(home))


def _plan_of(events: tuple[Event, ...]) -> Unfinished | None:
    try:
        return unfinished(events)
    except msgspec.ValidationError as error:
        raise ResumedError(
            ErrorCode.STATE_READ_ONLY,
            "A restore by a newer version of resumed was cut off, and this version cannot read its plan.",
            "Resume once with the newer version.",
        ) from error


async def _records_nothing(verb: RecordState) -> Performed | NotPerformed:
    """Recorded state needs no undoing: its run is closed as rolled back, and no fold reads it."""
    return Performed()
