"""What a rollout's name says."""

from resumed.daemon.agents.codex.names import native_id_in, plain_name, start_time_in

NAME = "rollout-2026-11-30T18-35-17-01a22dbd-6721-7b02-8d3d-d77a010ed4f3.jsonl"


def test_names() -> None:
    assert plain_name(f"{NAME}.zst") == plain_name(NAME) == NAME
    assert native_id_in(NAME) == "01a22dbd-6721-7b02-8d3d-d77a010ed4f3"
    assert native_id_in("v171_resumed.jsonl") is None


def test_the_start_is_local_time() -> None:
    start = start_time_in(NAME)
    assert start is not None
    assert start.strftime("%Y-%m-%d %H:%M:%S") == "2026-11-30 18:35:17"
    assert start.tzinfo is not None
    assert start_time_in(NAME.replace("2026-11", "2026-13")) is None
    assert start_time_in("x.jsonl") is None
