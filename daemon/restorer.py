"""Drives the restore conversation: performs its effects, forwards its questions, keeps its journal.

The order is the conversation's; here is only how each effect is done. A thread is frozen by its
lease for as long as this runs.
"""

import asyncio
import os
import uuid
from typing import assert_never

import msgspec

from resumed.daemon.failpoints import passage
from resumed.daemon.freezing import Freezer, Frozen
from resumed.daemon.observe import Observer
from resumed.daemon.perform import Performer
from resumed.daemon.perform_checks import Tools
from resumed.daemon.recovery import Recoverer
from resumed.daemon.rpc.connection import Client
from resumed.protocol.restore import Answers, Outcome, Question, RestoreProgress, RestoreReport
from resumed.protocol.resume import ThreadResumeParams
from resumed.restore.context import RestoreContext
from resumed.restore.effects import (
    Answered,
    Ask,
    Cancelled,
    Effect,
    Journal,
    NotPerformed,
    Observe,
    Perform,
    Performed,
    PlanLaunch,
    Progress,
    Reply,
    Unanswered,
)
from resumed.restore.events import EVENT_TYPES
from resumed.restore.events.envelope import Payload
from resumed.restore.events.journal import RestoreClosed, RestoreStep
from resumed.restore.recover import Recovered
from resumed.restore.report import ROUNDS
from resumed.restore.resume import resume
from resumed.restore.steps import RecordState
from resumed.restore.subsystem import Here
from resumed.restore.subsystems import SUBSYSTEMS


class Restorer:
    """Restores threads of one workspace. `questions` counts those that wait for an answer now; restores
    run to their end even if nobody waits for them, so `close` it before what they write to."""

    def __init__(self, freezer: Freezer, recoverer: Recoverer, observer: Observer, tools: Tools) -> None:
        self.questions = 0
        self._freezer = freezer
        self._recoverer = recoverer
        self._observer = observer
        self._tools = tools
        self._running: set[asyncio.Task[RestoreReport]] = set()

    async def close(self) -> None:
        """Wait for the restores that are at a step; their questions must have been left before."""
        if self._running:
            await asyncio.wait(self._running)

    async def resume(self, client: Client, params: ThreadResumeParams) -> RestoreReport:
        """Freeze the thread, finish or take back what a killed restore left, and restore.

        A request that is cancelled before the first step leaves everything as it is; once a step has
        begun, all are done. Raises `ResumedError` `threadBusy`, `threadNotFound`, `threadAmbiguous`,
        and `restoreUnfinished` when unattended and an earlier restore must be taken back first."""
        leaving = asyncio.Event()
        restoring = asyncio.ensure_future(self._resume(client, params, leaving))
        self._running.add(restoring)
        restoring.add_done_callback(self._running.discard)
        try:
            return await asyncio.shield(restoring)
        except asyncio.CancelledError:
            leaving.set()
            await asyncio.wait({restoring})
            raise

    async def _resume(
        self, client: Client, params: ThreadResumeParams, leaving: asyncio.Event
    ) -> RestoreReport:
        async with self._freezer.held(params.thread, client) as thread_id:
            active_at = await self._freezer.agent_active_at(thread_id)
            if params.unattended:
                recovered = await self._recoverer.settle(thread_id, active_at)
            else:
                recovered = await self._recoverer.recover(thread_id, active_at)
            async with self._freezer.freeze(thread_id) as frozen:
                await frozen.mint()
                report = await self._converse(client, params, frozen, leaving, recovered)
                await frozen.end(report.outcome)
        return report

    async def _converse(
        self,
        client: Client,
        params: ThreadResumeParams,
        frozen: Frozen,
        leaving: asyncio.Event,
        recovered: Recovered,
    ) -> RestoreReport:
        here = Here(
            root=frozen.root,
            home=frozen.home,
            agent=frozen.record.agent,
            real_home=os.path.realpath(frozen.home),
            approvals=frozen.launcher.approvals if frozen.launcher else None,
        )
        context = RestoreContext(
            restore_id=str(uuid.uuid4()),
            session_id=frozen.session_id,
            now=frozen.now,
            here=here,
            unattended=params.unattended,
            given=params.answers,
            given_token=params.token,
            recovered=recovered,
        )
        performing = _Performing(self, _Asker(client, leaving), frozen, context)
        conversation = resume(frozen.record, SUBSYSTEMS, context)
        reply: Reply = None
        try:
            while True:
                effect = conversation.send(reply)
                if leaving.is_set() and not performing.begun and performing.begins(effect):
                    conversation.close()
                    await frozen.append(RestoreClosed(restore_id=context.restore_id, outcome="cancelled"))
                    await frozen.end(Outcome.CANCELLED)
                    raise asyncio.CancelledError
                reply = await performing.perform(effect)
        except StopIteration as ended:
            report: RestoreReport = ended.value
            return report


