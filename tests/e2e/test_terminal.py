"""Whatever ends or suspends a question on a terminal gives the terminal back as it was."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.command_line import ShellTerminal, Terminal, recorded_workspace, stopping_daemons
from tests.support.wire import wait_for

CHOOSE = "leave everything as it is "


@pytest.fixture
def workspace(hermetic_home: Path) -> Iterator[Path]:
    with stopping_daemons():
        yield recorded_workspace(hermetic_home, ("v171_sigkill_midturn",))


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM])
def test_a_signal_gives_the_terminal_back(workspace: Path, number: signal.Signals) -> None:
    with Terminal(workspace, "resume", "kill") as terminal:
        before = terminal.settings()
        terminal.wait_for(CHOOSE)
        wait_for(lambda: terminal.settings() != before)
        terminal.signal(number)
        wait_for(lambda: terminal.settings() == before)
        assert terminal.exit_code() is None


def test_who_suspends_a_question_has_the_terminal_until_it_goes_on(workspace: Path) -> None:
    with ShellTerminal(workspace, "resume", "kill") as terminal:
        before = terminal.settings()
        terminal.wait_for(CHOOSE)
        wait_for(lambda: terminal.settings() != before)
        within = terminal.settings()
        terminal.suspend()
        terminal.wait_for("suspended")
        assert terminal.settings() == before
        terminal.enter()
        wait_for(lambda: terminal.settings() == within)
        terminal.enter("q")
        assert terminal.exit_code() == 4
    assert "Left as it is." in terminal.seen
