"""Derived ids are version 5 UUIDs, and the same for ever."""

import uuid

from resumed.daemon.agents.identity import derived_id, imported_thread_id, namespace

THREAD = "01a22dbd-6721-7b02-8d3d-d77a010ed4f3"


def test_a_derived_id_is_the_uuid_of_the_standard_library() -> None:
    for name in ("", "codex:rollout.jsonl:0", "ünï", *map(str, range(64))):
        assert derived_id(namespace(THREAD), name) == str(uuid.uuid5(uuid.UUID(THREAD), name))


def test_the_namespace_of_an_agent_never_changes() -> None:
    assert derived_id(namespace("codex"), "call_1") == "63c4f2ae-9ba2-58b8-962a-bd9c051322b3"


def test_lone_surrogates_have_an_id_too() -> None:
    assert uuid.UUID(derived_id(namespace("codex"), "\ud800")).version == 5


def test_a_uuid_is_the_thread_id_and_another_id_is_derived() -> None:
    assert imported_thread_id("codex", THREAD.upper()) == THREAD
    assert imported_thread_id("codex", "chat 7") == derived_id(namespace("codex"), "chat 7")
    assert imported_thread_id("codex", "chat 7") != imported_thread_id("claude-code", "chat 7")
