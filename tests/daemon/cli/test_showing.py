from pathlib import Path
from typing import Any

import msgspec

from resumed.daemon.cli.showing import status_lines, thread_lines
from resumed.protocol.daemon import StatusResult
from resumed.protocol.threads import (
    CheckView,
    ConversationView,
    CostView,
    FileView,
    ModelView,
    OperationsView,
    OperationView,
    PermissionsView,
    PlaceView,
    RunView,
    ThreadReadResult,
    TodosView,
    TodoView,
    TokensView,
)
from tests.support.goldens import check_golden
from tests.support.reports import READER, printed

GOLDEN = Path(__file__).parent / "golden"
NOTHING = TokensView(input=0, cached=0, output=0)
EMPTY = ThreadReadResult(
    thread_id="t",
    name="Untitled",
    agent="my-agent",
    agent_version=None,
    native_id=None,
    forked_from=None,
    state="idle",
    created_at="2026-11-30T17:00:00Z",
    last_active_at="2026-11-30T18:04:00Z",
    place=PlaceView(
        root="", last_folder="", silent_switches=(), branch=None, sha=None, sha_as_of="start", origin=None
    ),
    permissions=PermissionsView(approval=None, sandbox=None, profile=None, mode="normal"),
    model=ModelView(model=None, provider=None, window=None),
    conversation=ConversationView(
        entries=0, in_window=0, user_turns=0, goal_turns=0, compactions=0, first_message="", last_message=""
    ),
    operations=OperationsView(total=0, by_state={}, dangling=()),
    files=(),
    todos=TodosView(items=(), revision="0"),
    cost=CostView(total=NOTHING, buckets={}, usd=None, since_clear=NOTHING),
    checks=(),
    runs=(),
)
FULL = msgspec.structs.replace(
    EMPTY,
    name="Fix payment rounding",
    agent="codex",
    agent_version="0.171.0",
    native_id="5973b6c0-52f1-4f0e-9a57-0c1d6a8f2b11",
    forked_from="another",
    state="interrupted",
    place=PlaceView(
        root="/home/kim/repo-a",
        last_folder="/home/kim/repo-a/src",
        silent_switches=("/home/kim/repo",),
        branch="fix/payment",
        sha="4f8c2d1" + "0" * 33,
        sha_as_of="start",
        origin="github.com/acme/payments",
    ),
    permissions=PermissionsView(
        approval="never",
        sandbox="danger-full-access",
        profile="managed",
        mode="plan",
        goal="patch the readme",
        goal_status="active",
    ),
    model=ModelView(model="gpt-5.5", provider="openai", window=272_000),
    conversation=ConversationView(
        entries=40,
        in_window=31,
        user_turns=9,
        goal_turns=1,
        compactions=1,
        first_message="Fix the \x1b[31mrounding\nof payments",
        last_message="Two tests still fail.",
    ),
    operations=OperationsView(
        total=23,
        by_state={"begun": 1, "committed": 20, "failed": 2, "denied": 0},
        dangling=(OperationView(operation_id="o", tool="shell", title="`pytest -x tests`", state="begun"),),
    ),
    files=(
        FileView(path="rounding.py", change="update", lines_added=4, lines_removed=1),
        FileView(path="old.py", change="delete"),
    ),
    todos=TodosView(
        items=(
            TodoView(id="1", text="Find the bug", status="completed"),
            TodoView(id="2", text="Round JPY to whole yen", status="inProgress"),
            TodoView(id="3", text="Write it down", status="pending"),
        ),
        revision="1",
        explanation="In this order.",
    ),
    cost=CostView(
        total=TokensView(input=46_261, cached=23_130, output=600),
        buckets={
            "compaction": TokensView(input=16_463, cached=0, output=100),
            "main": TokensView(input=29_798, cached=23_130, output=500),
        },
        usd=1.84,
        since_clear=TokensView(input=1_000, cached=0, output=10),
    ),
    checks=(
        CheckView(
            check_id="tests",
            command="pytest tests",
            result="failed",
            passed=7,
            total=9,
            findings=("half_even", "jpy"),
        ),
        CheckView(check_id="lint", command="ruff check", result="passed", passed=None, total=None),
    ),
    runs=(
        RunView(session_id="s", started_at="2026-11-30T17:00:00Z", reason="startup", ended="exit"),
        RunView(
            session_id="s", started_at="2026-11-30T17:30:00Z", reason="resume", ended=None, taken_up=False
        ),
        RunView(session_id="s", started_at="2026-11-30T18:00:00Z", reason="resume", ended=None),
    ),
    depends_on="/home/kim/.codex/sessions/rollout.jsonl",
    damage=("2 lines can't be read.",),
)


