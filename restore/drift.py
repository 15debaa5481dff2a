"""THE table of drift: for each kind its owner, how grave it is, the choices, and the defaults.

`suggested` is what we would do for a person. `unattended` is what happens with nobody to ask: it
never writes, never loosens and never starts in a wrong place; a place that differs is `stop`.
"Just read" is a choice of every question and is added to each row's choices here.
"""

from collections.abc import Mapping

import msgspec

from resumed.protocol.restore import Answer, Choice, Difference, Drift, DriftKind, Severity

STOP = "stop"
READ_ONLY = "readOnly"
CANCEL = "cancel"
LAST = "last"
PLACE = "worktree"

JUST_READ = Choice(id=READ_ONLY, label="Just read", detail="Nothing is started or changed.")


class DriftRule(msgspec.Struct, frozen=True, kw_only=True):
    """One row. `choices` are choice ids without "Just read"; `typed` maps a choice to the word that
    the person must type to take it."""

    subsystem: str
    severity: Severity
    choices: tuple[str, ...] = ()
    suggested: str | None = None
    unattended: str = STOP
    typed: Mapping[str, str] = {}


def _place(severity: Severity, *choices: str, suggested: str) -> DriftRule:
    return DriftRule(subsystem=PLACE, severity=severity, choices=choices, suggested=suggested)


def _permission(*choices: str, typed: Mapping[str, str] | None = None) -> DriftRule:
    return DriftRule(
        subsystem="permissions",
        severity=Severity.ASK,
        choices=choices,
        suggested=choices[0],
        unattended=choices[0],
        typed=typed or {},
    )


_KEEP_FILE = DriftRule(
    subsystem="operations", severity=Severity.ASK, choices=("keep",), suggested="keep", unattended="keep"
)

RULES: dict[DriftKind, DriftRule] = {
    DriftKind.OTHER_PROJECT: _place(Severity.BLOCK, "open", suggested="open"),
    DriftKind.GONE: _place(Severity.BLOCK, "relink", suggested=READ_ONLY),
    DriftKind.MOVED: _place(Severity.BLOCK, "relink", suggested="relink"),
    DriftKind.WORKTREE_REMOVED: _place(
        Severity.BLOCK, "recreate", "newWorktree", "relink", suggested="recreate"
    ),
    DriftKind.STUB: _place(Severity.BLOCK, "relink", suggested=READ_ONLY),
    DriftKind.OTHER_REPOSITORY: _place(Severity.BLOCK, "relink", suggested=READ_ONLY),
    DriftKind.BRANCH_DIFFERS: _place(
        Severity.ASK, "newWorktree", "switch", "relink", "stay", suggested="newWorktree"
    ),
    DriftKind.BRANCH_DELETED: _place(Severity.ASK, "newWorktree", "stay", suggested="newWorktree"),
    DriftKind.DETACHED: _place(Severity.ASK, "switch", "newWorktree", "relink", "stay", suggested="switch"),
    DriftKind.ADVANCED: _place(Severity.ASK, "stay", "newWorktree", suggested="stay"),
    DriftKind.REWRITTEN: _place(Severity.ASK, "stay", "newWorktree", suggested="stay"),
    DriftKind.COMMIT_GONE: _place(Severity.ASK, "stay", suggested="stay"),
    DriftKind.IN_PROGRESS: _place(Severity.BLOCK, CANCEL, "continueAnyway", suggested=CANCEL),
    DriftKind.SILENT_SWITCH: _place(Severity.ASK, "open", LAST, suggested="open"),
    DriftKind.FILE_CHANGED: _KEEP_FILE,
    DriftKind.FILE_REVERTED: _KEEP_FILE,
    DriftKind.FILE_GONE: _KEEP_FILE,
    DriftKind.POLICY_LOOSER: _permission("keep", "adopt"),
    DriftKind.POLICY_STRICTER: DriftRule(subsystem="permissions", severity=Severity.INFORM),
    DriftKind.FULL_ACCESS: _permission("workspaceWrite", "fullAccess", typed={"fullAccess": "full"}),
    DriftKind.NEVER_ASK: _permission("onRequest", "never", typed={"never": "skip"}),
    DriftKind.PLAN_MODE: _permission("plan", "normal"),
    DriftKind.ACTIVE_GOAL: _permission("pause", "continue"),
    DriftKind.DANGLING_OPERATION: DriftRule(
        subsystem="operations",
        severity=Severity.ASK,
        choices=("agentChecks", "finished", "notRun"),
        suggested="agentChecks",
        unattended="agentChecks",
    ),
}


