"""The restore conversation: a generator that yields effects, is sent replies, returns a report.

Order: observe the place, ask about it, observe the rest, ask about that, look again, apply in the
declared order, report. Nothing is written before every question that counts has its answer.
"""

from collections.abc import Generator, Sequence
from typing import Any

import msgspec

from resumed.protocol.restore import Drift, LaunchPlan, Outcome, RestoreReport, Status
from resumed.restore import place_settle
from resumed.restore.applying import Ledger, apply_step, roll_back
from resumed.restore.asking import Interview, Stopped, interview
from resumed.restore.context import RestoreContext
from resumed.restore.drift import PLACE
from resumed.restore.effects import Effect, Journal, Observe, PlanLaunch
from resumed.restore.events.journal import RestoreClosed, RestorePlanned
from resumed.restore.launch import launch_facts
from resumed.restore.left_place import place_records
from resumed.restore.operation_files import doubtful_paths
from resumed.restore.order import in_restore_order
from resumed.restore.place_looks import later_probes
from resumed.restore.place_submodules import submodule_probes
from resumed.restore.probes import Seen
from resumed.restore.report import Findings, build_report
from resumed.restore.snapshot import Record
from resumed.restore.subsystem import Choices, Restoration, Subsystem, Target

Conversation = Generator[Effect, Any, RestoreReport]
FILES = "operations"
ROLLS_BACK = frozenset({"worktree", "permissions", "operations", "file_history"})
LOOKED_AT_MOST = 3
NOT_AS_ANSWERED = "It changed while this was being restored."
KEEPS_CHANGING = "It keeps changing while you answer."
LAUNCHABLE = (Outcome.RESTORED, Outcome.PARTIAL)


class Session(msgspec.Struct, kw_only=True):
    """The working memory of one conversation."""

    record: Record
    context: RestoreContext
    order: tuple[Any, ...]
    interview: Interview
    ledger: Ledger
    target: Target
    seen: Seen = {}
    drifts: dict[str, tuple[Drift, ...]] = {}
    restorations: dict[str, Restoration] = {}

    def subsystem(self, name: str) -> Subsystem[Any]:
        """The registered subsystem of that name."""
        return next(subsystem for subsystem in self.order if subsystem.name == name)

    def state(self, name: str) -> Any:
        """What that subsystem folded."""
        return self.record.states[name]

    def choices(self) -> Choices:
        """The answers in force for what differs now."""
        return self.interview.choices(tuple(d for drifts in self.drifts.values() for d in drifts))


def resume(record: Record, subsystems: Sequence[Subsystem[Any]], context: RestoreContext) -> Conversation:
    """Restore one thread. The report's outcome says how it ended; the journal is closed by it."""
    session = Session(
        record=record,
        context=context,
        order=in_restore_order(subsystems),
        interview=Interview(context=context),
        ledger=Ledger(restore_id=context.restore_id, homes=context.here.homes),
        target=_blank(context, record.states[PLACE]),
    )
    ended = yield from _settle(session)
    if isinstance(ended, Stopped):
        return (yield from _close(session, stopped=ended))
    yield _planned(session)
    failure = yield from _apply(session)
    if failure is None:
        return (yield from _close(session))
    stuck = yield from roll_back(session.ledger)
    if isinstance(failure, Stopped) and not stuck and not session.ledger.left:
        return (yield from _close(session, stopped=failure))
    reason = failure.sentence or NOT_AS_ANSWERED if isinstance(failure, Stopped) else failure
    return (yield from _close(session, outcome=Outcome.ROLLED_BACK, reason=reason, stuck=stuck))


def _settle(session: Session) -> Generator[Effect, Any, Stopped | None]:
    """Ask until the place and everything else is answered for the facts as they are now."""
    again: tuple[Drift, ...] = ()
    for _ in range(LOOKED_AT_MOST):
        place = yield from look_at_place(session)
        ended = yield from interview(session.interview, 1, place)
        if isinstance(ended, Stopped):
            return ended
        target = place_settle.settle(session.state(PLACE), session.seen, session.choices(), session.target)
        if target is None:
            return Stopped(why="refused", drifts=place)
        session.target = target
        rest = yield from look_at_rest(session)
        ended = yield from interview(session.interview, 2, rest)
        if isinstance(ended, Stopped):
            return ended
        session.restorations = {s.name: _restoration(session, s) for s in session.order}
        session.ledger.of = _steps_in(session)
        again, settled = yield from _look_again_at_place(session)
        if settled == session.target and not session.interview.unsettled(again):
            return None
    return Stopped(why="needsAnswer", drifts=again, sentence=KEEPS_CHANGING)


