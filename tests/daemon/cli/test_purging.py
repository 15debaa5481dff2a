"""What is asked before a conversation is removed, and what is said when it is."""

from datetime import UTC, datetime
from io import StringIO
from pathlib import Path

import pytest

from resumed.daemon.cli.failures import Exit, Failure
from resumed.daemon.cli.paper import Line, Paper
from resumed.daemon.cli.purging import is_wanted, purged_lines, question_lines
from resumed.daemon.cli.words import Reader
from resumed.protocol.keeping import ThreadPurgeResult

READER = Reader(now=datetime(2026, 1, 2, tzinfo=UTC), home="/home/kim")


def text(lines: list[Line]) -> str:
    return "\n".join(line.head + line.text for line in lines)


def test_nobody_to_ask_is_a_refusal(tmp_path: Path) -> None:
    with pytest.raises(Failure) as refused:
        is_wanted(tmp_path, "round", Paper(StringIO()), READER)
    assert refused.value.exit_code is Exit.NEEDS_ANSWER
    assert "--yes" in refused.value.hint


def test_one_that_cannot_be_read_is_called_as_it_was_asked_for() -> None:
    assert text([*question_lines(None, "round", READER)]) == "! “round” is about to be removed for good."


def test_all_that_went_and_all_that_stays_is_said() -> None:
    result = ThreadPurgeResult(
        thread_id="t", name="Round", files=3, bytes=4711, contents=2, contents_shared=1, contents_later=4,
        depends_on="/home/kim/.codex/r.jsonl", notes=("A note.",),
    )  # fmt: skip
    assert text([*purged_lines(result, READER)]).splitlines() == [
        "✓ “Round” is removed for good: 3 files, 4,711 bytes.",
        "  With it 2 kept contents.",
        "  1 kept contents stay: other records name them.",
        "! 4 kept contents are removed after a day, when nobody can need them.",
        "  The agent's own file ~/.codex/r.jsonl stays, and the conversation is listed from it again.",
        "! A note.",
    ]


def test_where_only_the_agent_has_something_that_is_said() -> None:
    result = ThreadPurgeResult(thread_id="t", name="Round", files=0, bytes=0, depends_on="/r.jsonl")
    assert text([*purged_lines(result, READER)]).startswith("- Nothing is kept here of “Round” but")