class Wording(msgspec.Struct, frozen=True, kw_only=True):
    """The words of one drift. `labels` and `details` are by choice id; a choice without a label is
    not offered; `not_possible` says why an offered choice can't be taken now, and `commands` are what
    a person may run to make it possible. `suggested`, if it is possible, takes the place of the rule's."""

    title: str
    reason: str
    labels: Mapping[str, str] = {}
    details: Mapping[str, str] = {}
    not_possible: Mapping[str, str] = {}
    commands: Mapping[str, tuple[str, ...]] = {}
    typed: Mapping[str, str] = {}
    suggested: str | None = None


def drift_id(kind: DriftKind, path: str | None = None) -> str:
    """`subsystem.kind`, with `:path` where there is one for each file or action."""
    base = f"{RULES[kind].subsystem}.{kind.value}"
    return base if path is None else f"{base}:{path}"


def asked(
    kind: DriftKind,
    wording: Wording,
    *,
    path: str | None = None,
    differences: tuple[Difference, ...] = (),
    facts: dict[str, str] | None = None,
) -> Drift:
    """Build a drift that is a question, by its row of the table and the words given."""
    rule = RULES[kind]
    choices = tuple(
        Choice(
            id=choice,
            label=wording.labels[choice],
            detail=wording.details.get(choice, ""),
            not_possible=wording.not_possible.get(choice),
            command=wording.commands.get(choice, ()),
            typed=wording.typed.get(choice) or rule.typed.get(choice),
        )
        for choice in rule.choices
        if choice in wording.labels
    )
    possible = [choice.id for choice in choices if choice.not_possible is None]
    wanted = wording.suggested if wording.suggested in possible else rule.suggested
    suggested = wanted if wanted in possible else None
    if suggested is None:
        suggested = possible[0] if possible and rule.suggested != READ_ONLY else READ_ONLY
    return Drift(
        id=drift_id(kind, path),
        kind=kind,
        subsystem=rule.subsystem,
        severity=rule.severity,
        title=wording.title,
        reason=wording.reason,
        path=path,
        differences=differences,
        facts=facts or {},
        choices=(*choices, JUST_READ),
        suggested=suggested,
        unattended=rule.unattended,
    )


def informed(
    kind: DriftKind,
    wording: Wording,
    *,
    path: str | None = None,
    differences: tuple[Difference, ...] = (),
    facts: dict[str, str] | None = None,
) -> Drift:
    """Build a drift that is only listed."""
    return Drift(
        id=drift_id(kind, path),
        kind=kind,
        subsystem=RULES[kind].subsystem,
        severity=Severity.INFORM,
        title=wording.title,
        reason=wording.reason,
        path=path,
        differences=differences,
        facts=facts or {},
        unattended="",
    )


def questions(drifts: tuple[Drift, ...], answers: Mapping[str, Answer]) -> tuple[Drift, ...]:
    """Those that need an answer. Who goes on in the last folder need not say what is to become of
    the recorded one."""
    open_questions = tuple(drift for drift in drifts if drift.severity is not Severity.INFORM)
    switched = answers.get(drift_id(DriftKind.SILENT_SWITCH))
    if switched is None or switched.choice != LAST:
        return open_questions
    return tuple(
        drift for drift in open_questions if drift.subsystem != PLACE or drift.kind is DriftKind.SILENT_SWITCH
    )
