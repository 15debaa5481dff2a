"""The checks that were run, and whether their results still count.

A result counts only while every input file is seen to hold the very bytes it had. A file that
differs, is gone or could not be compared takes it away; nothing is ever rerun from here.
"""

import posixpath
from typing import ClassVar

import msgspec

from resumed.protocol.restore import Drift, Status
from resumed.protocol.threads import CheckView
from resumed.restore import touched
from resumed.restore.events.envelope import Event, Payload
from resumed.restore.events.session import CheckRecorded, StateInvalidated
from resumed.restore.probes import AnyProbe, FileSeen, Seen
from resumed.restore.steps import RecordState, Step
from resumed.restore.subsystem import Choices, Restoration, Target
from resumed.restore.wording import listed, one_line

CHECKS_KEPT = 512
FINDINGS_KEPT = 50
RESULT_WORDS = {"passed": "passed", "failed": "failed", "error": "ended in an error"}


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """The last result of one check. `inputs` maps a file to the SHA-256 of its bytes."""

    check_id: str
    command: str
    result: str
    passed: int | None
    total: int | None
    findings: tuple[str, ...]
    inputs: dict[str, str]


class VerifierState(msgspec.Struct, kw_only=True):
    """Checks by id, the latest last. `lapsed` maps a check that no longer counts to its command."""

    checks: dict[str, Check] = {}
    lapsed: dict[str, str] = {}


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """A check's inputs against what is there now; with nothing in any list the result counts."""

    check: Check
    differ: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()

    @property
    def counts(self) -> bool:
        """Whether the result still holds: every input was compared and is the same."""
        return bool(self.check.inputs) and not (self.differ or self.gone or self.unseen)


class Verifier:
    """See the module."""

    name: ClassVar[str] = "verifier"
    version: ClassVar[int] = 1
    after: ClassVar[tuple[str, ...]] = ("file_history",)
    handles: ClassVar[tuple[type[Payload], ...]] = (CheckRecorded, StateInvalidated)
    state_type: ClassVar[type[VerifierState]] = VerifierState

    def initial(self) -> VerifierState:
        """No check is recorded."""
        return VerifierState()

    def apply(self, state: VerifierState, event: Event) -> VerifierState:
        """Fold one event in; the last result of a check is the one that is kept."""
        match event.payload:
            case CheckRecorded() as recorded:
                _record(state, recorded)
            case StateInvalidated(subsystem="verifier", keys=keys):
                for check_id in keys or tuple(state.checks):
                    check = state.checks.pop(check_id, None)
                    if check is not None:
                        state.lapsed[check_id] = check.command
                _drop_oldest(state.lapsed)
        return state

    def probes(self, state: VerifierState, target: Target) -> tuple[AnyProbe, ...]:
        """Every input file of every check, where the work will go on."""
        inputs = {path: None for check in state.checks.values() for path in check.inputs}
        probes = (_probe(path, target) for path in inputs)
        return tuple(dict.fromkeys(probe for probe in probes if probe is not None))

    def drift(self, state: VerifierState, seen: Seen, target: Target) -> tuple[Drift, ...]:
        """Stale checks are listed in the report, never asked about."""
        return ()

    def steps(self, state: VerifierState, seen: Seen, choices: Choices, target: Target) -> Restoration:
        """Keep the results that still count; record that the others do not."""
        compared = [_compare(check, seen, target) for check in state.checks.values()]
        stale = [comparison for comparison in compared if not comparison.counts]
        again = dict.fromkeys([*(each.check.command for each in stale), *state.lapsed.values()])
        if not compared:
            return _nothing_counts(state)
        details = [_line(comparison) for comparison in compared] if len(compared) > 1 else []
        details += _lapsed_lines(state)
        if not stale:
            return Restoration(
                status=Status.RESTORED,
                reason="same command, same files",
                summary=_summary(compared, stale),
                details=tuple(details),
                rerun=tuple(again),
            )
        return Restoration(
            status=Status.INVALIDATED,
            reason="; ".join(dict.fromkeys(_why(comparison) for comparison in stale)),
            summary=_summary(compared, stale),
            details=tuple(details),
            steps=(_forget_step(stale),),
            told=tuple(_told(comparison) for comparison in stale),
            keys=tuple(comparison.check.check_id for comparison in stale),
            rerun=tuple(again),
        )

    def view(self, state: VerifierState) -> tuple[CheckView, ...]:
        """Every check's last result, the latest last."""
        return tuple(
            CheckView(
                check_id=check.check_id,
                command=check.command,
                result=check.result,
                passed=check.passed,
                total=check.total,
                findings=check.findings,
            )
            for check in state.checks.values()
        )


def _record(state: VerifierState, recorded: CheckRecorded) -> None:
    state.checks.pop(recorded.check_id, None)
    state.lapsed.pop(recorded.check_id, None)
    state.checks[recorded.check_id] = Check(
        check_id=recorded.check_id,
        command=recorded.command,
        result=recorded.result,
        passed=recorded.passed,
        total=recorded.total,
        findings=recorded.findings[:FINDINGS_KEPT],
        inputs=recorded.inputs,
    )
    _drop_oldest(state.checks)


