"""How the end of a restore reads: one mark and one sentence, then what came of each part.

The report says only what the daemon returned; a part that is not tracked is said to be not known.
"""

from collections.abc import Iterable

from resumed.daemon.cli.paper import CARE, DONE, FAILED, QUIET, Line, blank, more, row
from resumed.daemon.cli.questions import asked_differences, difference_lines, key_of, keyed_lines
from resumed.daemon.cli.words import Reader, typed, typed_folder
from resumed.protocol.restore import (
    Drift,
    DriftKind,
    LaunchPlan,
    Outcome,
    Question,
    RestoreReport,
    Severity,
    Status,
    SubsystemReport,
)
from resumed.restore.wording import agent_name, listed

NOTHING = "none recorded"
APPLIED = (Outcome.RESTORED, Outcome.PARTIAL)

_HEADLINE_MARKS = {
    Outcome.RESTORED: DONE,
    Outcome.PARTIAL: CARE,
    Outcome.READ_ONLY: QUIET,
    Outcome.CANCELLED: QUIET,
    Outcome.NEEDS_ANSWER: FAILED,
    Outcome.REFUSED: FAILED,
    Outcome.ROLLED_BACK: FAILED,
}
_STATUS_MARKS = {
    Status.RESTORED: DONE,
    Status.DEFAULTED: CARE,
    Status.INVALIDATED: FAILED,
    Status.SKIPPED: QUIET,
    Status.FAILED: FAILED,
    Status.DEGRADED: CARE,
    Status.NOT_TRACKED: QUIET,
}
# In the order they are shown; those in `_WHEN_NOTEWORTHY` only where they are not as recorded.
_LABELS = {
    "environment": "Computer",
    "worktree": "Where",
    "permissions": "May do",
    "model": "Model",
    "tools": "Tools",
    "conversation": "Said",
    "operations": "Done",
    "file_history": "Files",
    "verifier": "Checks",
    "todos": "To do",
    "cost": "Cost",
    "attribution": "Who wrote",
    "prompt": "Prompt",
    "extension": "Own state",
}
_WHEN_NOTEWORTHY = frozenset({"environment", "model", "tools", "conversation", "prompt", "extension"})
_UNTRACKED_WORDS = {
    "file_history": "file history",
    "attribution": "who wrote",
    "tools": "tools",
    "prompt": "instructions",
    "extension": "own state",
}
# Parts whose summary says it all; of the others the reason is shown, too.
_SAID_IN_SUMMARY = (Status.RESTORED, Status.INVALIDATED)
_FILE_KINDS = (DriftKind.FILE_CHANGED, DriftKind.FILE_REVERTED, DriftKind.FILE_GONE)


def report_lines(report: RestoreReport, asked_for: str, reader: Reader) -> list[Line]:
    """The whole report. `asked_for` is how the person named the conversation."""
    headline = Line(f"{_HEADLINE_MARKS[report.outcome]} ", report.headline, "bold")
    if report.outcome in APPLIED:
        return [headline, *_applied(report, reader), *start_lines(report, asked_for, reader)]
    return [headline, *_not_applied(report, asked_for, reader)]


def start_lines(report: RestoreReport, asked_for: str, reader: Reader) -> list[Line]:
    """The command that starts the agent, as it can be copied, and what must happen before it."""
    plan, agent = report.launch, agent_name(report.agent)
    if plan is None:
        return [row("Start", QUIET, f"{agent} takes it up itself; there is no command for it")]
    lines = []
    for step in plan.before:
        by_hand = f"{typed('resumed', 'resume', asked_for, '--exec')} does this, the command below does not"
        lines.append(row("First", CARE, f"{step.title}: {by_hand}"))
    lines += [row("Note", CARE, note) for note in plan.notes]
    return [*lines, Line(row("Start", "", "").head, start_command(plan, reader), copied=True)]


