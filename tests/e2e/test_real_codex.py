"""The real Codex is started from our launch plan, and what it does next is what was recorded.

The agent's folders are temporary, the model is a script on loopback.
"""

import asyncio
import json
from pathlib import Path

import msgspec
import pytest

from resumed.daemon.agents.codex.launch import CodexLauncher
from resumed.daemon.agents.codex.store import CodexStore
from resumed.protocol.restore import LaunchPlan, Outcome
from resumed.protocol.threads import ThreadReadParams, ThreadReadResult
from resumed.restore.effects import LaunchFacts
from tests.support.codex import build_scratch_repo, install_recording
from tests.support.codex_program import (
    AppServer,
    CodexTerminal,
    codex_environment,
    configure_codex,
    require_codex,
)
from tests.support.codex_summary import summarise
from tests.support.responses_server import ResponsesServer
from tests.support.workspace import client, resume, serving

CALM = "01a22dbd-6721-7b02-8d3d-d77a010ed4f3"
WITH_GOAL = "01a22d90-e6ee-7860-a1c6-e7197ea494cd"


def launch_plan(native_id: str, folder: Path, pause_goal: bool = False) -> LaunchPlan:
    facts = LaunchFacts(
        agent="codex",
        native_id=native_id,
        folder=str(folder),
        approval="on-request",
        sandbox="workspace-write",
        model="gpt-5.5",
        pause_goal=pause_goal,
    )
    plan = CodexLauncher().plan(facts)
    assert plan is not None
    return plan


def payloads(content: bytes, kind: str) -> list[dict[str, object]]:
    lines = [json.loads(line) for line in content.splitlines()]
    return [line["payload"] for line in lines if kind in (line["type"], line["payload"].get("type"))]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    require_codex()
    return build_scratch_repo(tmp_path / "work")[0]


async def plan_of_a_restore(repository: Path) -> LaunchPlan:
    """The plan that pressing Resume ends with, from the real daemon."""
    report, person = await resume(repository, CALM)
    assert (report.outcome, person.asked) == (Outcome.RESTORED, [])
    assert report.launch is not None
    return report.launch


async def thread_read(repository: Path) -> ThreadReadResult:
    """The thread as the daemon reads it now."""
    async with client(repository) as connection:
        result: ThreadReadResult = await connection.call("thread/read", ThreadReadParams(thread=CALM))
    return result


async def test_the_plan_continues_the_thread_as_recorded(
    tmp_path: Path, repository: Path, hermetic_home: Path
) -> None:
    home = hermetic_home
    rollout = install_recording(
        "v171_on_request_two_turns",
        home / ".codex",
        {"/home/dev/repo": str(repository), "/home/dev/repo-wt": f"{repository}-wt"},
    )
    store = CodexStore(home / ".codex")
    with serving(repository):
        read_before = await thread_read(repository)
        plan = await plan_of_a_restore(repository)
        await asyncio.to_thread(_continues_as_recorded, home, repository, rollout, store, plan)
        read_after = await thread_read(repository)
    assert read_after.thread_id == read_before.thread_id
    turns = (read_before.conversation.user_turns, read_after.conversation.user_turns)
    assert turns == (2, 3)
    assert read_after.place.silent_switches == ()
    assert (read_after.permissions.approval, read_after.permissions.sandbox) == (
        "on-request",
        "workspace-write",
    )
    assert len(read_after.runs) == 2


def _continues_as_recorded(
    home: Path, repository: Path, rollout: Path, store: CodexStore, plan: LaunchPlan
) -> None:
    first = store.read(rollout)
    before = summarise(first)
    recorded = rollout.read_bytes()

    with ResponsesServer(("Answered by the script.",)) as model:
        configure_codex(home, model.url, repository)
        with CodexTerminal(plan, codex_environment(home)) as terminal:
            terminal.wait_for("Plain mock answer.")
            assert model.requests == []
            terminal.enter("go on")
            terminal.keep_reading_until(
                lambda: bool(payloads(rollout.read_bytes()[len(recorded) :], "task_complete"))
            )
        assert len(model.turn_requests) == 1

    grown = rollout.read_bytes()
    assert grown.startswith(recorded)
    (context,) = payloads(grown[len(recorded) :], "turn_context")
    sandbox = context["sandbox_policy"]
    assert isinstance(sandbox, dict)
    assert (context["cwd"], context["approval_policy"], sandbox["type"]) == (
        str(repository),
        "on-request",
        "workspace-write",
    )

    going_on = store.read(rollout, first.cursor())
    new_events = list(going_on)
    whole = store.read(rollout)
    after = summarise(whole)
    assert (after.thread, after.user_turns) == (before.thread, before.user_turns + 1)
    assert after.tokens == tuple(
        told + more for told, more in zip(before.tokens, (1000, 500, 20), strict=True)
    )
    assert (after.root, after.last_folder, after.switches) == (str(repository), str(repository), 0)
    assert whole.damage == going_on.damage == ()
    assert list(store.read(rollout))[-len(new_events) :] == new_events
    assert list(store.files()) == [rollout]


def test_the_pause_step_pauses_the_goal_and_asks_the_model_nothing(tmp_path: Path, repository: Path) -> None:
    home = tmp_path / "home"
    rollout = install_recording("v171_resumed", home / ".codex", {"/home/dev/repo": str(repository)})
    recorded = rollout.read_bytes()
    (step,) = launch_plan(WITH_GOAL, repository, pause_goal=True).before
    environment = codex_environment(home)
    goal = {"threadId": WITH_GOAL, "objective": "patch the readme and verify", "status": "active"}

    with ResponsesServer() as model:
        configure_codex(home, model.url, repository)
        with AppServer(step.argv, environment) as server:
            server.run(step)
            server.send({"id": 2, "method": "thread/goal/set", "params": goal})
        with AppServer(step.argv, environment) as server:
            answers = server.run(step)
            told = server.send({"id": 2, "method": "thread/goal/get", "params": {"threadId": WITH_GOAL}})
        assert all("error" not in answer for answer in answers)
        assert told is not None
        assert told["result"]["goal"]["status"] == "paused"
        assert model.requests == []
    assert rollout.read_bytes().startswith(recorded)


async def test_codex_does_not_go_on_elsewhere_when_the_folder_is_gone(
    tmp_path: Path, repository: Path, hermetic_home: Path
) -> None:
    home = hermetic_home
    rollout = install_recording(
        "v171_on_request_two_turns", home / ".codex", {"/home/dev/repo": str(repository)}
    )
    recorded = rollout.read_bytes()
    with serving(repository):
        plan = await plan_of_a_restore(repository)
    repository.rename(tmp_path / "away")
    await asyncio.to_thread(_goes_nowhere, home, tmp_path, repository, plan)
    assert rollout.read_bytes() == recorded


def _goes_nowhere(home: Path, tmp_path: Path, repository: Path, plan: LaunchPlan) -> None:
    with ResponsesServer() as model:
        configure_codex(home, model.url, repository)
        elsewhere = msgspec.structs.replace(plan, folder=str(tmp_path))
        with CodexTerminal(elsewhere, codex_environment(home)) as terminal:
            assert terminal.wait_for_end() != 0
        assert model.requests == []
