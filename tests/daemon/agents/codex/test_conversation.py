"""Each message is one entry, although Codex writes it twice."""

from resumed.restore.events.session import Boundary, EntryAdded, UsageRecorded
from tests.support.codex import recording
from tests.support.rollout import event, item, line, meta, payloads, translated


def told(*lines: bytes) -> list[tuple[str, str, str, bool]]:
    return [
        (found.kind, found.role, found.text, found.display)
        for found in payloads(*lines, of=EntryAdded)
        if isinstance(found, EntryAdded)
    ]


def text(words: str) -> list[dict[str, str]]:
    return [{"type": "input_text", "text": words}]


def kinds(*names: str) -> dict[str, list[str]]:
    return {"content_item_kinds": list(names)}


def test_a_message_in_both_forms_is_one_entry() -> None:
    own = item(
        "message",
        role="user",
        content=text("fix it"),
        internal_chat_message_metadata_passthrough=kinds("user.text"),
    )
    done = event("item_completed", item={"type": "UserMessage", "content": text("fix it")})
    assert told(own, done) == [("message", "user", "fix it", True)]


def test_the_old_form_is_told_apart_by_the_line_after_it() -> None:
    context = item("message", role="user", content=text("<environment>"))
    own = item("message", role="user", content=text("fix it"))
    assert told(context, own, event("user_message", message="fix it"), context, line("compacted")) == [
        ("context", "user", "<environment>", False),
        ("message", "user", "fix it", True),
        ("context", "user", "<environment>", False),
    ]


def test_held_context_keeps_its_own_place() -> None:
    lines = recording("v104_compacted").read_bytes().splitlines(keepends=True)
    contexts = [
        found
        for found in translated(*lines)
        if isinstance(found.payload, EntryAdded) and found.payload.role == "user"
    ]
    offsets = [len(b"".join(lines[:number])) for number in (2, 3, 6)]
    assert [found.src.ref for found in contexts] == [f"codex:rollout.jsonl:{offset}" for offset in offsets]
    assert [found.seq for found in contexts] == [3, 4, 7]


def test_context_of_the_agent_is_not_shown() -> None:
    harness = kinds("environments.environment_context")
    assert told(
        item("message", role="developer", content=[*text("a"), *text("b")]),
        item("message", role="user", content=text("c"), internal_chat_message_metadata_passthrough=harness),
        item("function_call_output", name="goal_objective", output="ship"),
    ) == [
        ("context", "developer", "a\nb", False),
        ("context", "user", "c", False),
        ("context", "tool", "ship", False),
    ]


def test_answers_and_reasoning() -> None:
    assert told(
        item("reasoning", summary=[{"text": "look"}]),
        item("reasoning", summary=None),
        event("agent_message", message="done"),
        item("message", role="assistant", content=text("done")),
    ) == [
        ("reasoning", "assistant", "look", True),
        ("reasoning", "assistant", "", False),
        ("message", "assistant", "done", True),
    ]


def test_a_compaction_is_a_boundary_and_its_output_no_answer() -> None:
    lines = recording("v171_compacted_part1").read_bytes().splitlines(keepends=True)
    events = translated(*lines)
    assert [found.payload for found in events if isinstance(found.payload, Boundary)] == [
        Boundary(kind="compact", summary="[458 characters left out]")
    ] * 2
    answers = [
        found.payload.text
        for found in events
        if isinstance(found.payload, EntryAdded)
        and (found.payload.kind, found.payload.role) == ("message", "assistant")
    ]
    assert answers == ["Plain mock answer."] * 2
    buckets = [found.payload.bucket for found in events if isinstance(found.payload, UsageRecorded)]
    assert buckets == ["main", "compaction", "main", "compaction", "main"]


def test_texts_are_bounded() -> None:
    long = "x" * 100_000
    (message,) = told(item("message", role="assistant", content=text(long)))
    (result,) = told(item("function_call_output", call_id="unknown", output=long))
    assert (len(message[2]), len(result[2])) == (16 * 1024, 4 * 1024)


def test_an_entry_is_in_its_turn() -> None:
    events = translated(meta(), event("task_started", turn_id="1"), event("user_message", message="go"))
    assert events[-1].turn == events[-2].turn is not None
