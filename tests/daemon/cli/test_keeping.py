"""What is said when a conversation was put away, written into a file, or taken in from one."""

from datetime import UTC, datetime
from typing import Any

from resumed.daemon.cli.keeping import exported_lines, imported_lines, moved_lines
from resumed.daemon.cli.words import Reader
from resumed.protocol.keeping import ThreadArchiveResult, ThreadExportResult, ThreadImportResult
from tests.support.reports import printed

READER = Reader(now=datetime(2026, 1, 2, tzinfo=UTC), home="/home/kim")


def moved(**fields: Any) -> str:
    plain: dict[str, Any] = {"thread_id": "t", "name": "Round", "archived": True, "changed": True}
    return printed(moved_lines(ThreadArchiveResult(**plain | fields), READER), 80)


def test_put_away_with_the_way_back() -> None:
    assert moved(depends_on="/home/kim/.codex/r.jsonl") == (
        "✓ “Round” is put away. It can still be shown and resumed.\n"
        "  The agent's own file ~/.codex/r.jsonl stays where it is.\n"
        "  resumed threads --archived lists it. To bring it back:\n"
        "  resumed unarchive Round\n"
    )
    assert moved(archived=False) == "✓ “Round” is back in the list.\n"


def test_what_was_so_before_is_said() -> None:
    assert moved(changed=False) == "- “Round” was put away before.\n"
    assert moved(changed=False, archived=False) == "- “Round” was not put away before.\n"


def test_a_file_that_was_written_and_what_it_lacks() -> None:
    result = ThreadExportResult(
        thread_id="t", name="Round", path="/home/kim/a file", bytes=4711, sha256="ab", runs=1, contents=2,
        missing=3, depends_on="/home/kim/.codex/r.jsonl",
    )  # fmt: skip
    assert printed(exported_lines(result, READER), 100) == (
        "✓ “Round” is in ~/a file: 4,711 bytes.\n"
        "  It holds 1 run, 2 kept contents. To take it in elsewhere:\n"
        '  resumed import "/home/kim/a file"\n'
        "! 3 contents that it names are not kept any more.\n"
        "! What was said is in the agent's own file ~/.codex/r.jsonl: take that along, too.\n"
    )


def test_what_was_taken_in_and_what_was_here() -> None:
    result = ThreadImportResult(thread_id="t", name="Round", status="imported", runs=2, contents=0)
    assert printed(imported_lines(result), 80) == (
        "✓ “Round” is here now: 2 runs.\n"
        "  resumed threads --all lists it, wherever it ran. To look at it:\n"
        "  resumed show Round\n"
    )
    present = ThreadImportResult(thread_id="t", name="Round", status="present", runs=2, contents=0)
    assert (
        printed(imported_lines(present), 80) == "- “Round” is here already, with all that the file holds.\n"
    )