def start_command(plan: LaunchPlan, reader: Reader) -> str:
    """The plan for a shell; the folder and environment only where the command does not hold them."""
    parts = [f"{name}={typed(value)}" for name, value in plan.environment.items()]
    command = " ".join((*parts, typed(*plan.argv)))
    return (
        command if plan.folder in plan.argv else f"cd {typed_folder(plan.folder, reader.home)} && {command}"
    )


def _applied(report: RestoreReport, reader: Reader) -> Iterable[Line]:
    yield row("Stopped", "", f"{reader.when(report.stopped_at)}, {report.stopped}. This is run {report.run}.")
    chosen = _chosen(report)
    if chosen:
        yield row("Answers", "", "; ".join(chosen))
    found = {subsystem.name: subsystem for subsystem in report.subsystems}
    files = _file_details(report)
    for name, label in _LABELS.items():
        subsystem = found.get(name)
        if subsystem is not None and _shown(subsystem):
            yield from _part(label, subsystem, report, files)
        if name == "operations" and files:
            yield from _labelled("Files", files)
    yield from _labelled("Changed", [(CARE, text) for text in _informed(report.drifts)])
    yield from _labelled("Not known", [(QUIET, text) for text in _not_known(report)])
    yield from _record(report)
    yield from _told(report)


def _shown(subsystem: SubsystemReport) -> bool:
    if subsystem.status is Status.NOT_TRACKED:
        return False
    return subsystem.status is not Status.RESTORED or subsystem.name not in _WHEN_NOTEWORTHY


def _part(
    label: str, subsystem: SubsystemReport, report: RestoreReport, files: list[tuple[str, str]]
) -> Iterable[Line]:
    mark = QUIET if subsystem.summary == NOTHING else _STATUS_MARKS[subsystem.status]
    text = subsystem.summary
    if subsystem.status not in _SAID_IN_SUMMARY and subsystem.reason not in (text, ""):
        text = f"{text}; {subsystem.reason}" if text else subsystem.reason
    yield row(label, mark, text)
    in_files = {text for _, text in files}
    if subsystem.name in ("operations", "worktree"):
        yield from (more(CARE, detail) for detail in subsystem.details if detail not in in_files)
    elif subsystem.status is not Status.RESTORED or len(subsystem.details) > 1:
        yield from (more("", detail) for detail in subsystem.details)


def _file_details(report: RestoreReport) -> list[tuple[str, str]]:
    """What the report says of files that differ, out of the actions' details; lost edits first."""
    details = [
        detail
        for subsystem in report.subsystems
        if subsystem.name == "operations"
        for detail in subsystem.details
    ]
    found = []
    for drift in report.drifts:
        if drift.kind in _FILE_KINDS:
            mark = FAILED if drift.severity is Severity.INFORM else CARE
            # A file outside the folder is named otherwise than by its path.
            names = (drift.path, *(row.what for row in drift.differences))
            found += [(mark, text) for text in details for name in names if text.startswith(f"{name}: ")]
    return sorted(dict.fromkeys(found), key=lambda each: each[0] != FAILED)


def _labelled(label: str, texts: list[tuple[str, str]]) -> Iterable[Line]:
    for number, (mark, text) in enumerate(texts):
        yield row(label if number == 0 else "", mark, text)


def _chosen(report: RestoreReport) -> list[str]:
    labels = []
    for drift in report.drifts:
        answer = report.answers.get(drift.id)
        labels += [choice.label for choice in drift.choices if answer and choice.id == answer.choice]
    return list(dict.fromkeys(labels))


def _informed(drifts: tuple[Drift, ...]) -> list[str]:
    return [
        f"{drift.title} {drift.reason}".strip()
        for drift in drifts
        if drift.severity is Severity.INFORM and drift.kind not in _FILE_KINDS
    ]


