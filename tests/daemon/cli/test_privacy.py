"""Sizes as people say them, and the sentence that matters most first."""

from datetime import UTC, datetime

import pytest

from resumed.daemon.cli.privacy import in_units, privacy_lines
from resumed.daemon.cli.words import Reader
from resumed.daemon.keeping.privacy import Inventory, Kept
from tests.support.reports import printed

READER = Reader(now=datetime(2026, 1, 2, tzinfo=UTC), home="/home/kim")


@pytest.mark.parametrize(
    ("size", "said"),
    [(0, "0 bytes"), (999, "999 bytes"), (4711, "4.7 kB"), (10**7, "10.0 MB"), (10**17, "100000.0 TB")],
)
def test_sizes(size: int, said: str) -> None:
    assert in_units(size) == said


def test_what_leaves_comes_first() -> None:
    kept = Kept(what="logs", path="/home/kim/state/logs", files=2, bytes=4711, how_long="a while")
    text = printed(privacy_lines(Inventory(state_folder="/home/kim/state", kept=(kept,)), READER), 120)
    assert text.startswith("✓ Leaves this machine: nothing. ")
    assert "    logs: 2 files, 4.7 kB; a while\n" in text
    assert "Never kept:" in text
