"""How questions read: the title, what was and what is, and the numbered choices.

A choice that is not possible now stays visible, with the reason.
"""

from collections.abc import Iterable, Sequence

from resumed.daemon.cli.paper import CARE, FAILED, QUIET, Line, blank
from resumed.daemon.cli.words import typed
from resumed.protocol.restore import Choice, Difference, Drift, Question, Severity
from resumed.protocol.resume import DriftCheckResult
from resumed.restore.drift import STOP, drift_id
from resumed.restore.wording import count

OPEN_END = "your choice"
_FITS = 80
_NOTES_FROM = 52
_COLUMN = 11
_MARKS = {Severity.BLOCK: FAILED, Severity.ASK: CARE, Severity.INFORM: QUIET}


def question_lines(drift: Drift, number: str) -> list[Line]:
    """One question as it is asked on a terminal; `number` is for example `1 of 2`."""
    head = " " * (len(number) + 2)
    numbers = {
        choice.id: QUIET if choice.not_possible else str(n) for n, choice in enumerate(drift.choices, 1)
    }
    return [
        Line(f"{number}  ", drift.title.removesuffix("."), "bold"),
        *about_lines(drift, head),
        *choice_lines(drift, numbers),
    ]


def about_lines(drift: Drift, head: str) -> list[Line]:
    """What was and what is now where that is one thing, and the reason."""
    lines = []
    if len(drift.differences) == 1 and drift.differences[0].now != OPEN_END and drift.path is None:
        difference = drift.differences[0]
        lines.append(Line(head, f"then {difference.recorded}   now {difference.now}"))
    if drift.reason:
        lines.append(Line(head, drift.reason))
    return lines


def choice_lines(drift: Drift, names: dict[str, str], indent: str = "  ") -> list[Line]:
    """The choices under their numbers or names, what is to be known of each behind or below it."""
    heads = max((len(name) for name in names.values()), default=0)
    start = len(indent) + heads + 2
    labels = max((len(choice.label) for choice in drift.choices), default=0)
    beside = start + labels + 3 <= _NOTES_FROM
    lines = []
    for choice in drift.choices:
        name = names[choice.id]
        head, note = f"{indent}{name:<{heads}}  ", _notes(choice, drift, name)
        if note and beside:
            lines.append(Line(f"{head}{choice.label:<{labels}}   ", note, "dim"))
        else:
            lines.append(Line(head, choice.label))
            lines += [Line(" " * start, note, "dim")] if note else []
        lines += command_lines(choice, " " * start)
    return lines


def command_lines(choice: Choice, head: str) -> list[Line]:
    """What makes the choice possible, to be copied."""
    return [Line(head, typed(*choice.command), copied=True)] if choice.command else []


def why_lines(drift: Drift) -> list[Line]:
    """The reason, what each choice does, and what happens with nobody to ask."""
    lines = [Line("        ", drift.reason)] if drift.reason else []
    for choice in drift.choices:
        if choice.not_possible or choice.detail:
            lines.append(Line("        ", f"{choice.label}: {choice.not_possible or choice.detail}"))
            lines += command_lines(choice, "        ")
    alone = next((choice.label for choice in drift.choices if choice.id == drift.unattended), None)
    with_nobody = "it is left as it is" if drift.unattended == STOP or alone is None else f"“{alone}”"
    return [*lines, Line("        ", f"With nobody to ask: {with_nobody}.")]


def difference_lines(differences: Iterable[Difference]) -> list[Line]:
    """A table of "when it stopped" against "here, now"; where it is too wide, one below the other."""
    rows = [row for row in differences if row.now != OPEN_END]
    if not rows:
        return []
    what = max(_COLUMN, *(len(row.what) for row in rows)) + 1
    then = max(len("when it stopped"), *(len(row.recorded) for row in rows)) + 3
    if 2 + what + then + max(len(row.now) for row in rows) <= _FITS:
        table = [Line(f"  {'':<{what}}{'when it stopped':<{then}}", "here, now", "dim")]
        return table + [Line(f"  {row.what:<{what}}{row.recorded:<{then}}", row.now) for row in rows]
    stacked = []
    for row in rows:
        stacked += [
            Line("  ", row.what),
            Line("    then  ", row.recorded),
            Line("    now   ", row.now),
        ]
    return stacked


