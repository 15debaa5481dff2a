"""Tool calls: how they end, what they changed, and the plans and goals that were accepted."""

import hashlib
import json

import pytest

from resumed.daemon.agents.identity import derived_id, namespace
from resumed.restore.events.session import (
    FilePatch,
    Goal,
    Hunk,
    OperationBegun,
    OperationSettled,
    PermissionsSet,
    ResultStored,
    TodoItem,
    TodosSet,
)
from tests.support.codex import recording
from tests.support.rollout import OWN, event, item, line, meta, payloads, translated


def call(name: str, arguments: str = "{}", call_id: str = "call_1") -> bytes:
    return item("function_call", name=name, arguments=arguments, call_id=call_id)


def output(text: object, call_id: str | None = "call_1") -> bytes:
    return item("function_call_output", call_id=call_id, output=text)


def outcome(text: object) -> tuple[str, int | None]:
    (settled,) = payloads(call("exec_command"), output(text), of=OperationSettled)
    assert isinstance(settled, OperationSettled)
    return settled.state, settled.exit_code


@pytest.mark.parametrize(
    ("text", "ended"),
    [
        ("Wall time: 0.1 seconds\nProcess exited with code 0\nOutput:\nfine", ("committed", 0)),
        ("Wall time: 0.1 seconds\nProcess exited with code 3\nOutput:\n", ("failed", 3)),
        ("Exit code: 0\nWall time: 0 seconds\nOutput:\nExit code: 7", ("committed", 0)),
        (
            "Wall time: 1 seconds\nProcess running with session ID 5\nOutput:\nExit code: 7",
            ("committed", None),
        ),
        ('{"output":"x","metadata":{"exit_code":1,"duration_seconds":0.0}}', ("failed", 1)),
        ("unsupported call: update_plan", ("failed", None)),
        ("patch rejected: writing is blocked by read-only sandbox", ("denied", None)),
        ("exec command rejected by user", ("denied", None)),
        ("aborted by user after 3.0s", ("aborted", None)),
        ("Exit code: 0\nOutput:\nrejected by user", ("committed", 0)),
        ([{"type": "input_text", "text": "Exit code: 2"}, {"type": "image"}], ("failed", 2)),
        ({"content": "Exit code: 0", "success": True}, ("committed", 0)),
        ("anything", ("committed", None)),
    ],
)
def test_how_a_call_ended(text: object, ended: tuple[str, int | None]) -> None:
    assert outcome(text) == ended


def test_a_call_and_its_result() -> None:
    events = translated(meta(), call("exec_command", '{"cmd": "make"}'), output("Exit code: 0"))
    operation = derived_id(namespace("codex"), f"call_1:{OWN}")
    begun, settled, stored = (
        next(found.payload for found in events if isinstance(found.payload, kind))
        for kind in (OperationBegun, OperationSettled, ResultStored)
    )
    assert isinstance(begun, OperationBegun)
    assert (begun.operation_id, begun.tool, begun.args) == (operation, "exec_command", {"cmd": "make"})
    assert (begun.operation_class, begun.cwd) == ("external", "/home/dev/repo")
    assert begun.args_digest == hashlib.sha256(b'{"cmd": "make"}').hexdigest()
    assert isinstance(settled, OperationSettled)
    assert isinstance(stored, ResultStored)
    assert settled.operation_id == stored.operation_id == operation
    results = [found for found in events if found.id is not None and found.id == stored.entry_id]
    assert [found.op for found in results] == [operation]


@pytest.mark.parametrize(
    ("tool", "kind"),
    [("apply_patch", "write"), ("exec_command", "external"), ("mcp__x__y", "external"), ("get_goal", "read")],
)
def test_what_a_tool_may_do(tool: str, kind: str) -> None:
    (begun,) = payloads(call(tool), of=OperationBegun)
    assert isinstance(begun, OperationBegun)
    assert begun.operation_class == kind


@pytest.mark.parametrize("arguments", ["not json", "[1]", json.dumps({"cmd": "x" * 9000})])
def test_arguments_that_are_no_small_object_are_kept_as_text(arguments: str) -> None:
    (begun,) = payloads(call("exec_command", arguments), of=OperationBegun)
    assert isinstance(begun, OperationBegun)
    assert begun.args == {"text": arguments[: 4 * 1024]}


