"""What each recording says, in literal values, and that reading in parts says the same."""

from pathlib import Path

import msgspec
import pytest

from resumed.daemon.agents.codex.store import CodexStore
from resumed.daemon.agents.codex.translate import Translator
from resumed.daemon.agents.reading import UnreadableLine
from resumed.restore.events.envelope import Event, SourceKind
from tests.support.codex import NAMES, RECORDINGS, recording, sha256, sums
from tests.support.codex_summary import Summary, summarise

REPO = "/home/dev/repo"
GOAL = "active: patch the readme and verify"
FEATURE = "83116dd18671915dfed9921e05ab1a0dd022211e"
PAYMENT = "34d781d90c3b4c61c779159eca3fb731b7d1fcb1"
LATER = "d585eef34e4ec41e24d4f504906dc908fc9e38a2"


def expected(thread: str, tokens: tuple[int, int, int], **facts: object) -> Summary:
    usual: dict[str, object] = {
        "thread": thread,
        "tokens": tokens,
        "root": REPO,
        "last_folder": REPO,
        "branch": "feature/x",
        "sha": FEATURE,
        "model": "gpt-5.5",
        "window": 258400,
        "approval": "never",
        "sandbox": "danger-full-access",
        "mode": "normal",
        "user_turns": 1,
    }
    return msgspec.convert(usual | facts, Summary)


VALUES = {
    "v104_compacted": expected(
        "01a22d92-4239-7080-9df0-5618f8fa55a6",
        (11_153, 5_575, 600),
        model="gpt-5.1-codex",
        plan="ipp",
        compactions=1,
        compaction_input=2_612,
        operations=3,
    ),
    "v104_resumed_with_update_plan": expected(
        "01a22d90-ee2f-7440-815e-7ac7007a1160",
        (37_131, 18_563, 1_440),
        model="gpt-5.1-codex",
        plan="cci",
        user_turns=2,
        operations=10,
    ),
    "v171_compacted_part1": expected(
        "01a22d92-3ec8-7c93-b5a1-d309ebba1450",
        (40_577, 20_287, 600),
        goal=GOAL,
        compactions=2,
        compaction_input=16_463,
        operations=1,
    ),
    "v171_forked": expected(
        "01a22d93-f307-7b33-9d22-ee4122b40b5e",
        (13_461, 6_730, 120),
        forked_from="01a22d90-ee2f-7440-815e-7ac7007a1160",
        plan="cci",
        user_turns=4,
        operations=10,
    ),
    "v171_on_request_two_turns": expected(
        "01a22dbd-6721-7b02-8d3d-d77a010ed4f3",
        (46_261, 23_130, 600),
        branch="fix/payment",
        sha=LATER,
        approval="on-request",
        sandbox="workspace-write",
        user_turns=2,
        operations=3,
    ),
    "v171_read_only": expected(
        "01a22dbc-ea73-7f81-811c-06651602c75c",
        (24_124, 12_062, 360),
        branch="fix/payment",
        sha=PAYMENT,
        sandbox="read-only",
        operations=2,
    ),
    "v171_rejected_plan": expected(
        "01a22dbc-ec53-7da1-8b5f-c1d98d97f9f3",
        (24_507, 12_253, 360),
        branch="fix/payment",
        sha=PAYMENT,
        sandbox="workspace-write",
        operations=2,
    ),
    "v171_resumed": expected(
        "01a22d90-e6ee-7860-a1c6-e7197ea494cd",
        (104_926, 52_460, 1_320),
        branch="main",
        sha="a966dbaa446398947302aafbd709098f45345fd9",
        goal=GOAL,
        user_turns=2,
        goal_turns=2,
        operations=9,
    ),
    "v171_sigkill_midturn": expected(
        "01a22d91-3799-78c1-9b86-69a0e7c398f5",
        (24_332, 12_165, 360),
        goal=GOAL,
        operations=3,
        dangling=1,
    ),
    "v171_sigkill_then_resumed": expected(
        "01a22d91-3799-78c1-9b86-69a0e7c398f5",
        (46_109, 23_053, 600),
        goal=GOAL,
        user_turns=3,
        goal_turns=2,
        operations=3,
        dangling=1,
    ),
    "v171_workspace_write_then_resumed_read_only": expected(
        "01a22dbc-e7cc-74c0-8c66-5a0aa5d0df51",
        (41_901, 20_950, 600),
        branch="fix/payment",
        sha=PAYMENT,
        sandbox="read-only",
        user_turns=2,
        operations=3,
    ),
    "v171_worktree": expected(
        "01a22d91-9bdd-7221-8acd-e1af3956eee5",
        (41_244, 20_621, 600),
        root="/home/dev/wt-feature",
        last_folder="/home/dev/wt-feature",
        branch="wt/feature",
        goal=GOAL,
        goal_turns=1,
        operations=4,
    ),
    "v171_worktree_removed_then_resumed_in_main": expected(
        "01a22d91-9bdd-7221-8acd-e1af3956eee5",
        (106_115, 53_055, 1_320),
        root="/home/dev/wt-feature",
        switches=1,
        branch="wt/feature",
        goal=GOAL,
        user_turns=2,
        goal_turns=2,
        operations=9,
    ),
    "v171_worktree_workspace_write": expected(
        "01a22dbd-1752-79b2-8808-ec5c7cbc6cc7",
        (33_180, 16_589, 480),
        root="/home/dev/repo-wt",
        last_folder="/home/dev/repo-wt",
        branch="wt/export",
        sha=LATER,
        sandbox="workspace-write",
        operations=3,
    ),
}


