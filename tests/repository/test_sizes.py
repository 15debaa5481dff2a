"""Files stay small enough to be read in one go."""

import statistics
from pathlib import Path

from tests.support.tree import files, modules, relative

HARD_LIMIT = 450
MEDIAN_LIMIT = 180
SOURCES = {".py", ".ts", ".lua", ".sh"}


def line_count(path: Path) -> int:
    """Lines as an editor counts them."""
    return len(path.read_text(encoding="utf-8").splitlines())


def test_no_file_is_over_the_hard_limit() -> None:
    long = [
        f"{relative(path)}: {n}"
        for path in files()
        if path.suffix in SOURCES and (n := line_count(path)) > HARD_LIMIT
    ]
    assert not long, f"over {HARD_LIMIT} lines, split by what they do:\n" + "\n".join(long)


def test_the_median_file_is_short() -> None:
    counts = [line_count(path) for path in modules() if path.name != "__init__.py"]
    assert statistics.median(counts) <= MEDIAN_LIMIT