def _drop_oldest(kept: dict[str, Check] | dict[str, str]) -> None:
    while len(kept) > CHECKS_KEPT:
        kept.pop(next(iter(kept)))


def _probe(path: str, target: Target) -> AnyProbe | None:
    # A client chose the path: what leads out of the folder is not looked at.
    inside = touched.relative(path, target)
    if target.root is None or posixpath.isabs(inside) or inside.split("/", 1)[0] == "..":
        return None
    return touched.probe_for(path, target)


def _compare(check: Check, seen: Seen, target: Target) -> Comparison:
    differ, gone, unseen = [], [], []
    for path, sha256 in sorted(check.inputs.items()):
        probe = _probe(path, target)
        observation = None if probe is None else seen.get(probe)
        if not isinstance(observation, FileSeen):
            unseen.append(path)
        elif observation.kind == "absent":
            gone.append(path)
        elif observation.sha256 is None and observation.kind in ("regular", "link"):
            unseen.append(path)
        elif observation.sha256 != sha256:
            differ.append(path)
    return Comparison(check=check, differ=tuple(differ), gone=tuple(gone), unseen=tuple(unseen))


def _forget_step(stale: list[Comparison]) -> Step:
    events: tuple[tuple[str, dict[str, object]], ...] = tuple(
        (
            "state_invalidated",
            {"subsystem": "verifier", "keys": [comparison.check.check_id], "reason": _why(comparison)},
        )
        for comparison in stale
    )
    return Step(
        subsystem="verifier",
        title="Record which checks no longer count",
        do=RecordState(events=events),
    )


def _nothing_counts(state: VerifierState) -> Restoration:
    if not state.lapsed:
        return Restoration(status=Status.RESTORED, reason="no checks were recorded", summary="none recorded")
    again = tuple(dict.fromkeys(state.lapsed.values()))
    return Restoration(
        status=Status.RESTORED,
        reason="as recorded: no check counts",
        summary=f"none counts; rerun: {one_line(listed(again), 200)}",
        details=_lapsed_lines(state),
        rerun=again,
    )


def _lapsed_lines(state: VerifierState) -> tuple[str, ...]:
    return tuple(
        f"{check_id} did not count any more already; rerun: {one_line(command, 200)}"
        for check_id, command in state.lapsed.items()
    )


def _summary(compared: list[Comparison], stale: list[Comparison]) -> str:
    if len(compared) == 1:
        return _line(compared[0])
    if not stale:
        return f"all {len(compared)} still count: same commands, same files"
    again = listed(list(dict.fromkeys(one_line(comparison.check.command) for comparison in stale)))
    kept = len(compared) - len(stale)
    if not kept:
        return f"none of {len(compared)} counts any more; rerun: {again}"
    return f"{kept} of {len(compared)} still {'counts' if kept == 1 else 'count'}; rerun: {again}"


def _line(comparison: Comparison) -> str:
    check = comparison.check
    if not comparison.counts:
        again = one_line(check.command, 200)
        what = _score(check) or one_line(check.check_id)
        return f"{what} no longer counts, {_why_briefly(comparison)}; rerun: {again}"
    failing = f". Failing: {one_line(', '.join(check.findings), 200)}" if check.findings else ""
    name = one_line(check.check_id)
    if _score(check):
        return f"{name} {_score(check)} still count: same command, same files{failing}"
    result = RESULT_WORDS.get(check.result, one_line(check.result))
    return f"{name} {result}, still counts: same command, same files{failing}"


def _score(check: Check) -> str:
    return "" if check.passed is None or check.total is None else f"{check.passed}/{check.total}"


def _why(comparison: Comparison) -> str:
    if not comparison.check.inputs:
        return "no input files were recorded"
    return " and ".join(
        f"{listed([one_line(path) for path in paths])} {one if len(paths) == 1 else many}"
        for paths, one, many in _fates(comparison)
    )


def _why_briefly(comparison: Comparison) -> str:
    total, fates = len(comparison.check.inputs), _fates(comparison)
    if total > 1 and len(fates) == 1 and len(fates[0][0]) == total:
        return f"{'both' if total == 2 else f'all {total}'} files {fates[0][2]}"
    return _why(comparison)


def _fates(comparison: Comparison) -> list[tuple[tuple[str, ...], str, str]]:
    fates = [
        (comparison.differ, "differs", "differ"),
        (comparison.gone, "is gone", "are gone"),
        (comparison.unseen, "could not be compared", "could not be compared"),
    ]
    return [fate for fate in fates if fate[0]]


def _told(comparison: Comparison) -> str:
    check = comparison.check
    score = f" ({_score(check)})" if _score(check) else ""
    return (
        f"The result of `{one_line(check.command, 200)}`{score} no longer counts: {_why(comparison)}. "
        "Run it again before relying on it."
    )


VERIFIER = Verifier()