def _not_known(report: RestoreReport) -> list[str]:
    untracked = [
        _UNTRACKED_WORDS.get(subsystem.name, _LABELS.get(subsystem.name, subsystem.name))
        for subsystem in report.subsystems
        if subsystem.status is Status.NOT_TRACKED
    ]
    texts = ["; ".join(report.record.not_known)] if report.record.not_known else []
    return texts + ([f"not followed yet: {', '.join(untracked)}"] if untracked else [])


def _record(report: RestoreReport) -> Iterable[Line]:
    record = report.record
    kept = record.events_read
    parts = (
        f"{kept} of {kept + record.events_damaged} events",
        f"invalidated {listed(record.invalidated) or 'none'}",
        f"redone {listed(record.tools_redone) or 'none'}",
        f"rerun checks {'yes' if record.rerun_checks else 'no'}",
        f"handed to you {len(record.handed_to_person) or 'none'}",
    )
    yield row("Record", CARE if record.events_damaged else "", "; ".join(parts))
    yield from (more(CARE, sentence) for sentence in record.damage)


def _told(report: RestoreReport) -> Iterable[Line]:
    told = [line for line in report.handover.splitlines() if line.strip()]
    if len(told) == 1:
        yield Line(f"  {agent_name(report.agent)} will be told: ", told[0])
    elif told:
        yield Line(f"  {agent_name(report.agent)} will be told:")
        for line in told:
            bullet = line.startswith("- ")
            yield Line("    - " if bullet else "    ", line.removeprefix("- "))


def _not_applied(report: RestoreReport, asked_for: str, reader: Reader) -> Iterable[Line]:
    record = report.record
    if report.question is not None:
        yield from difference_lines(asked_differences(report.question))
    elif report.outcome is Outcome.REFUSED:
        yield from difference_lines(report.differences)
    if record.events_damaged:
        whole = f"{record.events_damaged} of {record.events_read + record.events_damaged} events are damaged."
        yield Line(f"  {CARE} ", whole)
    elif report.outcome is not Outcome.READ_ONLY:
        events = f"{record.events_read} of {record.events_read} events"
        yield Line("  ", f"The conversation is whole ({events}).")
    yield from (Line(f"  {CARE} ", sentence) for sentence in record.damage)
    if report.question is not None:
        yield from keyed_lines(report.question)
        yield blank()
        yield Line("  Answer: ", _with_suggestions(report, report.question, asked_for), copied=True)
    elsewhere = _elsewhere(report, asked_for, reader)
    if elsewhere is not None:
        yield Line("  Go on: ", elsewhere, copied=True)
    elif report.question is None and report.outcome is not Outcome.READ_ONLY:
        yield Line("  Go on: ", typed("resumed", "resume", asked_for), copied=True)
    yield Line("  Just read: ", typed("resumed", "show", asked_for), copied=True)


def _with_suggestions(report: RestoreReport, question: Question, asked_for: str) -> str:
    """The command that keeps the answers given so far and takes every suggestion of this round."""
    words = ["resumed", "resume", asked_for]
    asked = {drift.id for drift in question.drifts}
    for drift in report.drifts:
        answer = report.answers.get(drift.id)
        if answer is not None and drift.id not in asked:
            word = f":{answer.typed}" if answer.typed else ""
            words += ["--answer", f"{key_of(drift, report.drifts)}={answer.choice}{word}"]
    for drift in question.drifts:
        if drift.suggested is not None:
            words += ["--answer", f"{key_of(drift, question.drifts)}={drift.suggested}"]
    return typed(*words)


def _elsewhere(report: RestoreReport, asked_for: str, reader: Reader) -> str | None:
    """The command that goes on in the project that the conversation belongs to, if that is another one."""
    for drift in report.drifts:
        if drift.kind is DriftKind.OTHER_PROJECT and drift.facts.get("base"):
            folder = typed_folder(drift.facts["base"], reader.home)
            return f"cd {folder} && {typed('resumed', 'resume', asked_for)}"
    return None
