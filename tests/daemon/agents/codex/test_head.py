"""A list row from head and tail alone."""

from pathlib import Path

import pytest

from resumed.daemon.agents.agent import ForeignHead
from resumed.daemon.agents.codex.head import one_line
from resumed.daemon.agents.codex.store import CodexStore
from tests.support.codex import generate_rollout, install_recording
from tests.support.rollout import item, meta

STATES = {
    "v104_compacted": "idle",
    "v171_forked": "idle",
    "v171_on_request_two_turns": "idle",
    "v171_resumed": "idle",
    "v171_sigkill_midturn": "interrupted",
    "v171_sigkill_then_resumed": "idle",
}


def head_of(path: Path) -> ForeignHead:
    head = CodexStore(path.parents[4]).head(path)
    assert head is not None
    return head


def test_a_whole_row(tmp_path: Path) -> None:
    path = install_recording("v171_forked", tmp_path)
    assert head_of(path) == ForeignHead(
        path=str(path),
        native_id="01a22d93-f307-7b33-9d22-ee4122b40b5e",
        thread_id="01a22d93-f307-7b33-9d22-ee4122b40b5e",
        name="[[normal]] first task legacy",
        cwd="/home/dev/repo",
        branch="feature/x",
        sha="83116dd18671915dfed9921e05ab1a0dd022211e",
        origin="https://example.invalid/acme/scratch.git",
        created_at="2026-11-30T17:50:00.469Z",
        last_active_at="2026-11-30T17:50:00.660Z",
        agent_version="0.171.0",
        state="idle",
        forked_from="01a22d90-ee2f-7440-815e-7ac7007a1160",
    )


@pytest.mark.parametrize("name", STATES)
def test_state(tmp_path: Path, name: str) -> None:
    head = head_of(install_recording(name, tmp_path))
    assert (head.state, head.damaged) == (STATES[name], None)


def test_the_state_of_a_large_file_is_in_its_tail(tmp_path: Path) -> None:
    path = tmp_path / "sessions" / "2026" / "11" / "30" / "rollout-x.jsonl"
    generate_rollout(path, 1)
    assert head_of(path).state == "idle"
    with path.open("ab") as grown:
        grown.write(
            b'{"timestamp":"2026-12-01T00:00:00.000Z","type":"event_msg","payload":{"type":"task_started"}}\n'
        )
    assert (head_of(path).state, head_of(path).last_active_at) == ("interrupted", "2026-12-01T00:00:00.000Z")
    with path.open("ab") as grown:
        grown.write(b'{"type":"world_state","payload":{"full":"' + b"x" * 100_000 + b'"}}\n')
        grown.write(
            b'{"timestamp":"2026-12-01T00:00:01.000Z","type":"response_item","payload":{"type":"message"}}\n'
        )
    assert head_of(path).state == "interrupted"


def test_an_action_without_its_end_is_an_interruption_even_without_turns(tmp_path: Path) -> None:
    path = tmp_path / "sessions" / "2026" / "11" / "30" / "rollout-x.jsonl"
    path.parent.mkdir(parents=True)
    call = {"name": "exec_command", "arguments": "{}", "call_id": "1"}
    path.write_bytes(meta() + item("function_call", **call))
    assert head_of(path).state == "interrupted"
    path.write_bytes(meta() + item("function_call", **call) + item("function_call_output", call_id="1"))
    assert head_of(path).state == "idle"


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (
            lambda content: b"x" + content[1:],
            "The first line is not readable; this comes from the file's name.",
        ),
        (lambda content: content.partition(b"\n")[2], "The file does not begin with its session; this comes"),
        (lambda content: b"", "The file is empty; this comes from the file's name."),
        (lambda content: b"\0" * 100, "The first line is only NUL bytes; this comes from the file's name."),
    ],
)
def test_a_damaged_beginning_is_listed_from_the_name(tmp_path: Path, spoil: object, sentence: str) -> None:
    assert callable(spoil)
    path = install_recording("v171_forked", tmp_path)
    path.write_bytes(spoil(path.read_bytes()))
    head = head_of(path)
    assert head.native_id == head.thread_id == "01a22d93-f307-7b33-9d22-ee4122b40b5e"
    assert head.damaged is not None
    assert head.damaged.startswith(sentence)
    assert head.created_at.endswith("Z")


def test_archived(tmp_path: Path) -> None:
    path = install_recording("v171_read_only", tmp_path)
    (tmp_path / "archived_sessions").mkdir()
    head = CodexStore(tmp_path).head(path.rename(tmp_path / "archived_sessions" / path.name))
    assert head is not None
    assert head.archived


def test_a_message_as_a_name() -> None:
    assert one_line("  fix\n the   rounding ") == "fix the rounding"
    assert one_line("# Context from my IDE\nfile.py\n## My request for Codex:\nfix it\n") == "fix it"
    assert one_line("word " * 40) == "word " * 15 + "word…"
    assert len(one_line("x" * 300)) == 80