def look_at_place(session: Session) -> Generator[Effect, Any, tuple[Drift, ...]]:
    """Observe the place, and the touched files as they lie there now."""
    place, files = session.subsystem(PLACE), session.subsystem(FILES)
    state = session.state(PLACE)
    blank = _blank(session.context, state)
    seen = yield from _observe_place(session, blank)
    at_hand = place_settle.tentative(state, seen, blank)
    differ: tuple[str, ...] | None = None
    if at_hand.root is not None:
        probes = files.probes(session.state(FILES), at_hand)
        files_seen: Seen = (yield Observe(probes)) if probes else {}
        differ = doubtful_paths(session.state(FILES), files_seen, at_hand)
    session.target = msgspec.structs.replace(blank, files_differ=differ)
    session.seen = seen
    session.drifts[PLACE] = place.drift(state, seen, session.target)
    return session.drifts[PLACE]


def look_at_rest(session: Session) -> Generator[Effect, Any, tuple[Drift, ...]]:
    """Observe everything else at the target, in one effect, and what a new folder will lack."""
    others = [subsystem for subsystem in session.order if subsystem.name != PLACE]
    at_others = (
        probe
        for subsystem in others
        for probe in subsystem.probes(session.state(subsystem.name), session.target)
    )
    probes = dict.fromkeys((*submodule_probes(session.target), *at_others))
    if probes:
        session.seen = session.seen | (yield Observe(tuple(probes)))
    for subsystem in others:
        session.drifts[subsystem.name] = subsystem.drift(
            session.state(subsystem.name), session.seen, session.target
        )
    return tuple(drift for subsystem in others for drift in session.drifts[subsystem.name])


def _observe_place(session: Session, blank: Target) -> Generator[Effect, Any, Seen]:
    """Everything about the place; what to ask beside it may be known only after a first look."""
    state = session.state(PLACE)
    seen: Seen = yield Observe(session.subsystem(PLACE).probes(state, blank))
    more = later_probes(state, seen, blank)
    return seen | (yield Observe(more)) if more else seen


def _blank(context: RestoreContext, state: Any) -> Target:
    """The target before the place is settled."""
    return Target(here=context.here, recorded_root=state.root, restore_id=context.restore_id)


def _look_again_at_place(
    session: Session,
) -> Generator[Effect, Any, tuple[tuple[Drift, ...], Target | None]]:
    """The questions about the place, and where the answers lead, by what is there now."""
    place = session.subsystem(PLACE)
    state = session.state(PLACE)
    blank = msgspec.structs.replace(_blank(session.context, state), files_differ=session.target.files_differ)
    seen = yield from _observe_place(session, blank)
    drifts = place.drift(state, seen, blank)
    return drifts, place_settle.settle(state, seen, session.interview.choices(drifts), blank)


def _apply(session: Session) -> Generator[Effect, Any, Stopped | str | None]:
    """Every subsystem in order. Returns why everything must be rolled back, if it must."""
    failed: dict[str, str] = {}
    for subsystem in session.order:
        name = subsystem.name
        blocked = [dependency for dependency in subsystem.after if dependency in failed]
        if blocked:
            failed[name] = f"{blocked[0]} could not be restored"
            _override(session, name, Status.SKIPPED, failed[name])
            continue
        if name != PLACE:
            ended = yield from _look_again(session, subsystem)
            if isinstance(ended, Stopped):
                return ended
        # A step's number is its place in the plan, so that recovery finds it there.
        session.ledger.n = _steps_before(session, name)
        for step in session.restorations[name].steps:
            reason = yield from apply_step(session.ledger, step)
            if reason is None:
                continue
            if name in ROLLS_BACK:
                return f"“{step.title}” did not work: {reason}"
            failed[name] = reason
            _override(session, name, Status.FAILED, reason)
            break
        if name == PLACE:
            # From here on the folder is there, and its files are looked at themselves.
            session.target = msgspec.structs.replace(session.target, commit=None, carried=())
    return None


