"""A restore that was killed: finish it or take it back, from its journal and what is seen now.

A pure function, run before anything else touches the thread. The conversation is never replayed.
"""

import enum
from collections.abc import Iterable

import msgspec

from resumed.restore.events.envelope import Event
from resumed.restore.events.journal import RestoreClosed, RestorePlanned, RestoreStep
from resumed.restore.events.session import SessionEnded
from resumed.restore.probes import (
    AnyProbe,
    HeadLogProbe,
    HeadLogSeen,
    RepositoryProbe,
    RepositorySeen,
    Seen,
    SwitchProbe,
    SwitchSeen,
)
from resumed.restore.steps import (
    AddWorktree,
    AnyVerb,
    HeadAt,
    PathAbsent,
    RecordState,
    Step,
    SwitchBranch,
    holds,
    probe_of,
)


class Unfinished(msgspec.Struct, frozen=True, kw_only=True):
    """A restore with no end in its journal: its steps, and the last state of each by number."""

    restore_id: str
    steps: tuple[Step, ...]
    states: dict[int, str]


class Verdict(enum.Enum):
    """What to do with it."""

    FINISH = "finish"
    ROLL_BACK = "rollBack"


class Recovery(msgspec.Struct, frozen=True, kw_only=True):
    """`undo` are verbs to perform in this order, each with the number of its step; then the journal
    is closed as the verdict says. `stuck` are steps whose effect is neither there nor undoable;
    `notes` say where a person should look all the same. `standing` are the steps whose place is there now:
    where one of them is not undone, somebody may be in it. `undone` are the steps that were taken back before
    the taking back was itself cut off."""

    restore_id: str
    verdict: Verdict
    undo: tuple[tuple[int, AnyVerb], ...] = ()
    stuck: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    standing: frozenset[int] = frozenset()
    undone: frozenset[int] = frozenset()


class Recovered(msgspec.Struct, frozen=True):
    """What recoveries did: titles of the steps that were `undone`, and sentences on what is `stuck` or where
    a person should look. On record with the end of the restore that was cut off."""

    undone: tuple[str, ...] = ()
    stuck: tuple[str, ...] = ()

    @property
    def sentences(self) -> tuple[str, ...]:
        """All of it, for people."""
        taken_back = (f"A restore that was cut off was taken back first: {title}." for title in self.undone)
        return (*taken_back, *self.stuck)


NOTHING_RECOVERED = Recovered()


def unfinished(events: tuple[Event, ...]) -> Unfinished | None:
    """Read a session's journal. `None` when it has no restore, or the restore was closed."""
    found: Unfinished | None = None
    for event in events:
        match event.payload:
            case RestorePlanned() as planned:
                states = found.states if found and found.restore_id == planned.restore_id else {}
                steps = tuple(msgspec.convert(step, Step) for step in planned.steps)
                found = Unfinished(restore_id=planned.restore_id, steps=steps, states=states)
            case RestoreStep() as step if found and step.restore_id == found.restore_id:
                found.states[step.n] = step.state
            case RestoreClosed() as closed if found and closed.restore_id == found.restore_id:
                found = None
    return found


def is_cut_off(events: Iterable[Event]) -> bool:
    """Whether a run's journal has a plan and no end: its restore was killed, or is at work."""
    kinds = {type(event.payload) for event in events}
    return RestorePlanned in kinds and not kinds & {RestoreClosed, SessionEnded}


def recovery_probes(restore: Unfinished) -> tuple[AnyProbe, ...]:
    """What must be seen to judge each step that may have had an effect."""
    conditions = (
        condition
        for n, step in enumerate(restore.steps, 1)
        if n in restore.states
        for condition in (*step.expects, *step.ensures)
    )
    switches = (
        SwitchProbe(step.do.root, step.do.to_branch)
        for n, step in enumerate(restore.steps, 1)
        if n in restore.states and isinstance(step.do, SwitchBranch) and step.do.to_branch is not None
    )
    logs = (
        HeadLogProbe(place)
        for n, step in enumerate(restore.steps, 1)
        if n in restore.states and (place := _place_of(step.do)) is not None
    )
    return tuple(dict.fromkeys((*(probe_of(condition) for condition in conditions), *switches, *logs)))