def events_of(name: str) -> list[Event]:
    return list(CodexStore(Path("/nonexistent")).read(recording(name)))


def test_recordings_are_as_written() -> None:
    found = {
        path.relative_to(RECORDINGS).as_posix(): sha256(path)
        for path in RECORDINGS.rglob("*")
        if path.is_file() and path.name != "SHA256SUMS"
    }
    assert found == sums()


def test_every_recording_has_its_values() -> None:
    assert set(VALUES) == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_values(name: str) -> None:
    assert summarise(events_of(name)) == VALUES[name]


@pytest.mark.parametrize("name", NAMES)
def test_identities_and_times(name: str) -> None:
    events = events_of(name)
    assert len({event.event_id for event in events}) == len(events)
    assert all(event.src.kind is SourceKind.STORE for event in events)
    assert all(event.src.ref.startswith(f"codex:{name}.jsonl:") for event in events)
    assert all(event.ts == event.at and event.ts.endswith("Z") for event in events)
    assert events == events_of(name)


@pytest.mark.parametrize("name", NAMES)
def test_entries_form_one_chain(name: str) -> None:
    entries = [event for event in events_of(name) if event.id is not None]
    assert len({event.id for event in entries}) == len(entries)
    assert [event.parent_id for event in entries] == [None, *(event.id for event in entries[:-1])]


@pytest.mark.parametrize("name", NAMES)
def test_stopping_after_any_line_and_going_on_changes_nothing(name: str) -> None:
    whole = events_of(name)
    lines = recording(name).read_bytes().splitlines(keepends=True)
    parts: list[Event] = []
    state, offset = None, 0
    for line in lines:
        translator = Translator(f"{name}.jsonl", state)
        parts += translator.feed(line, offset)
        state, offset = translator.snapshot(), offset + len(line)
    assert parts == whole


def test_an_unreadable_line_leaves_the_state() -> None:
    translator = Translator("v171_resumed.jsonl")
    lines = recording("v171_resumed").read_bytes().splitlines(keepends=True)
    for line in lines[:12]:
        translator.feed(line, 0)
    before = translator.snapshot()
    for bad in (b"", b"\0\0", b"{", b"[]", b'{"type":"response_item"}', b'{"type":1,"payload":{}}'):
        with pytest.raises(UnreadableLine):
            translator.feed(bad, 0)
    assert translator.snapshot() == before


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (b"\0\0\0\n", "is only NUL bytes"),
        (b'{"type":"even\0\0\n', "contains NUL bytes"),
        (b'{"type":"turn_context","payload":{"cwd":3}}\n', "has an unexpected form"),
        (b'{"type":"event_msg","payload":{"ty\n', "is cut off in the middle"),
        (b"hello\n", "is not readable"),
        (b'{"type":"\xff","payload":{}}\n', "is not readable"),
        (b'{"type":"x","payload":' + b"[" * 100_000 + b"\n", "is cut off in the middle"),
    ],
)
def test_what_is_wrong_with_a_line(line: bytes, sentence: str) -> None:
    with pytest.raises(UnreadableLine, match=sentence):
        Translator("x.jsonl").feed(line, 0)


@pytest.mark.parametrize(
    "line",
    [
        b'{"type":"of the future","payload":{"type":"x"}}',
        b'{"type":"event_msg","payload":{"type":"of the future"}}',
        b'{"type":"event_msg","payload":{"turn_id":"x","type":"of_the_future"}}',
        b'{"type":"response_item","payload":{}}',
        b'{"type":"world_state","payload":{"full":true}}',
    ],
)
def test_kinds_that_are_not_ours_have_no_events(line: bytes) -> None:
    assert Translator("x.jsonl").feed(line, 0) == []


def test_the_type_is_found_wherever_it_stands() -> None:
    translator = Translator("x.jsonl")
    translator.feed(b'{"payload":{"cwd":"/a","id":"t"},"type":"session_meta"}', 0)
    (event,) = translator.feed(b'{"type":"event_msg","payload":{"turn_id":"1","type":"task_started"}}', 9)
    assert type(event.payload).__name__ == "TurnStarted"