def test_calls_may_dangle_anywhere() -> None:
    lines = (call("a", call_id="1"), call("b", call_id="2"), output("x", "2"), call("c", call_id="3"))
    assert len(payloads(*lines, of=OperationBegun)) == 3
    assert len(payloads(*lines, of=OperationSettled)) == 1


def test_an_output_without_its_call_settles_nothing() -> None:
    assert payloads(output("x", "unknown"), output("y", None), of=OperationSettled) == []


def test_the_old_shell_call() -> None:
    shell = item("local_shell_call", call_id="7", action={"type": "exec", "command": ["ls", "-l"]})
    (begun,) = payloads(shell, of=OperationBegun)
    assert isinstance(begun, OperationBegun)
    assert (begun.tool, begun.args) == ("local_shell", {"command": ["ls", "-l"]})


def test_exact_edits_come_with_the_settlement() -> None:
    events = translated(*recording("v171_on_request_two_turns").read_bytes().splitlines(keepends=True))
    settled = [found.payload for found in events if isinstance(found.payload, OperationSettled)]
    assert settled[1].patches == (
        FilePatch(
            path="/home/dev/repo/README.md",
            change="update",
            hunks=(Hunk(before=("# scratch",), added=("patched 20",), after=("patched 16",)),),
            lines_added=1,
        ),
        FilePatch(
            path="/home/dev/repo/note_20.txt",
            change="add",
            sha256="414bc18e159bd168a62c1a5af548a63b083e146d40cb81f2b1e145913122aea4",
            lines_added=2,
        ),
    )


def test_edits_that_failed_are_none() -> None:
    change = {
        "type": "FileChange",
        "id": "call_1",
        "status": "declined",
        "changes": {"/a": {"type": "delete"}},
    }
    (settled,) = payloads(
        call("apply_patch"), event("item_completed", item=change), output("no"), of=OperationSettled
    )
    assert isinstance(settled, OperationSettled)
    assert (settled.state, settled.patches) == ("denied", ())


PLAN = '{"explanation": "why", "plan": [{"step": "a", "status": "in_progress"}, {"step": "b"}]}'


def test_a_plan_counts_once_it_was_accepted() -> None:
    expected = TodosSet(
        items=(
            TodoItem(id="1", text="a", status="inProgress"),
            TodoItem(id="2", text="b", status="pending"),
        ),
        origin="agent",
        explanation="why",
    )
    plan = call("update_plan", PLAN)
    assert payloads(plan, output("Plan updated"), of=TodosSet) == [expected]
    assert payloads(plan, of=TodosSet) == []
    assert payloads(plan, output("unsupported call: update_plan"), of=TodosSet) == []
    assert payloads(call("update_plan", "{"), output("Plan updated"), of=TodosSet) == []


def goals(*lines: bytes) -> list[Goal | None]:
    return [found.goal for found in payloads(*lines, of=PermissionsSet) if isinstance(found, PermissionsSet)]


def told(status: str) -> str:
    return json.dumps({"goal": {"objective": "ship", "status": status}})


def test_a_goal_is_said_when_it_changes() -> None:
    turns = event("task_started", turn_id="t", turn_attribution={"turn_trigger": "goal"})
    assert goals(
        call("create_goal"),
        output(told("active")),
        call("get_goal"),
        output(told("active")),
        event("thread_goal_updated", goal={"objective": "ship", "status": "paused"}),
        turns,
        call("update_goal"),
        output(told("complete")),
        call("get_goal"),
        output('{"goal": null}'),
        call("create_goal"),
        output("cannot create a new goal"),
    ) == [
        Goal(objective="ship", status=status)
        for status in ("active", "paused", "active", "complete", "cleared")
    ]


@pytest.mark.parametrize("status", ["blocked", "usageLimited", "budget_limited"])
def test_a_goal_that_cannot_go_on_is_paused(status: str) -> None:
    assert goals(call("get_goal"), output(told(status))) == [Goal(objective="ship", status="paused")]


def test_a_reminder_is_the_only_trace_of_a_goal_that_a_person_set() -> None:
    reminder = item("function_call_output", name="goal_objective", output="ship")
    assert goals(reminder, reminder) == [Goal(objective="ship", status="active")]


def test_a_fork_has_none_of_its_parents_goals() -> None:
    parent = line("session_meta", id="01a22d90-ee2f-7440-815e-7ac7007a1160")
    assert goals(parent, call("create_goal"), output(told("active"))) == []