def recover(restore: Unfinished, seen: Seen) -> Recovery:
    """Finish when every step is done; else take back, last first, whatever had its effect."""
    if restore.steps and all(restore.states.get(n) == "done" for n in range(1, len(restore.steps) + 1)):
        return Recovery(restore_id=restore.restore_id, verdict=Verdict.FINISH)
    undo: list[tuple[int, AnyVerb]] = []
    stuck: list[str] = []
    notes: list[str] = []
    standing: list[int] = []
    undone = [n for n, state in restore.states.items() if state == "undone"]
    for n in sorted(restore.states, reverse=True):
        if not 1 <= n <= len(restore.steps):
            stuck.append("A step is in the journal that is in no plan; what it did is not known.")
            continue
        step, state = restore.steps[n - 1], restore.states[n]
        if state == "undone" or step.undo is None or isinstance(step.do, RecordState):
            continue
        is_before = all(holds(condition, seen) for condition in step.expects)
        if state == "undoing" and is_before and not _is_between(step, state, seen):
            undone.append(n)
            continue
        is_after = all(holds(condition, seen) for condition in step.ensures)
        is_ours = is_after and _mover(step.do, seen) == restore.restore_id
        # What was being taken away already is gone on with, beside whatever somebody put there since.
        if is_after and not is_ours and state != "undoing":
            notes.append(_done_by_others(step, seen))
        elif is_after or _is_between(step, state, seen):
            undo.append((n, step.undo))
        elif not is_before:
            stuck.append(f"“{step.title}” is neither as before nor as after; it was left as it is.")
        elif state == "begun" and _half_switched(step.do, seen):
            notes.append(f"“{step.title}” was cut off: HEAD is as before, look at `git status` there.")
        if is_ours or not (is_after or is_before or not _place_stands(step, seen)):
            standing.append(n)
    return Recovery(
        restore_id=restore.restore_id,
        verdict=Verdict.ROLL_BACK,
        undo=tuple(undo),
        stuck=tuple(stuck),
        notes=tuple(notes),
        standing=frozenset(standing),
        undone=frozenset(undone),
    )


def _place_of(verb: AnyVerb) -> str | None:
    """The work tree whose HEAD the verb sets."""
    match verb:
        case AddWorktree(path=path) | SwitchBranch(root=path):
            return path
    return None


def _mover(verb: AnyVerb, seen: Seen) -> str | None:
    """Which restore made the work tree, or moved its HEAD last: empty for somebody else, who may have wanted
    just the same, `None` where nothing tells."""
    log = seen.get(HeadLogProbe(_place_of(verb) or ""))
    if not isinstance(log, HeadLogSeen):
        return None
    return log.begun_by if isinstance(verb, AddWorktree) else log.moved_by


def _done_by_others(step: Step, seen: Seen) -> str:
    who = "nothing tells who did it" if _mover(step.do, seen) is None else "somebody else did it"
    return f"“{step.title}” of a restore that was cut off is done, but {who}; it was left as it is."


def _is_between(step: Step, state: str, seen: Seen) -> bool:
    """Whether a work tree that was to be made, or taken away, was cut off in the middle of that: then it is
    taken away, which goes on where it was. Making it begins with what git kept for the one before."""
    if not isinstance(step.do, AddWorktree):
        return False
    source = seen.get(RepositoryProbe(step.do.repository))
    is_forgotten = isinstance(source, RepositorySeen) and all(
        entry.path != step.do.path for entry in source.worktrees
    )
    is_absent = holds(PathAbsent(step.do.path), seen) is True
    dropped = step.do.registered_at is not None and is_absent and is_forgotten
    return state == "undoing" or dropped


def _place_stands(step: Step, seen: Seen) -> bool:
    """Whether somebody has gone on in the place that the step led to: HEAD is at another commit of its
    branch, or, in a folder that was made, anywhere."""
    for condition in step.ensures:
        there = seen.get(probe_of(condition))
        if not isinstance(condition, HeadAt) or not isinstance(there, RepositorySeen):
            continue
        was_made = isinstance(step.do, AddWorktree) and there.kind == "linked"
        if isinstance(step.do, AddWorktree) and _mover(step.do, seen) not in (None, step.do.restore_id):
            continue
        if there.top_level == condition.path and (was_made or there.branch == condition.branch):
            return True
    return False


def _half_switched(verb: AnyVerb, seen: Seen) -> bool:
    """HEAD moves last: where it stands as before, some files may already be the other branch's. The
    switch was begun when no uncommitted file differed between the two, so one that does now tells it."""
    if not isinstance(verb, SwitchBranch) or verb.to_branch is None:
        return False
    switch = seen.get(SwitchProbe(verb.root, verb.to_branch))
    return not isinstance(switch, SwitchSeen) or bool(switch.overwritten)