def keyed_lines(question: Question) -> list[Line]:
    """Questions for who answers with `--answer`: each under its key, its choices under their names."""
    lines = []
    for drift in question.drifts:
        names = {
            choice.id: f"{QUIET} {choice.id}" if choice.not_possible else choice_name(choice)
            for choice in drift.choices
        }
        lines += [
            blank(),
            Line(f"  {key_of(drift, question.drifts)}  ", drift.title, "bold"),
            Line("    ", drift.reason),
            *choice_lines(drift, names, "    "),
        ]
    return lines


def key_of(drift: Drift, drifts: Sequence[Drift]) -> str:
    """The shortest key for `--answer`: the kind alone where there is but one of it."""
    alone = sum(other.kind is drift.kind for other in drifts) == 1
    return drift_id(drift.kind) if alone else drift.id


def choice_name(choice: Choice) -> str:
    """What `--answer` takes behind the key: the choice, and behind it the word that it needs."""
    return choice.id if choice.typed is None else f"{choice.id}:{choice.typed}"


def asked_differences(question: Question) -> tuple[Difference, ...]:
    """What differs about the questions of a round; a question about one file or action says it itself."""
    rows = [row for drift in question.drifts if drift.path is None for row in drift.differences]
    return tuple({row.what: row for row in reversed(rows)}.values())[::-1]


def check_lines(checked: DriftCheckResult, asked_for: str) -> list[Line]:
    """`resumed check`: all that changed since, with the questions that a Resume would ask."""
    if checked.unfinished is not None:
        return [
            Line(f"{CARE} ", checked.unfinished, "bold"),
            Line("  ", "Nothing was changed. What differs then is told after that."),
            Line("  Go on: ", typed("resumed", "resume", asked_for), copied=True),
        ]
    asked = {drift.id for drift in checked.question.drifts} if checked.question else set()
    others = [drift for drift in checked.drifts if drift.id not in asked]
    if checked.question is None:
        lines = [Line("✓ ", f"Nothing to ask before “{checked.thread_name}” goes on.", "bold")]
    else:
        things = count(sum(d.severity is not Severity.INFORM for d in checked.drifts), "question")
        lines = [Line(f"{CARE} ", f"{things} before “{checked.thread_name}” goes on.", "bold")]
        lines += difference_lines(asked_differences(checked.question))
        lines += [*keyed_lines(checked.question), blank()]
    later = [drift for drift in others if drift.severity is not Severity.INFORM]
    if later:
        lines.append(Line("  ", "Asked after that, as far as can be seen now:"))
    for drift in (*later, *(drift for drift in others if drift.severity is Severity.INFORM)):
        lines += [Line(f"  {_MARKS[drift.severity]} ", drift.title), Line("    ", drift.reason)]
    if checked.not_known:
        lines.append(Line(f"  {QUIET} ", f"Not known: {'; '.join(checked.not_known)}"))
    return [*lines, Line("  Go on: ", typed("resumed", "resume", asked_for), copied=True)]


def _notes(choice: Choice, drift: Drift, name: str) -> str:
    """`name` is what the choice is listed under, which may hold its word already."""
    notes = ["suggested"] if choice.id == drift.suggested else []
    if choice.not_possible:
        notes.append(f"not yet: {choice.not_possible}")
    if choice.typed:
        how = "with the word" if name == choice_name(choice) else "type"
        notes.append(f"{how} “{choice.typed}”")
    if choice.detail and not choice.not_possible:
        notes.append(choice.detail.removesuffix("."))
    return f"({'; '.join(notes)})" if notes else ""
