"""The notation for conversations of the core: a record, a world, answers; out come trace and report.

`play` performs every effect in the world, answers questions from a script, and can fail a verb,
change the world before any effect, or kill the restore after its n-th journal record.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, assert_never

import msgspec

from resumed.protocol.restore import Answer, Drift, LaunchPlan, RestoreReport
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
    PlanLaunch,
    Progress,
    Reply,
    Unanswered,
)
from resumed.restore.events.envelope import Event, Payload
from resumed.restore.events.journal import RestoreClosed, RestorePlanned, RestoreStep
from resumed.restore.recover import Recovery, recover, recovery_probes, unfinished
from resumed.restore.resume import resume
from resumed.restore.snapshot import Fold, Record, Run
from resumed.restore.steps import AnyVerb, RecordState
from resumed.restore.subsystem import Here
from resumed.restore.subsystems import SUBSYSTEMS
from tests.support.events import event
from tests.support.simulation import World

HOME = "/home/dev"
RESTORE_ID = "77777777-7777-4777-8777-777777777777"

Given = Mapping[str, str | Answer]
Scripted = Given | Cancelled | Unanswered | Callable[[Ask], "Given | Cancelled | Unanswered"]


def record_of(payloads: Iterable[Payload | Event], **changes: Any) -> Record:
    """The record of a thread with these events."""
    fold, events = Fold(SUBSYSTEMS), list(payloads)
    for each in events:
        fold.feed(each if isinstance(each, Event) else event(each))
    record = Record(
        thread_id="11111111-1111-4111-8111-111111111111",
        name="Fix payment rounding",
        agent="codex",
        agent_version="0.171.0",
        native_id="11111111-1111-4111-8111-111111111111",
        forked_from=None,
        created_at="2026-11-29T08:00:00Z",
        last_active_at="2026-11-29T18:04:00Z",
        runs=(
            Run(
                session_id="22222222-2222-4222-8222-222222222222",
                started_at="2026-11-29T08:00:00Z",
                reason="startup",
                own=False,
            ),
        ),
        states=fold.states,
        through={"foreign:rollout.jsonl": len(events)},
        events_read=len(events),
    )
    return msgspec.structs.replace(record, **changes)


def context(root: str, **changes: Any) -> RestoreContext:
    """What a restore is given when Resume is pressed in `root`."""
    given = RestoreContext(
        restore_id=RESTORE_ID,
        session_id="33333333-3333-4333-8333-333333333333",
        now="2026-11-30T08:00:00.000Z",
        here=Here(root=root, home=HOME, agent="codex"),
    )
    return msgspec.structs.replace(given, **changes)


def suggested(ask: Ask) -> Given:
    """Take what is suggested everywhere."""
    return {drift.id: answer(drift, drift.suggested or "") for drift in ask.drifts}


def taking(**choices: str) -> Callable[[Ask], Given]:
    """Take these choices by kind (`branchDiffers="stay"`), else what is suggested."""

    def answers(ask: Ask) -> Given:
        return {d.id: answer(d, choices.get(d.kind.value, d.suggested or "")) for d in ask.drifts}

    return answers


def answer(drift: Drift, choice: str) -> Answer:
    """The answer with the word typed that the choice needs."""
    typed = next((each.typed for each in drift.choices if each.id == choice), None)
    return Answer(choice=choice, typed=typed)


class Killed(Exception):
    """The restore was killed here."""


@dataclass
class Play:
    """What happened. `report` is absent when it was killed."""

    trace: list[Effect] = field(default_factory=list)
    report: RestoreReport | None = None

    @property
    def ended(self) -> RestoreReport:
        """The report of a conversation that came to its end."""
        assert self.report is not None
        return self.report

    @property
    def asks(self) -> list[Ask]:
        """Every question asked."""
        return [effect for effect in self.trace if isinstance(effect, Ask)]

    @property
    def asked(self) -> list[list[str]]:
        """The ids of the questions, round by round."""
        return [[drift.id for drift in ask.drifts] for ask in self.asks]

    @property
    def verbs(self) -> list[AnyVerb]:
        """Every verb that was to be done."""
        return [effect.verb for effect in self.trace if isinstance(effect, Perform)]

    @property
    def outward(self) -> list[str]:
        """The names of the verbs that change something outside the run's own stream."""
        return [type(verb).__name__ for verb in self.verbs if not isinstance(verb, RecordState)]

    @property
    def journal(self) -> list[Payload]:
        """Every journal record."""
        return [effect.payload for effect in self.trace if isinstance(effect, Journal)]

    @property
    def notation(self) -> list[str]:
        """The trace after the questions, one word for each effect that matters."""
        return [word for effect in self.trace if (word := _word(effect))]


