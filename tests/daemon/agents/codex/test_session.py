"""Beginnings, turns, folders and forks."""

import json

from resumed.restore.events.envelope import Event
from resumed.restore.events.session import (
    AgentRef,
    EnvironmentSeen,
    GitRef,
    ModelSet,
    OperationBegun,
    PermissionsSet,
    SessionMeta,
    TurnEnded,
    TurnStarted,
    UsageRecorded,
    WorktreeBound,
)
from tests.support.codex import recording
from tests.support.rollout import OWN, event, item, line, meta, payloads, translated

PARENT = "01a22d90-ee2f-7440-815e-7ac7007a1160"
YOUNGER = "01a22dbd-6735-79e1-bf46-b6bf8d89f131"
OLDER = "01a22d90-f369-7643-a374-6b346b62e044"


def recorded(name: str) -> list[Event]:
    return translated(*recording(name).read_bytes().splitlines(keepends=True), name=f"{name}.jsonl")


def test_the_first_line() -> None:
    first, environment = recorded("v171_worktree_workspace_write")[:2]
    assert first.payload == SessionMeta(
        schema_version=1,
        thread_id="01a22dbd-1752-79b2-8808-ec5c7cbc6cc7",
        session_id=first.payload.session_id if isinstance(first.payload, SessionMeta) else "",
        agent=AgentRef(name="codex", version="0.171.0", native_id="01a22dbd-1752-79b2-8808-ec5c7cbc6cc7"),
        source="codex",
        cwd="/home/dev/repo-wt",
        created_at="2026-11-30T18:34:56.728Z",
        reason="import",
        git=GitRef(
            sha="d585eef34e4ec41e24d4f504906dc908fc9e38a2",
            branch="wt/export",
            origin="example.invalid/acme/scratch",
        ),
    )
    assert (first.seq, first.src.ref) == (1, "codex:v171_worktree_workspace_write.jsonl:0")
    assert environment.payload == EnvironmentSeen(agent_version="0.171.0")
    assert environment.src.ref == "codex:v171_worktree_workspace_write.jsonl:0#1"


def test_one_file_is_one_session_of_its_thread() -> None:
    names = ("rollout-a.jsonl", "rollout-a.jsonl", "rollout-b.jsonl")
    (once,), (again,), (other,) = (payloads(of=SessionMeta, name=name) for name in names)
    assert isinstance(once, SessionMeta)
    assert isinstance(other, SessionMeta)
    assert once == again
    assert once.session_id != other.session_id


def test_a_damaged_beginning_leaves_the_id_of_the_files_name() -> None:
    name = f"rollout-2026-11-30T18-35-17-{OWN}.jsonl"
    began = event("task_started", turn_id=YOUNGER)
    first, started = translated(began, name=name)
    assert isinstance(first.payload, SessionMeta)
    assert (first.payload.thread_id, first.payload.cwd) == (OWN, "")
    assert isinstance(started.payload, TurnStarted)
    fork = [found.payload for found in translated(line("session_meta", id=PARENT), began, name=name)]
    assert [type(payload) for payload in fork] == [SessionMeta, TurnStarted]
    assert isinstance(fork[0], SessionMeta)
    assert fork[0].thread_id == OWN


def test_a_turn_that_was_cut_off_ends_when_the_next_one_begins() -> None:
    events = recorded("v171_sigkill_then_resumed")
    turns = [found for found in events if isinstance(found.payload, TurnStarted | TurnEnded)]
    assert [
        found.payload.status if isinstance(found.payload, TurnEnded) else found.payload.provenance
        for found in turns
        if isinstance(found.payload, TurnStarted | TurnEnded)
    ] == [
        *("user", "interrupted", "goal", "completed", "goal", "interrupted"),
        *("goal", "completed", "goal", "interrupted"),
    ]
    first, cut_off = turns[:2]
    assert (first.seq, cut_off.seq, first.turn) == (2, 24, cut_off.turn)


def test_a_turn_without_an_id() -> None:
    (began,) = payloads(event("task_started"), event("turn_aborted"), of=TurnStarted)
    (ended,) = payloads(event("task_started"), event("turn_aborted"), of=TurnEnded)
    assert isinstance(began, TurnStarted)
    assert isinstance(ended, TurnEnded)
    assert (began.turn_id, ended.status) == (ended.turn_id, "interrupted")
    assert payloads(event("task_complete"), of=TurnEnded) == []


def test_a_folder_is_bound_by_the_first_turn_and_changed_silently_by_later_ones() -> None:
    events = recorded("v171_worktree_removed_then_resumed_in_main")
    assert [found.payload for found in events if isinstance(found.payload, WorktreeBound)] == [
        WorktreeBound(
            cwd="/home/dev/wt-feature",
            cause="start",
            branch="wt/feature",
            sha="83116dd18671915dfed9921e05ab1a0dd022211e",
        ),
        WorktreeBound(cwd="/home/dev/repo", cause="agentSilent"),
    ]