class _Asker:
    """Asks the client, until it answers, goes away, or takes back its request."""

    def __init__(self, client: Client, leaving: asyncio.Event) -> None:
        self.client = client
        self._leaving = leaving

    async def ask(self, question: Question) -> Answers | None:
        """The answers, or `None` when there will be none."""
        asking = asyncio.ensure_future(self.client.ask(question))
        left = asyncio.ensure_future(self._leaving.wait())
        await asyncio.wait({asking, left}, return_when=asyncio.FIRST_COMPLETED)
        left.cancel()
        if asking.done():
            return asking.result()
        asking.cancel()
        return None


class _Performing:
    """The effects of one restore. `begun`: a step has been, so that all are to be done."""

    def __init__(self, restorer: Restorer, asker: "_Asker", frozen: Frozen, context: RestoreContext) -> None:
        self.begun = False
        self._restorer = restorer
        self._asker = asker
        self._client = asker.client
        self._frozen = frozen
        self._context = context
        self._performer = Performer(restorer._tools, self._record)

    @staticmethod
    def begins(effect: Effect) -> bool:
        """Whether the effect is the first write of a step."""
        return isinstance(effect, Journal) and isinstance(effect.payload, RestoreStep)

    async def perform(self, effect: Effect) -> Reply:
        """Do one effect and return its reply."""
        self.begun = self.begun or self.begins(effect)
        match effect:
            case Observe(probes):
                return await self._restorer._observer.observe(probes)
            case Ask():
                return await self._ask(effect)
            case Journal(payload, more):
                passage("journal")
                await self._append(payload, *more)
                passage("journal")
                return None
            case Perform(verb):
                return await self._performer.perform(verb)
            case Progress():
                self._tell(effect)
                return None
            case PlanLaunch(facts):
                launcher = self._frozen.launcher
                return launcher.plan(facts) if launcher else None
            case _:
                assert_never(effect)

    async def _ask(self, ask: Ask) -> Answered | Unanswered | Cancelled:
        if not self._client.capabilities.restore_ask:
            return Unanswered()
        question = Question(
            restore_id=self._context.restore_id,
            thread_id=self._frozen.thread_id,
            thread_name=self._frozen.record.name,
            token=ask.token,
            round=ask.round,
            rounds=ROUNDS,
            drifts=ask.drifts,
        )
        self._restorer.questions += 1
        try:
            answers = await self._asker.ask(question)
        finally:
            self._restorer.questions -= 1
        if answers is None or answers.cancelled:
            return Cancelled()
        return Answered(answers.answers, self._client.info.name)

    async def _record(self, verb: RecordState) -> Performed | NotPerformed:
        payloads: list[Payload] = [
            msgspec.convert(fields, EVENT_TYPES[type_name]) for type_name, fields in verb.events
        ]
        await self._frozen.append(*payloads)
        return Performed({"events": [type_name for type_name, _ in verb.events]})

    async def _append(self, payload: Payload) -> None:
        await self._frozen.append(payload)

    def _tell(self, progress: Progress) -> None:
        if not self._client.capabilities.progress:
            return
        self._client.notify(
            "restore/progress",
            RestoreProgress(
                restore_id=self._context.restore_id,
                thread_id=self._frozen.thread_id,
                n=progress.n,
                of=progress.of,
                subsystem=progress.subsystem,
                title=progress.title,
                state=progress.state,
            ),
        )