@dataclass
class Player:
    """Performs the effects of one restore. `before` is called with the effect and its number among
    those of its type, from 1; `refuses` gives the reason for which a verb is not done."""

    world: World
    script: list[Scripted] = field(default_factory=list)
    before: Callable[[Effect, int], None] = lambda effect, n: None
    refuses: Callable[[AnyVerb], str | None] = lambda verb: None
    kill_at: int | None = None
    seen: dict[type[Effect], int] = field(default_factory=dict)

    def play(self, record: Record, given: RestoreContext) -> Play:
        """Hold the whole conversation."""
        played, conversation = Play(), resume(record, SUBSYSTEMS, given)
        reply: Reply = None
        try:
            while True:
                effect = conversation.send(reply)
                played.trace.append(effect)
                reply = self.perform(effect)
        except StopIteration as ended:
            played.report = ended.value
        except Killed:
            pass
        assert self.kill_at is not None or not self.script, f"never asked for: {self.script}"
        return played

    def perform(self, effect: Effect) -> Reply:
        """Do one effect."""
        n = self.seen[type(effect)] = self.seen.get(type(effect), 0) + 1
        self.before(effect, n)
        match effect:
            case Observe(probes):
                return self.world.observe(probes)
            case Ask():
                return self._ask(effect)
            case Journal():
                if n == self.kill_at:
                    raise Killed
                return None
            case Perform(verb):
                reason = self.refuses(verb)
                return NotPerformed(reason) if reason else self.world.perform(verb)
            case Progress():
                return None
            case PlanLaunch(facts):
                return LaunchPlan(argv=(facts.agent, facts.native_id), folder=facts.folder)
            case _:
                assert_never(effect)

    def _ask(self, ask: Ask) -> Answered | Cancelled | Unanswered:
        assert self.script, f"nobody answers {[drift.id for drift in ask.drifts]}"
        scripted = self.script.pop(0)
        said = scripted(ask) if callable(scripted) else scripted
        if isinstance(said, Cancelled | Unanswered):
            return said
        whole = {key: Answer(choice=a) if isinstance(a, str) else a for key, a in said.items()}
        return Answered(whole, "test")


def play(record: Record, world: World, root: str, *script: Scripted, **changes: Any) -> Play:
    """Resume in `root`; `changes` go to the context."""
    return Player(world, list(script)).play(record, context(root, **changes))


def recovered(world: World, journal: Sequence[Payload]) -> tuple[Recovery | None, list[str]]:
    """Recover from a journal as the daemon does, and what could not be undone."""
    restore = unfinished(tuple(event(payload) for payload in journal))
    if restore is None:
        return None, []
    recovery = recover(restore, world.observe(recovery_probes(restore)))
    stuck = list(recovery.stuck)
    for _, verb in recovery.undo:
        reply = world.perform(verb)
        if isinstance(reply, NotPerformed):
            stuck.append(reply.reason)
    return recovery, stuck


def _word(effect: Effect) -> str:
    match effect:
        case Journal(RestorePlanned()):
            return "planned"
        case Journal(RestoreStep(n=n, state=state)):
            return f"{state} {n}"
        case Journal(RestoreClosed(outcome=outcome)):
            return f"closed {outcome}"
        case Perform(verb):
            return type(verb).__name__
        case _:
            return ""
