"""What a restore says: questions, answers, progress, report, launch plan.

Value types only. `restore` builds them, the daemon sends them, clients show them; every text in
them is written for people (the words of the interface), every id is for programs.
"""

import enum
from typing import dataclass_transform

import msgspec


@dataclass_transform(frozen_default=True, kw_only_default=True)
class Wire(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Base of every wire type: immutable, keyword-only, camelCase on the wire."""


class DriftKind(enum.Enum):
    """A recorded fact that no longer holds. `restore/drift.py` has the table of what each means."""

    OTHER_PROJECT = "otherProject"
    GONE = "gone"
    MOVED = "moved"
    WORKTREE_REMOVED = "worktreeRemoved"
    STUB = "stub"
    OTHER_REPOSITORY = "otherRepository"
    BRANCH_DIFFERS = "branchDiffers"
    BRANCH_DELETED = "branchDeleted"
    DETACHED = "detached"
    ADVANCED = "advanced"
    REWRITTEN = "rewritten"
    COMMIT_GONE = "commitGone"
    IN_PROGRESS = "inProgress"
    SILENT_SWITCH = "silentSwitch"
    FILE_CHANGED = "fileChanged"
    FILE_REVERTED = "fileReverted"
    FILE_GONE = "fileGone"
    POLICY_LOOSER = "policyLooser"
    POLICY_STRICTER = "policyStricter"
    FULL_ACCESS = "fullAccess"
    NEVER_ASK = "neverAsk"
    PLAN_MODE = "planMode"
    ACTIVE_GOAL = "activeGoal"
    DANGLING_OPERATION = "danglingOperation"


class Severity(enum.Enum):
    """`block`: nothing happens without an answer. `ask`: has an unattended answer. `inform`: listed."""

    BLOCK = "block"
    ASK = "ask"
    INFORM = "inform"


class Choice(Wire):
    """One answer to a question. `not_possible` says why it can't be taken now, and `command` is what a
    person may run to make it possible, word by word; `typed` is a word that the person must type to
    take it (sent back as the answer's `typed`)."""

    id: str
    label: str
    detail: str = ""
    not_possible: str | None = None
    command: tuple[str, ...] = ()
    typed: str | None = None


class Difference(Wire):
    """One line of "when it stopped" against "here, now"."""

    what: str
    recorded: str
    now: str


class Drift(Wire):
    """One recorded fact that no longer holds, with what can be done about it.

    `id` is `subsystem.kind` or `subsystem.kind:path`. `unattended` is a choice id or `stop`.
    An `inform` drift has no choices. `facts` are what the rule read: when one changes, an answer
    given before no longer counts.
    """

    id: str
    kind: DriftKind
    subsystem: str
    severity: Severity
    title: str
    reason: str
    path: str | None = None
    differences: tuple[Difference, ...] = ()
    facts: dict[str, str] = {}
    choices: tuple[Choice, ...] = ()
    suggested: str | None = None
    unattended: str = "stop"


class Question(Wire):
    """What one round asks. `token` stands for the facts the questions were made from; answers to
    other facts are refused. `round` is 1 (place and ownership) or 2 (everything else)."""

    restore_id: str
    thread_id: str
    thread_name: str
    token: str
    round: int
    rounds: int
    drifts: tuple[Drift, ...]


class Answer(Wire):
    """The choice taken for one drift; `typed` repeats the choice's word where it has one."""

    choice: str
    typed: str | None = None


class Answers(Wire):
    """A client's reply to `restore/ask`: answers by drift id, or `cancelled`."""

    answers: dict[str, Answer] = {}
    cancelled: bool = False


class Status(enum.Enum):
    """How one subsystem came out of a restore."""

    RESTORED = "restored"
    DEFAULTED = "defaulted"
    INVALIDATED = "invalidated"
    SKIPPED = "skipped"
    FAILED = "failed"
    DEGRADED = "degraded"
    NOT_TRACKED = "notTracked"


class SubsystemReport(Wire):
    """One subsystem's outcome. `summary` is one line for people, `details` are further lines."""

    name: str
    status: Status
    reason: str
    summary: str
    details: tuple[str, ...] = ()


class Outcome(enum.Enum):
    """How a restore ended."""

    RESTORED = "restored"
    PARTIAL = "partial"
    REFUSED = "refused"
    NEEDS_ANSWER = "needsAnswer"
    ROLLED_BACK = "rolledBack"
    CANCELLED = "cancelled"
    READ_ONLY = "readOnly"


class Evidence(Wire):
    """One of the six answers of a report: does the invariant hold, and from what we know it."""

    holds: bool
    summary: str
    evidence: tuple[str, ...] = ()


class SixQuestions(Wire):
    """The six invariants, answered from evidence: who, where, may do, has done, verified to, why."""

    who: Evidence
    where: Evidence
    may_do: Evidence
    has_done: Evidence
    verified_to: Evidence
    why: Evidence


class LaunchStep(Wire):
    """Something an agent must be told before it starts; run only by `--exec`. `argv` is spoken to
    in newline-delimited JSON: `requests` are sent in order; each that has an `id` must be answered
    without error, one without is a notification. The last answer's result must hold `expected`,
    key by key."""

    title: str
    argv: tuple[str, ...]
    requests: tuple[dict[str, object], ...]
    expected: dict[str, object] = {}


class LaunchPlan(Wire):
    """How to start the agent: argv without a shell, the folder, environment changes. `notes` say, for
    people, where the agent can't be told exactly what was restored."""

    argv: tuple[str, ...]
    folder: str
    environment: dict[str, str] = {}
    before: tuple[LaunchStep, ...] = ()
    notes: tuple[str, ...] = ()


class Record(Wire):
    """What was restored through which event, and what did not survive."""

    restored_through: dict[str, int]
    events_read: int
    events_damaged: int
    invalidated: tuple[str, ...] = ()
    tools_redone: tuple[str, ...] = ()
    rerun_checks: tuple[str, ...] = ()
    handed_to_person: tuple[str, ...] = ()
    not_known: tuple[str, ...] = ()
    damage: tuple[str, ...] = ()


class RestoreReport(Wire):
    """The truthful end of a restore. `launch` is absent unless the agent may be started;
    `question` is present when the outcome is `needsAnswer`. `stopped_at` is RFC 3339 in UTC, `stopped`
    says how it stopped."""

    restore_id: str
    thread_id: str
    thread_name: str
    session_id: str | None
    resumed_from: str | None
    agent: str
    run: int
    outcome: Outcome
    headline: str
    stopped_at: str
    stopped: str
    six: SixQuestions
    subsystems: tuple[SubsystemReport, ...]
    drifts: tuple[Drift, ...]
    answers: dict[str, Answer]
    record: Record
    differences: tuple[Difference, ...] = ()
    handover: str = ""
    launch: LaunchPlan | None = None
    question: Question | None = None


class RestoreProgress(Wire):
    """One step of a running restore: `n` of `of`, and what is being done."""

    restore_id: str
    thread_id: str
    n: int
    of: int
    subsystem: str
    title: str
    state: str
