"""What `thread/read` says of each Codex recording, in literal values, through the real daemon.

The recordings are as they were written: none of their folders exist here.
"""

import os
from pathlib import Path

import msgspec
import pytest

from resumed.protocol.threads import ThreadListParams, ThreadListResult, ThreadReadResult
from tests.support.codex import NAMES, install_recording
from tests.support.scenario import read
from tests.support.workspace import client, serving
from tests.support.world import entries

REPO = "/home/dev/repo"
WORKTREE = "/home/dev/wt-feature"
FEATURE = "83116dd18671915dfed9921e05ab1a0dd022211e"
PAYMENT = "34d781d90c3b4c61c779159eca3fb731b7d1fcb1"
LATER = "d585eef34e4ec41e24d4f504906dc908fc9e38a2"
GOAL = "patch the readme and verify"


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """The facts of one conversation that a person relies on. `tokens` and `compaction` are input,
    cached and output; `plan` is each step's status in the order of the list."""

    thread: str
    tokens: tuple[int, int, int]
    forked_from: str | None = None
    root: str = REPO
    last_folder: str = REPO
    silent: tuple[str, ...] = ()
    branch: str = "feature/x"
    sha: str = FEATURE
    model: str = "gpt-5.5"
    approval: str = "never"
    sandbox: str = "danger-full-access"
    mode: str = "normal"
    goal: tuple[str | None, str | None] = (None, None)
    user_turns: int = 1
    goal_turns: int = 0
    plan: tuple[str, ...] = ()
    compactions: int = 0
    compaction: tuple[int, int, int] = (0, 0, 0)
    state: str = "idle"
    dangling: tuple[str, ...] = ()


ACTIVE = (GOAL, "active")
VALUES = {
    "v104_compacted": Shown(
        thread="01a22d92-4239-7080-9df0-5618f8fa55a6",
        tokens=(11_153, 5_575, 600),
        model="gpt-5.1-codex",
        plan=("inProgress", "pending", "pending"),
        compactions=1,
        compaction=(2_612, 1_306, 120),
    ),
    "v104_resumed_with_update_plan": Shown(
        thread="01a22d90-ee2f-7440-815e-7ac7007a1160",
        tokens=(37_131, 18_563, 1_440),
        model="gpt-5.1-codex",
        user_turns=2,
        plan=("completed", "completed", "inProgress"),
    ),
    "v171_compacted_part1": Shown(
        thread="01a22d92-3ec8-7c93-b5a1-d309ebba1450",
        tokens=(40_577, 20_287, 600),
        goal=ACTIVE,
        compactions=2,
        compaction=(16_463, 8_231, 240),
    ),
    "v171_forked": Shown(
        thread="01a22d93-f307-7b33-9d22-ee4122b40b5e",
        forked_from="01a22d90-ee2f-7440-815e-7ac7007a1160",
        tokens=(13_461, 6_730, 120),
        user_turns=4,
        plan=("completed", "completed", "inProgress"),
    ),
    "v171_on_request_two_turns": Shown(
        thread="01a22dbd-6721-7b02-8d3d-d77a010ed4f3",
        tokens=(46_261, 23_130, 600),
        branch="fix/payment",
        sha=LATER,
        approval="on-request",
        sandbox="workspace-write",
        user_turns=2,
    ),
    "v171_read_only": Shown(
        thread="01a22dbc-ea73-7f81-811c-06651602c75c",
        tokens=(24_124, 12_062, 360),
        branch="fix/payment",
        sha=PAYMENT,
        sandbox="read-only",
    ),
    "v171_rejected_plan": Shown(
        thread="01a22dbc-ec53-7da1-8b5f-c1d98d97f9f3",
        tokens=(24_507, 12_253, 360),
        branch="fix/payment",
        sha=PAYMENT,
        sandbox="workspace-write",
    ),
    "v171_resumed": Shown(
        thread="01a22d90-e6ee-7860-a1c6-e7197ea494cd",
        tokens=(104_926, 52_460, 1_320),
        branch="main",
        sha="a966dbaa446398947302aafbd709098f45345fd9",
        goal=ACTIVE,
        user_turns=2,
        goal_turns=2,
    ),
    "v171_sigkill_midturn": Shown(
        thread="01a22d91-3799-78c1-9b86-69a0e7c398f5",
        tokens=(24_332, 12_165, 360),
        goal=ACTIVE,
        state="interrupted",
        dangling=("`sleep 40; echo slept`",),
    ),
    "v171_sigkill_then_resumed": Shown(
        thread="01a22d91-3799-78c1-9b86-69a0e7c398f5",
        tokens=(46_109, 23_053, 600),
        goal=ACTIVE,
        user_turns=3,
        goal_turns=2,
        dangling=("`sleep 40; echo slept`",),
    ),
    "v171_workspace_write_then_resumed_read_only": Shown(
        thread="01a22dbc-e7cc-74c0-8c66-5a0aa5d0df51",
        tokens=(41_901, 20_950, 600),
        branch="fix/payment",
        sha=PAYMENT,
        sandbox="read-only",
        user_turns=2,
    ),
    "v171_worktree": Shown(
        thread="01a22d91-9bdd-7221-8acd-e1af3956eee5",
        tokens=(41_244, 20_621, 600),
        root=WORKTREE,
        last_folder=WORKTREE,
        branch="wt/feature",
        goal=ACTIVE,
        goal_turns=1,
    ),
    "v171_worktree_removed_then_resumed_in_main": Shown(
        thread="01a22d91-9bdd-7221-8acd-e1af3956eee5",
        tokens=(106_115, 53_055, 1_320),
        root=WORKTREE,
        silent=(REPO,),
        branch="wt/feature",
        goal=ACTIVE,
        user_turns=2,
        goal_turns=2,
    ),
    "v171_worktree_workspace_write": Shown(
        thread="01a22dbd-1752-79b2-8808-ec5c7cbc6cc7",
        tokens=(33_180, 16_589, 480),
        root="/home/dev/repo-wt",
        last_folder="/home/dev/repo-wt",
        branch="wt/export",
        sha=LATER,
        sandbox="workspace-write",
    ),
}


