"""Failpoints: a real process dies exactly where and when it was told to."""

import signal
import subprocess
import sys

import pytest

from resumed.daemon.failpoints import FAILPOINTS, parse, passage
from tests.support.streams import program_environment

PROGRAM = """
from resumed.daemon.failpoints import passage
for n in range(1, 6):
    passage("journal")
    passage("stream.sync")
    print(n, flush=True)
"""


def run(setting: str) -> tuple[int, list[str]]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=program_environment(RESUMED_FAILPOINT=setting),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout.split()


@pytest.mark.parametrize("n", [1, 3, 5])
def test_the_nth_passage_of_the_named_point_kills(n: int) -> None:
    assert run(f"journal:{n}") == (-signal.SIGKILL, [str(passed) for passed in range(1, n)])


def test_without_a_setting_or_before_the_nth_passage_nothing_happens() -> None:
    assert run("") == (0, ["1", "2", "3", "4", "5"])
    assert run("journal:6") == (0, ["1", "2", "3", "4", "5"])


@pytest.mark.parametrize("setting", ["jornal:1", "journal", "journal:0", "journal:-1", "journal:x", ":1"])
def test_a_setting_that_would_never_kill_is_refused(setting: str) -> None:
    with pytest.raises(ValueError, match="RESUMED_FAILPOINT must be"):
        parse(setting)
    code, passed = run(setting)
    assert (code, passed) == (1, [])


def test_a_setting_is_a_name_and_an_ordinal() -> None:
    armed = parse("stream.write:12")
    assert armed is not None
    assert (armed.name, armed.fatal) == ("stream.write", 12)
    assert parse("") is None


def test_every_point_says_what_it_is_and_is_harmless_here() -> None:
    for name, meaning in FAILPOINTS.items():
        assert meaning
        passage(name)
