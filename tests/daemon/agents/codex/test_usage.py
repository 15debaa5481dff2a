"""Usage is counted once, whatever Codex repeats."""

from resumed.restore.events.session import UsageRecorded
from tests.support.rollout import OWN, event, item, line, payloads


def totals(input_tokens: int, cached: int = 0, output: int = 0) -> bytes:
    tokens = {"input_tokens": input_tokens, "cached_input_tokens": cached, "output_tokens": output}
    return event("token_count", info={"total_token_usage": tokens, "last_token_usage": {"input_tokens": 0}})


def record(response: str, input_tokens: int, thread: str = OWN) -> bytes:
    return line(
        "token_usage_record", thread_id=thread, response_id=response, usage={"input_tokens": input_tokens}
    )


ANSWER = item("message", role="assistant", content=[])


def usage(*lines: bytes) -> list[tuple[str, int, str]]:
    return [
        (found.basis, found.input_tokens, found.bucket)
        for found in payloads(*lines, of=UsageRecorded)
        if isinstance(found, UsageRecorded)
    ]


def test_the_growth_of_totals_counts_in_older_files() -> None:
    assert usage(event("token_count", info=None), ANSWER, totals(10), totals(10), ANSWER, totals(25)) == [
        ("delta", 10, "main"),
        ("delta", 15, "main"),
    ]


def test_growth_without_output_is_a_compaction() -> None:
    assert usage(ANSWER, totals(10), totals(30), ANSWER, totals(35)) == [
        ("delta", 10, "main"),
        ("delta", 20, "compaction"),
        ("delta", 5, "main"),
    ]


def test_from_the_first_record_on_only_records_count() -> None:
    assert usage(ANSWER, totals(10), record("a", 7), totals(17), record("b", 5), totals(22)) == [
        ("delta", 10, "main"),
        ("response", 7, "main"),
        ("response", 5, "main"),
    ]


def test_records_of_another_thread_do_not_count() -> None:
    assert usage(record("a", 7, thread="01a22d90-ee2f-7440-815e-7ac7007a1160"), record("b", 5)) == [
        ("response", 5, "main")
    ]


def test_a_counter_that_began_anew_counts_from_zero() -> None:
    assert usage(ANSWER, totals(10), ANSWER, totals(4)) == [("delta", 10, "main"), ("delta", 4, "main")]


def test_a_repeated_response_has_the_same_usage_id() -> None:
    first, second = payloads(record("a", 7), record("a", 7), of=UsageRecorded)
    assert isinstance(first, UsageRecorded)
    assert first == second
    assert first.usage_id == "a"