def test_every_recording_has_its_values() -> None:
    assert set(VALUES) == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
async def test_values(name: str, tmp_path: Path) -> None:
    agent = Path(os.environ["CODEX_HOME"])
    install_recording(name, agent)
    before = entries(agent)
    with serving(tmp_path):
        async with client(tmp_path) as connection:
            listed: ThreadListResult = await connection.call("thread/list", ThreadListParams(scope="all"))
        result = await read(tmp_path, VALUES[name].thread)
    assert shown(result) == VALUES[name]
    assert result.thread_id == result.native_id == VALUES[name].thread
    assert result.damage == ()
    (row,) = listed.threads
    assert (row.thread_id, row.root, row.branch) == (result.thread_id, result.place.root, result.place.branch)
    assert (row.name, row.group, row.state) == (result.name, "elsewhere", result.state)
    assert (row.created_at, row.last_active_at) == (result.created_at, result.last_active_at)
    assert listed.notes == ()
    assert entries(agent) == before


def shown(result: ThreadReadResult) -> Shown:
    """The facts as the answer has them."""
    place, allowed, spent = result.place, result.permissions, result.cost
    buckets = {name: (used.input, used.cached, used.output) for name, used in spent.buckets.items()}
    return Shown(
        thread=result.thread_id,
        forked_from=result.forked_from,
        tokens=(spent.total.input, spent.total.cached, spent.total.output),
        root=place.root,
        last_folder=place.last_folder,
        silent=place.silent_switches,
        branch=place.branch or "",
        sha=place.sha or "",
        model=result.model.model or "",
        approval=allowed.approval or "",
        sandbox=allowed.sandbox or "",
        mode=allowed.mode,
        goal=(allowed.goal, allowed.goal_status),
        user_turns=result.conversation.user_turns,
        goal_turns=result.conversation.goal_turns,
        plan=tuple(item.status for item in result.todos.items),
        compactions=result.conversation.compactions,
        compaction=buckets.get("compaction", (0, 0, 0)),
        state=result.state,
        dangling=tuple(call.title for call in result.operations.dangling),
    )
