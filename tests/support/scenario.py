"""One situation: how it comes about, and how every answer to it must leave the world.

`examine` looks, asks and leaves in one world, and nothing there may change before the unattended
restore; `take` takes one choice in a fresh world. What people read is kept in `tests/scenarios/<name>.txt`.
"""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from resumed.protocol.restore import (
    Answer,
    Drift,
    DriftKind,
    LaunchPlan,
    Outcome,
    RestoreReport,
    Severity,
)
from resumed.protocol.resume import DriftCheckParams, DriftCheckResult
from resumed.protocol.threads import PermissionsView, ThreadReadParams, ThreadReadResult
from tests.support.golden import Golden
from tests.support.repository import run_git
from tests.support.workspace import Decide, client, resume, resume_unattended
from tests.support.world import State, World, changed, entries, inhabited

APPROVALS = ("untrusted", "on-request", "on-failure", "never")
SANDBOXES = ("read-only", "workspace-write", "danger-full-access")
STARTS = (Outcome.RESTORED, Outcome.PARTIAL)


@dataclass(frozen=True)
class After:
    """What one choice does to the home, and nothing else.

    `switched` maps a checkout to the branch it is on afterwards; `made` maps a new linked checkout to
    its branch (`None`: detached at the recorded commit); `branches` are made at the recorded commit."""

    switched: Mapping[str, str] = field(default_factory=dict)
    made: Mapping[str, str | None] = field(default_factory=dict)
    branches: tuple[str, ...] = ()


NOTHING = After()


@dataclass(frozen=True)
class Scenario:
    """`build` makes the world as it is when Resume is pressed in `pressed`, and returns the thread.

    `choices` are all that can be taken (`readOnly` and `cancel` always can), `blocked` those that are
    shown but can't be taken yet. Without choices the drift is only listed. `home` is the main checkout
    that new checkouts belong to; `starts` the folder that the new run is bound to, by choice, if it is
    not `pressed`; `grants` the approval and sandbox that a choice brings, where it may be more than was
    recorded."""

    name: str
    kind: DriftKind
    build: Callable[[World], Awaitable[str]]
    pressed: str = "payments"
    home: str = "payments"
    choices: Mapping[str, After] = field(default_factory=dict)
    blocked: tuple[str, ...] = ()
    unattended: Outcome = Outcome.NEEDS_ANSWER
    starts: Mapping[str, str] = field(default_factory=dict)
    grants: Mapping[str, tuple[str, str]] = field(default_factory=dict)


def answering(kind: DriftKind, choice: str | None) -> Decide:
    """Take the choice for the kind (`None`: leave), for others the suggested one; words are typed."""

    def decide(drift: Drift) -> Answer | str | None:
        taken = choice if drift.kind is kind else drift.suggested
        typed = next((offered.typed for offered in drift.choices if offered.id == taken), None)
        return None if taken is None else Answer(choice=taken, typed=typed)

    return decide


async def examine(scenario: Scenario, base: Path, golden: Golden) -> None:
    """Check, leave, read only, and resume unattended, all in one world."""
    with inhabited(base) as world:
        thread = await scenario.build(world)
        folder = world.serve(scenario.pressed)
        recorded = (await read(folder, thread)).permissions
        before, streams = world.look(), _streams(world)
        async with client(folder) as connection:
            checked: DriftCheckResult = await connection.call("drift/check", DriftCheckParams(thread=thread))
        golden.add("check", checked, world.home)
        assert _streams(world) == streams
        assert _identical(world, before)
        found = [drift for drift in checked.drifts if drift.kind is scenario.kind]
        assert found, [drift.kind for drift in checked.drifts]
        if checked.question is not None:
            await _leave(scenario, world, thread)
            assert _identical(world, before)
        report = await resume_unattended(folder, thread)
        golden.add("unattended", report, world.home)
        assert _identical(world, before)
        assert report.outcome is scenario.unattended, report.headline
        assert [drift.id for drift in report.drifts if drift.kind is scenario.kind]
        if any(drift.subsystem == "worktree" for drift in _asked(checked)):
            assert report.outcome is Outcome.NEEDS_ANSWER
        if report.outcome is Outcome.NEEDS_ANSWER:
            assert checked.question is not None
            assert report.question is not None
            assert report.question.drifts == checked.question.drifts
        else:
            assert not wider(recorded, granted(world, report))
        assert starts_as_recorded(report, recorded)


async def take(scenario: Scenario, choice: str, base: Path, golden: Golden) -> None:
    """Take one choice in a fresh world, and compare what it did."""
    with inhabited(base) as world:
        thread = await scenario.build(world)
        folder = world.serve(scenario.pressed)
        recorded = await read(folder, thread)
        before = world.look()
        report, person = await resume(folder, thread, answering(scenario.kind, choice))
        for question in person.asked:
            golden.add(f"taking {choice}, asked in round {question.round}", question.drifts, world.home)
        golden.add(f"taking {choice}, report", report, world.home)
        assert report.outcome in STARTS, report.headline
        _assert_did(scenario, choice, recorded.place.sha or "", before, world)
        drift = next(d for question in person.asked for d in question.drifts if d.kind is scenario.kind)
        possible = {offered.id for offered in drift.choices if offered.not_possible is None}
        assert possible - {"readOnly", "cancel"} == scenario.choices.keys(), possible
        blocked = {offered.id for offered in drift.choices} - possible
        assert blocked == set(scenario.blocked), blocked
        after = await read(folder, thread)
        assert after.place.root == str(world.home / scenario.starts.get(choice, scenario.pressed)), (
            after.place
        )
        now = granted(world, report)
        if choice in scenario.grants:
            assert (now.approval, now.sandbox) == scenario.grants[choice], now
        else:
            assert not wider(recorded.permissions, now), now
            assert starts_as_recorded(report, recorded.permissions)
        if report.launch is not None:
            assert report.launch.folder == after.place.root
            assert _flags(report.launch) == (now.approval, now.sandbox)