def _look_again(session: Session, subsystem: Subsystem[Any]) -> Generator[Effect, Any, Stopped | None]:
    """Observe one subsystem right before its turn, so that neither its steps nor the report rest on
    what is no longer so; only what changed is asked again."""
    name = subsystem.name
    drifts: tuple[Drift, ...] = ()
    for _ in range(LOOKED_AT_MOST):
        probes = subsystem.probes(session.state(name), session.target)
        if not probes:
            return None
        session.seen = session.seen | (yield Observe(probes))
        drifts = subsystem.drift(session.state(name), session.seen, session.target)
        if not session.interview.unsettled(drifts):
            session.drifts[name] = drifts
            planned, fresh = session.restorations[name], _restoration(session, subsystem)
            session.restorations[name] = fresh
            if fresh.steps != planned.steps:
                session.ledger.of = _steps_in(session)
                yield _planned(session)
            return None
        ended = yield from interview(session.interview, 2, drifts)
        if isinstance(ended, Stopped):
            return ended
    return Stopped(why="needsAnswer", round=2, drifts=drifts, sentence=KEEPS_CHANGING)


def _restoration(session: Session, subsystem: Subsystem[Any]) -> Restoration:
    name = subsystem.name
    restoration = subsystem.steps(session.state(name), session.seen, session.choices(), session.target)
    if name in session.record.degraded and restoration.status is Status.RESTORED:
        return msgspec.structs.replace(
            restoration, status=Status.DEGRADED, reason=session.record.degraded[name]
        )
    return restoration


def _steps_before(session: Session, name: str) -> int:
    before = 0
    for subsystem in session.order:
        if subsystem.name == name:
            break
        before += len(session.restorations[subsystem.name].steps)
    return before


def _steps_in(session: Session) -> int:
    return sum(len(restoration.steps) for restoration in session.restorations.values())


def _override(session: Session, name: str, status: Status, reason: str) -> None:
    session.restorations[name] = msgspec.structs.replace(
        session.restorations[name], status=status, reason=reason, summary=reason
    )


def _planned(session: Session) -> Journal:
    """The plan as data: every step still to do, numbered on from those already done."""
    steps = [
        msgspec.to_builtins(step)
        for subsystem in session.order
        for step in session.restorations[subsystem.name].steps
    ]
    return Journal(
        RestorePlanned(
            restore_id=session.context.restore_id,
            through=session.record.through,
            seen={"target": msgspec.to_builtins(session.target)},
            drift=tuple(d.id for drifts in session.drifts.values() for d in drifts),
            steps=tuple(steps),
        )
    )


def _close(
    session: Session,
    *,
    stopped: Stopped | None = None,
    outcome: Outcome | None = None,
    reason: str = "",
    stuck: tuple[str, ...] = (),
) -> Conversation:
    findings = Findings(
        record=session.record,
        context=session.context,
        target=session.target,
        drifts=tuple(d for s in session.order for d in session.drifts.get(s.name, ())),
        answers=session.choices(),
        restorations={s.name: session.restorations[s.name] for s in session.order if session.restorations},
        order=tuple(s.name for s in session.order),
        stopped=stopped,
        outcome=outcome,
        reason=reason,
        stuck=stuck,
        left=session.ledger.left,
    )
    report = build_report(findings)
    if report.outcome in LAUNCHABLE:
        facts = launch_facts(session.record, session.seen, session.choices(), session.target)
        plan: LaunchPlan | None = (yield PlanLaunch(facts)) if facts is not None else None
        report = msgspec.structs.replace(report, launch=plan)
    closed = RestoreClosed(
        restore_id=session.context.restore_id,
        outcome=report.outcome.value,
        report=msgspec.to_builtins(report),
    )
    steps = (step for s in session.order for step in session.restorations[s.name].steps) if stuck else ()
    # In one write: once it is closed, nobody looks at what it left again.
    yield Journal(closed, place_records(steps))
    return report