def test_a_full_conversation(update_goldens: bool) -> None:
    text = printed(thread_lines(FULL, "fix payment", READER))
    assert all(len(line) <= 80 for line in text.splitlines())
    check_golden(GOLDEN / "show_full.txt", text, update_goldens)


def test_an_empty_conversation(update_goldens: bool) -> None:
    check_golden(GOLDEN / "show_empty.txt", printed(thread_lines(EMPTY, "untitled", READER)), update_goldens)


def test_no_id_is_shown_where_there_is_a_name() -> None:
    text = printed(thread_lines(FULL, "fix payment", READER))
    assert str(FULL.native_id) not in text


def test_a_restore_that_was_cut_off_is_said() -> None:
    text = printed(thread_lines(msgspec.structs.replace(EMPTY, state="unfinished"), "t", READER))
    assert text.startswith("“Untitled” (my-agent), restore cut off\n")
    assert "             ! a restore was cut off; the next Resume settles it first\n" in text


def test_many_files_are_cut_short() -> None:
    files = tuple(FileView(path=f"f{n}", change="update") for n in range(30))
    text = printed(thread_lines(msgspec.structs.replace(EMPTY, files=files), "x", READER))
    assert "f19, edited\n" in text
    assert "f20" not in text
    assert "and 10 more\n" in text


def status(**more: Any) -> StatusResult:
    fields: dict[str, Any] = {
        "version": "0.1.0",
        "protocol_version": "1.0",
        "pid": 4711,
        "started_at": "2026-12-01T09:58:00Z",
        "root": "/home/kim/repo-a",
        "workspace_id": "w",
        "state_folder": "/home/kim/.local/state/resumed",
        "clients": 1,
        "threads": 12,
        "leases": 0,
        "open_questions": 2,
        "storage": "ok",
        "index": "ok",
    }
    return StatusResult(**{**fields, **more})


def test_a_status() -> None:
    assert printed(status_lines(status(), READER)) == (
        "✓ ~/repo-a is served by resumed 0.1.0 (process 4711), since 2 min ago.\n"
        "  Known        12 conversations\n"
        "  Now          1 client, 2 open questions, 0 conversations in use\n"
        "  Records    ✓ kept safely, in ~/.local/state/resumed\n"
        "  Index      ✓ up to date\n"
    )


def test_a_status_that_is_not_well() -> None:
    text = printed(
        status_lines(status(storage="failing", index="rebuilding", notes=("The disk is full.",)), READER)
    )
    assert "  Records    ✗ nothing can be written, in" in text
    assert "  Index      ! is being made again\n" in text
    assert text.endswith("  ! The disk is full.\n")
    assert "! can only be read" in printed(status_lines(status(storage="readOnly"), READER))


def test_a_conversation_that_cannot_go_on_offers_no_command_for_it() -> None:
    lost = msgspec.structs.replace(EMPTY, damage=("Its file is gone.",), not_resumable="Its file is gone.")
    assert printed(thread_lines(EMPTY, "untitled", READER)).endswith(
        "What changed since: resumed check untitled\n"
    )
    assert printed(thread_lines(lost, "untitled", READER)).endswith("Its file is gone.\n")