def wider(recorded: PermissionsView, now: PermissionsView) -> bool:
    """Whether more is allowed now than was recorded (what is not recorded is the safest), or anything
    that nobody may get without a person's word."""
    before = _levels(recorded.approval, recorded.sandbox)
    after = _levels(now.approval, now.sandbox)
    unguarded = now.approval == APPROVALS[-1] or now.sandbox == SANDBOXES[-1]
    left_plan = recorded.mode == "plan" and now.mode != "plan"
    return after[0] > before[0] or after[1] > before[1] or left_plan or unguarded


def starts_as_recorded(report: RestoreReport, recorded: PermissionsView) -> bool:
    """Whether the launch plan, if there is one, allows no more than the record did."""
    if report.outcome not in STARTS:
        return report.launch is None
    if report.launch is None:
        return True
    before, after = _levels(recorded.approval, recorded.sandbox), _levels(*_flags(report.launch))
    paused = recorded.goal_status != "active" or bool(report.launch.before)
    return after[0] <= before[0] and after[1] <= before[1] and paused


async def read(folder: Path, thread: str) -> ThreadReadResult:
    """The whole thread."""
    async with client(folder) as connection:
        result: ThreadReadResult = await connection.call("thread/read", ThreadReadParams(thread=thread))
    return result


def granted(world: World, report: RestoreReport) -> PermissionsView:
    """What the new run may do, as its own stream has it."""
    (stream,) = world.state.glob(f"sessions/*/*/*/*{report.session_id}.jsonl")
    events = [json.loads(line) for line in stream.read_text(encoding="utf-8").splitlines()]
    (said,) = (event["payload"] for event in events if event["type"] == "permissions_set")
    return PermissionsView(
        approval=said["approval"], sandbox=said["sandbox"], profile=None, mode=said["mode"]
    )


async def _leave(scenario: Scenario, world: World, thread: str) -> None:
    """Cancel, then just read; each says that nothing was changed or started."""
    folder = world.home / scenario.pressed
    for choice, outcomes in (
        (None, (Outcome.CANCELLED, Outcome.REFUSED)),
        ("readOnly", (Outcome.READ_ONLY,)),
    ):
        report, person = await resume(folder, thread, answering(scenario.kind, choice))
        assert report.outcome in outcomes, report.headline
        assert "Nothing was changed or started." in report.headline
        assert report.launch is None
        assert report.session_id is None
        assert scenario.kind.value in [kind for kinds in person.kinds for kind in kinds]


def _assert_did(scenario: Scenario, choice: str, sha: str, before: State, world: World) -> None:
    """Compare the whole world with what the choice may do to it."""
    expected, home, after = scenario.choices[choice], scenario.home, world.look()
    if expected == NOTHING:
        assert after == before, changed(before, after) or "a time"
        return
    branches = before.branches | {f"{home}:{branch}": sha for branch in expected.branches}
    heads = dict(before.heads)
    for folder, branch in (*expected.switched.items(), *expected.made.items()):
        heads[folder] = branch, branches[f"{home}:{branch}"] if branch else sha
    assert after.branches == branches, (after.branches, branches)
    assert after.heads == heads, (after.heads, heads)
    may_change = [
        f"{home}/.git/{logs}refs/heads/{name}" for name in expected.branches for logs in ("", "logs/")
    ]
    may_change += [path for folder in expected.switched for path in _switched(folder, before, after, world)]
    may_be_made = (*expected.made, *((f"{home}/.git/worktrees",) if expected.made else ()))
    for path in changed(before, after):
        is_made = any(f"{path}/".startswith(f"{folder}/") for folder in may_be_made)
        assert is_made or any(f"{name}/".startswith(f"{path}/") for name in may_change), path


def _asked(checked: DriftCheckResult) -> list[Drift]:
    return [drift for drift in checked.drifts if drift.severity is not Severity.INFORM]


def _identical(world: World, before: State) -> bool:
    """Every byte, mode and modification time; the time says that nothing was even rewritten."""
    after = world.look()
    assert after == before, changed(before, after) or "a time"
    return True


def _streams(world: World) -> dict[str, object]:
    folders = ("sessions", "archived_sessions", "threads", "worktrees")
    return {
        path: (entry.kind, entry.digest)
        for path, entry in entries(world.state).items()
        if path.partition("/")[0] in folders
    }


def _switched(folder: str, before: State, after: State, world: World) -> list[str]:
    """The files that are not the same on both branches, and where git keeps HEAD."""
    shas = [state.heads[folder][1] for state in (before, after)]
    place = world.home / folder
    files = run_git(place, "diff", "--name-only", *shas) if all(shas) else run_git(place, "ls-files")
    return [f"{folder}/{name}" for name in (".git/HEAD", ".git/index", ".git/logs/HEAD", *files.splitlines())]


def _flags(plan: LaunchPlan) -> tuple[str, str]:
    argv = plan.argv
    return argv[argv.index("-a") + 1], argv[argv.index("-s") + 1]


def _levels(approval: str | None, sandbox: str | None) -> tuple[int, int]:
    asks = APPROVALS.index(approval) if approval in APPROVALS else APPROVALS.index("on-request")
    writes = SANDBOXES.index(sandbox) if sandbox in SANDBOXES else 0
    return asks, writes
