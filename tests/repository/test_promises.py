"""The table of promises in the README says what the suites do."""

import re
from pathlib import Path

import pytest

from tests.crash import (
    mutations,
    test_daemon_under_load,
    test_keeping_every_call,
    test_power_loss,
    test_storage_every_call,
)
from tests.scenarios.test_scenarios import SCENARIOS
from tests.support.tree import ROOT

COUNTS = {
    "tests/crash/test_storage_every_call.py": (test_storage_every_call.LEAST_POINTS,),
    "tests/crash/test_power_loss.py": (test_power_loss.LEAST_POINTS,),
    "tests/crash/test_daemon_under_load.py": (test_daemon_under_load.KILLS_IN_CI, 1000),
    "tests/crash/test_keeping_every_call.py": (sum(test_keeping_every_call.LEAST_CALLS.values()),),
    "tests/scenarios/test_scenarios.py": (len(SCENARIOS),),
    "tests.crash.mutations": (len(mutations.MUTANTS),),
}
"""The numbers that a suite's row names, by the suite."""


def rows() -> list[tuple[str, str, str]]:
    """Promise, what was tried, and by which suite."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    table = text.partition("## What we promise and how it is tested\n")[2].partition("\n## ")[0]
    lines = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| ")]
    return [(promise, tried, suite.strip("`")) for promise, tried, suite in lines[1:]]


def test_every_suite_with_a_count_is_in_the_table() -> None:
    named = {suite.removeprefix("python -m ").partition("::")[0] for _, _, suite in rows()}
    assert set(COUNTS) <= named


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[2].rpartition("::")[2])
def test_a_promise_names_a_test_that_exists_and_its_count(row: tuple[str, str, str]) -> None:
    _, tried, suite = row
    path, _, function = suite.removeprefix("python -m ").partition("::")
    assert tuple(int(number.replace(",", "")) for number in re.findall(r"\d[\d,]*", tried)) == COUNTS.get(
        path, ()
    )
    if function:
        assert f"def {function}(" in (ROOT / Path(path)).read_text(encoding="utf-8")
    else:
        assert (ROOT / f"{path.replace('.', '/')}.py").is_file()


def test_the_makefile_kills_as_often_as_the_table_says() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "RESUMED_TEST_KILLS=1000 " in makefile
