"""The truthful end: an outcome, six answers from evidence, every subsystem, what is not known."""

import msgspec

from resumed.protocol.restore import (
    Answer,
    Difference,
    Drift,
    DriftKind,
    Evidence,
    Outcome,
    Question,
    RestoreReport,
    Severity,
    SixQuestions,
    Status,
    SubsystemReport,
)
from resumed.protocol.restore import Record as WireRecord
from resumed.restore.asking import Stopped
from resumed.restore.context import RestoreContext
from resumed.restore.snapshot import Record
from resumed.restore.subsystem import Restoration, Target
from resumed.restore.wording import agent_name, count, sentence, short_path, visible

STALE = (Status.INVALIDATED, Status.DEGRADED, Status.FAILED, Status.SKIPPED)
PARTIAL = (Status.INVALIDATED, Status.DEGRADED, Status.FAILED)
ROUNDS = 2


class Findings(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the conversation found out, as the report needs it. `reason` says why it was
    rolled back, `stuck` are sentences on what could not be; `left`: what failed left something behind,
    which the reason names."""

    record: Record
    context: RestoreContext
    target: Target
    drifts: tuple[Drift, ...]
    answers: dict[str, Answer]
    restorations: dict[str, Restoration]
    order: tuple[str, ...]
    stopped: Stopped | None
    outcome: Outcome | None
    reason: str = ""
    stuck: tuple[str, ...] = ()
    left: bool = False


def build_report(findings: Findings) -> RestoreReport:
    """Put the report together; the launch plan is added afterwards."""
    record, context = findings.record, findings.context
    outcome = _outcome(findings)
    applied = outcome in (Outcome.RESTORED, Outcome.PARTIAL)
    previous = record.runs[-1] if record.runs else None
    return RestoreReport(
        restore_id=context.restore_id,
        thread_id=record.thread_id,
        thread_name=record.name,
        session_id=context.session_id if applied else None,
        resumed_from=previous.session_id if previous and applied else None,
        agent=record.agent,
        run=_number(record),
        outcome=outcome,
        headline=_headline(findings, outcome),
        stopped_at=record.last_active_at,
        stopped=_stopped(record),
        six=_six(findings, applied),
        subsystems=_subsystems(findings, applied),
        drifts=findings.drifts,
        answers=findings.answers,
        record=_record(findings, applied),
        differences=_differences(findings, applied),
        handover=_handover(findings) if applied else "",
        question=_question(findings) if outcome is Outcome.NEEDS_ANSWER else None,
    )


def _number(record: Record) -> int:
    """Which run this is. One that was restored and that no agent took up was none."""
    return 1 + sum(run.started for run in record.runs)


def _outcome(findings: Findings) -> Outcome:
    if findings.outcome is not None:
        return findings.outcome
    if findings.stopped is not None:
        return Outcome(findings.stopped.why)
    statuses = {restoration.status for restoration in findings.restorations.values()}
    return Outcome.PARTIAL if statuses & set(PARTIAL) else Outcome.RESTORED


def _headline(findings: Findings, outcome: Outcome) -> str:
    record = findings.record
    name = f"“{record.name}” ({agent_name(record.agent)})"
    blocking = next((d for d in findings.drifts if d.severity is not Severity.INFORM), None)
    why = f"{blocking.title} {blocking.reason}" if blocking else ""
    else_ = " else" if findings.context.recovered.undone else ""
    untouched = f"Nothing{else_} was changed or started."
    said = findings.stopped.sentence if findings.stopped else ""
    if outcome is Outcome.RESTORED:
        handed = [h for r in findings.restorations.values() for h in r.handed]
        needs = "" if not handed else f" {count(len(handed), 'thing')} needs you."
        return f"Ready to continue {name}.{needs if len(handed) < 2 else needs.replace('needs', 'need')}"
    if outcome is Outcome.PARTIAL:
        stale = [r for r in findings.restorations.values() if r.status in PARTIAL]
        return f"Ready to continue {name}, {count(len(stale), 'part')} out of date."
    if outcome is Outcome.READ_ONLY:
        return f"Only reading {name}. {untouched}"
    if outcome is Outcome.NEEDS_ANSWER:
        asked = findings.stopped.drifts if findings.stopped else ()
        first = asked[0].title if asked else why
        return " ".join(part for part in (f"Not resumed yet: {first}", said, untouched) if part)
    if outcome is Outcome.ROLLED_BACK:
        return f"Not resumed: {sentence(findings.reason)} {_undone(findings)}"
    if outcome is Outcome.REFUSED:
        return f"Not resumed: {why} {untouched}"
    return f"Left as it is. {untouched}"


def _undone(findings: Findings) -> str:
    if findings.stuck:
        return " ".join(findings.stuck)
    return "The rest is as it was before." if findings.left else "Everything is as it was before."


def _stopped(record: Record) -> str:
    operations = record.states.get("operations")
    open_calls = getattr(operations, "open", {})
    if open_calls:
        return "with an action open" if len(open_calls) == 1 else f"with {len(open_calls)} actions open"
    return "in the middle of a turn" if record.open_turn else "between turns"


def _six(findings: Findings, applied: bool) -> SixQuestions:
    record, context = findings.record, findings.context

    def of(name: str, fallback: str) -> Evidence:
        restoration = findings.restorations.get(name)
        if restoration is None or not applied:
            return Evidence(holds=False, summary=fallback)
        return Evidence(
            holds=restoration.status in (Status.RESTORED, Status.DEFAULTED),
            summary=restoration.summary,
            evidence=(restoration.reason, *restoration.details),
        )

    previous = record.runs[-1].session_id if record.runs else "none"
    return SixQuestions(
        who=Evidence(
            holds=True,
            summary=f"the same conversation, run {_number(record)}",
            evidence=(
                f"thread {record.thread_id}",
                f"session {context.session_id if applied else 'not started'}",
                f"resumed from {previous}",
                f"forked from {record.forked_from or 'none'}",
            ),
        ),
        where=of("worktree", "not settled"),
        may_do=of("permissions", "not settled"),
        has_done=of("operations", "nothing was redone"),
        verified_to=of("verifier", "not looked at"),
        why=Evidence(holds=True, summary="resume", evidence=(_stopped(record),)),
    )


def _subsystems(findings: Findings, applied: bool) -> tuple[SubsystemReport, ...]:
    reports = []
    for name in findings.order:
        restoration = findings.restorations.get(name)
        if restoration is None:
            continue
        if not applied and restoration.status is not Status.NOT_TRACKED:
            reason = "nothing was restored"
            reports.append(SubsystemReport(name=name, status=Status.SKIPPED, reason=reason, summary=reason))
            continue
        reports.append(
            SubsystemReport(
                name=name,
                status=restoration.status,
                reason=restoration.reason,
                summary=restoration.summary,
                details=restoration.details,
            )
        )
    return tuple(reports)


def _record(findings: Findings, applied: bool) -> WireRecord:
    record = findings.record
    restorations = findings.restorations.values() if applied else ()
    return WireRecord(
        restored_through=record.through,
        events_read=record.events_read,
        events_damaged=record.events_damaged,
        invalidated=tuple(
            key
            for name, restoration in (findings.restorations.items() if applied else ())
            if restoration.status in STALE
            for key in (restoration.keys or (name,))
        ),
        rerun_checks=tuple(command for r in restorations for command in r.rerun),
        handed_to_person=(*(item for r in restorations for item in r.handed), *findings.stuck),
        not_known=tuple(dict.fromkeys(item for r in restorations for item in r.unknown)),
        damage=(*record.damage, *findings.context.recovered.sentences),
    )


def _differences(findings: Findings, applied: bool) -> tuple[Difference, ...]:
    rows: dict[str, Difference] = {}
    for drift in findings.drifts:
        if drift.kind is DriftKind.DANGLING_OPERATION:
            continue
        settled = findings.restorations.get(drift.subsystem) if applied else None
        became = settled.now if settled else {}
        for row in drift.differences:
            now = became.get(row.what, row.now)
            if row.what not in became or now != row.recorded:
                rows.setdefault(row.what, msgspec.structs.replace(row, now=now))
    return tuple(rows.values())


def _handover(findings: Findings) -> str:
    told = [line for name in findings.order for line in findings.restorations[name].told]
    if not told:
        return ""
    folder = findings.target.cwd or findings.target.root or ""
    root = short_path(folder, *findings.context.here.homes)
    head = f"You were interrupted and continue in {visible(root)}. What changed since you stopped:"
    # A file may be named as its maker pleases; a line of the note is always ours.
    return "\n".join((head, *(f"- {visible(line)}" for line in dict.fromkeys(told))))


def _question(findings: Findings) -> Question | None:
    stopped = findings.stopped
    if stopped is None or not stopped.drifts:
        return None
    return Question(
        restore_id=findings.context.restore_id,
        thread_id=findings.record.thread_id,
        thread_name=findings.record.name,
        token=stopped.token,
        round=stopped.round,
        rounds=ROUNDS,
        drifts=tuple(d for d in stopped.drifts if d.severity is not Severity.INFORM),
    )