def test_permissions_and_model_are_said_when_they_change() -> None:
    plain = line(
        "turn_context", cwd="/w", approval_policy="never", sandbox_policy={"mode": "read-only"}, model="m"
    )
    rich = line(
        "turn_context",
        cwd="/w",
        approval_policy={"granular": {"rules": True}},
        sandbox_policy={"type": "workspace-write", "writable_roots": ["/a"]},
        permission_profile={"type": "managed"},
        active_permission_profile={"id": "careful"},
        model="m",
        collaboration_mode={"mode": "plan", "settings": {"reasoning_effort": "high"}},
    )
    lines = (plain, plain, rich, rich)
    assert payloads(*lines, of=PermissionsSet) == [
        PermissionsSet(cause="turn", approval="never", sandbox="read-only", mode="normal"),
        PermissionsSet(
            cause="turn",
            approval="granular",
            sandbox="workspace-write",
            profile="careful",
            mode="plan",
            directories=("/a",),
        ),
    ]
    assert payloads(*lines, of=ModelSet) == [
        ModelSet(model="m", cause="turn", provider="mock"),
        ModelSet(model="m", cause="turn", provider="mock", overrides={"reasoning_effort": "high"}),
    ]


def test_extra_folders_are_taken_from_either_form_and_never_the_turns_own() -> None:
    def folders(**said: object) -> tuple[str, ...]:
        turn = line("turn_context", cwd="/w", approval_policy="never", **said)
        (permissions,) = payloads(turn, of=PermissionsSet)
        assert isinstance(permissions, PermissionsSet)
        return permissions.directories

    def profile(*entries: object) -> dict[str, object]:
        return {"type": "managed", "file_system": {"type": "restricted", "entries": list(entries)}}

    def entry(path: str, access: str) -> dict[str, object]:
        return {"path": {"type": "path", "path": path}, "access": access}

    special = {"path": {"type": "special", "value": {"kind": "tmpdir"}}, "access": "write"}
    policy = {"type": "workspace-write", "writable_roots": ["/a"], "network_access": True}
    rich = profile(special, entry("/w", "write"), entry("/w/.git", "read"), entry("/b", "write"))
    assert folders(sandbox_policy=policy) == ("/a",)
    assert folders(permission_profile=rich) == ("/b",)
    assert folders(sandbox_policy=policy, permission_profile=rich) == ("/a", "/b")
    assert folders(permission_profile={"type": "managed", "file_system": "full"}) == ()
    assert folders(permission_profile=profile({"path": "/c", "access": "write"})) == ()


def test_another_provider_is_said_with_the_next_turn() -> None:
    settings = event("thread_settings_applied", thread_settings={"model_provider_id": "other"})
    (model,) = payloads(settings, line("turn_context", cwd="/w", model="m"), of=ModelSet)
    assert model == ModelSet(model="m", cause="turn", provider="other")


def fork(*own: bytes) -> tuple[bytes, ...]:
    summary = {"type": "message", "role": "assistant", "content": []}
    compaction = json.dumps(
        {"type": "response_item", "payload": summary, "metadata": {"compaction_output": True}}
    )
    copied = (
        line("session_meta", id=PARENT, cwd="/parent"),
        event("task_started", turn_id=OLDER),
        line("turn_context", cwd="/parent", model="m"),
        item("function_call", name="exec_command", call_id="1", arguments="{}"),
        event("token_count", info={"total_token_usage": {"input_tokens": 10}}),
        line("token_usage_record", thread_id=PARENT, response_id="r", usage={"input_tokens": 5}),
        event("task_complete", turn_id=OLDER),
        compaction.encode() + b"\n",
    )
    return (*copied, *own)


def test_a_forks_copy_of_its_parent_binds_and_costs_nothing() -> None:
    assert payloads(*fork(), of=WorktreeBound) == []
    assert payloads(*fork(), of=UsageRecorded) == []
    assert len(payloads(*fork(), of=TurnStarted)) == 1


def test_a_forks_own_part_begins_with_a_line_that_names_it() -> None:
    own = (
        event("thread_settings_applied", thread_id=OWN),
        line("turn_context", cwd="/own", model="m"),
        line("token_usage_record", thread_id=OWN, response_id="s", usage={"input_tokens": 7}),
    )
    (bound,) = payloads(*fork(*own), of=WorktreeBound)
    assert bound == WorktreeBound(cwd="/own", cause="start")
    (usage,) = payloads(*fork(*own), of=UsageRecorded)
    assert isinstance(usage, UsageRecorded)
    assert (usage.usage_id, usage.input_tokens, usage.bucket) == ("s", 7, "main")


def test_or_with_a_turn_younger_than_the_fork() -> None:
    own = (
        event("task_started", turn_id=YOUNGER),
        item("message", role="assistant", content=[]),
        event("token_count", info={"total_token_usage": {"input_tokens": 14}}),
    )
    (usage,) = payloads(*fork(*own), of=UsageRecorded)
    assert isinstance(usage, UsageRecorded)
    assert (usage.input_tokens, usage.basis) == (4, "delta")


def test_copied_operations_have_the_ids_of_the_parent() -> None:
    call = item("function_call", name="exec_command", call_id="1", arguments="{}")
    (in_fork,) = payloads(*fork(), of=OperationBegun)
    (in_parent,) = [
        found.payload
        for found in translated(meta(id=PARENT), call)
        if isinstance(found.payload, OperationBegun)
    ]
    assert isinstance(in_fork, OperationBegun)
    assert in_fork.operation_id == in_parent.operation_id
