"""Tool calls: what the agent did, what it may have done, and the files it left behind.

Nothing is ever rerun. A call without a result is decided by the files it announced, else by a person.
"""

from typing import ClassVar

from resumed.protocol.restore import Drift, Status
from resumed.protocol.threads import FileView, OperationsView, OperationView
from resumed.restore import operation_state, touched
from resumed.restore.events.envelope import Event, Payload
from resumed.restore.events.journal import RestoreClosed
from resumed.restore.events.session import (
    OperationBegun,
    OperationResolved,
    OperationSettled,
    ResultStored,
    SessionMeta,
    StateInvalidated,
    WorktreeBound,
)
from resumed.restore.operation_effects import (
    UNCLEAR,
    announced_paths,
    dangling,
    effect,
    verdict,
    verdict_note,
    verdict_words,
)
from resumed.restore.operation_files import Differing, differing, file_drift, kept, loss, note
from resumed.restore.operation_loss import by_reason, losses
from resumed.restore.operation_state import Open, OperationsState
from resumed.restore.probes import AnyProbe, Seen
from resumed.restore.steps import RecordState, Step
from resumed.restore.subsystem import Choices, Restoration, Target
from resumed.restore.wording import capital, count


class Operations:
    """See the module."""

    name: ClassVar[str] = "operations"
    version: ClassVar[int] = 4
    after: ClassVar[tuple[str, ...]] = ("conversation",)
    handles: ClassVar[tuple[type[Payload], ...]] = (
        OperationBegun,
        OperationSettled,
        ResultStored,
        OperationResolved,
        StateInvalidated,
        WorktreeBound,
        SessionMeta,
        RestoreClosed,
    )
    state_type: ClassVar[type[OperationsState]] = OperationsState

    def initial(self) -> OperationsState:
        """No operations."""
        return OperationsState()

    def apply(self, state: OperationsState, event: Event) -> OperationsState:
        """Fold one event in."""
        match event.payload:
            case OperationBegun() as begun:
                operation_state.begin(state, begun, event)
            case OperationSettled() as settled:
                operation_state.settle(state, settled, event)
            case ResultStored() as stored:
                if stored.text:
                    state.results.setdefault(stored.operation_id, stored.text)
            case OperationResolved() as resolved:
                operation_state.resolve(state, resolved)
            case StateInvalidated(subsystem="operations") as invalidated:
                operation_state.give_up(state, invalidated)
            case SessionMeta() as meta:
                operation_state.begin_run(state, meta)
            case RestoreClosed():
                # It is read only of a run that an agent took up: now the agent has been told.
                operation_state.forget(state)
            case WorktreeBound() as bound:
                operation_state.move(state, bound)
        return state

    def probes(self, state: OperationsState, target: Target) -> tuple[AnyProbe, ...]:
        """The touched files, and those that an open call announced."""
        paths = dict.fromkeys(state.files)
        for operation in state.open.values():
            paths.update(dict.fromkeys(announced_paths(operation)))
        found = (touched.probe_for(path, target) for path in paths)
        return tuple(dict.fromkeys(probe for probe in found if probe is not None))

    def drift(self, state: OperationsState, seen: Seen, target: Target) -> tuple[Drift, ...]:
        """Files that are not as the agent left them, and calls whose end is not known."""
        files = [file_drift(differs, target) for differs in differing(state, seen, target)]
        calls = [
            dangling(operation, target)
            for operation in state.open.values()
            if effect(operation, seen, target) == UNCLEAR
        ]
        return (*files, *calls)

    def steps(self, state: OperationsState, seen: Seen, choices: Choices, target: Target) -> Restoration:
        """Record what became of each open call and which edits are lost; keep every file as it is."""
        differs = differing(state, seen, target)
        lost = tuple(each for each in differs if each.lost)
        verdicts = [
            (operation, *verdict(operation, seen, choices, target)) for operation in state.open.values()
        ]
        unsure = [operation for operation, found, _ in verdicts if found == "agentChecks"]
        beyond = any(operation.operation_class == "external" for operation in unsure)
        steps = []
        if verdicts:
            steps.append(_resolution(verdicts))
        if lost:
            steps.append(_invalidation(by_reason(lost, choices, target), target))
        done = f"{count(sum(state.counts.values()), 'action')}, none repeated"
        told_loss = losses(lost, choices, target)
        return Restoration(
            status=Status.INVALIDATED if lost else Status.RESTORED,
            reason=told_loss.reason if lost else "every action is on record and none was repeated",
            summary=f"{done}; {told_loss.summary}" if lost else done,
            details=(
                *(loss(each) for each in lost),
                *(kept(each) for each in differs if not each.lost),
                *(_cut_off(each, ": ", verdict_words(each, found)) for each, found, _ in verdicts),
            ),
            steps=tuple(steps),
            told=(
                *(note(each) for each in differs),
                *(_cut_off(each, "; ", verdict_note(each, found)) for each, found, _ in verdicts),
            ),
            handed=tuple(operation.title for operation in unsure),
            unknown=("databases and servers outside this folder",) if beyond else (),
            keys=tuple(each.path for each in lost),
        )

    def view(self, state: OperationsState) -> OperationsView:
        """Counts by state and the calls whose end is not known."""
        return OperationsView(
            total=sum(state.counts.values()),
            by_state=dict(sorted(state.counts.items())),
            dangling=tuple(
                OperationView(
                    operation_id=operation.operation_id,
                    tool=operation.tool,
                    title=operation.title,
                    state="begun",
                    turn_id=operation.turn,
                )
                for operation in state.open.values()
            ),
        )

    def files_view(self, state: OperationsState, root: str) -> tuple[FileView, ...]:
        """The touched files, relative to the recorded root."""
        prefix = root.rstrip("/") + "/"
        return tuple(
            FileView(
                path=file.path.removeprefix(prefix),
                change=file.change,
                lines_added=file.lines_added,
                lines_removed=file.lines_removed,
            )
            for file in sorted(state.files.values(), key=lambda file: file.path)
        )


def _resolution(verdicts: list[tuple[Open, str, str]]) -> Step:
    return Step(
        subsystem="operations",
        title="Record what became of the actions that were cut off",
        do=RecordState(
            events=tuple(
                (
                    "operation_resolved",
                    {"operation_id": operation.operation_id, "verdict": found, "by": by},
                )
                for operation, found, by in verdicts
            )
        ),
    )


def _invalidation(lost: dict[str, list[Differing]], target: Target) -> Step:
    return Step(
        subsystem="operations",
        title="Record which edits no longer count here",
        do=RecordState(
            events=tuple(
                (
                    "state_invalidated",
                    {"subsystem": "operations", "keys": _paths_here(files, target), "reason": why},
                )
                for why, files in lost.items()
            )
        ),
    )


def _paths_here(files: list[Differing], target: Target) -> list[str]:
    """By then it is on record that the files are where the work goes on."""
    before = (target.recorded_root, target.canonical_root)
    return [touched.moved(each.file.path, before, target.root or "") for each in files]


def _cut_off(operation: Open, mark: str, rest: str) -> str:
    return f"{capital(operation.title)} was cut off{mark}{rest}"


OPERATIONS = Operations()
