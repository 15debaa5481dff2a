"""Somebody leaves while git is at work: what was begun is done, and they are told how to look at it."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.command_line import Terminal, recorded_workspace, run, stopping_daemons
from tests.support.repository import run_git
from tests.support.wire import wait_for

THREAD = "01a22dbd-1752-79b2-8808-ec5c7cbc6cc7"
ANSWERS = ("--answer", "worktree.worktreeRemoved=recreate", "--answer", "permissions.neverAsk=onRequest")
FILTER = "#!/bin/sh\nif [ -p {gate} ]; then echo > {begun}; timeout 60 cat {gate} > /dev/null; fi\ncat\n"


@pytest.fixture
def workspace(hermetic_home: Path) -> Iterator[Path]:
    """The main checkout; the recorded work tree beside it is deleted."""
    with stopping_daemons():
        root = recorded_workspace(hermetic_home, ("v171_worktree_workspace_write",))
        shutil.rmtree(root.parent / "repo-wt")
        yield root


def test_interrupting_it_says_how_to_look_at_what_became_of_it(workspace: Path, tmp_path: Path) -> None:
    gate, begun, program = tmp_path / "gate", tmp_path / "begun", tmp_path / "filter"
    os.mkfifo(gate)
    program.write_text(FILTER.format(gate=gate, begun=begun))
    program.chmod(0o755)
    run_git(workspace, "config", "filter.gate.smudge", str(program))
    (workspace / ".git" / "info" / "attributes").write_text("README.md filter=gate\n")
    with Terminal(workspace, "resume", THREAD, *ANSWERS) as terminal:
        wait_for(begun.exists)
        terminal.interrupt()
        assert terminal.exit_code() == 130
    assert "! What was begun is done to its end in the background.\n" in terminal.seen
    assert f"  What became of it: resumed show {THREAD}\n" in terminal.seen
    gate.write_bytes(b"")
    wait_for(lambda: "not taken up by the agent" in run(workspace, "show", THREAD).stdout)
    checked = run(workspace, "check", THREAD).stdout
    assert "The last Resume made ~/dev/repo-wt for it; this is ~/dev/repo, another checkout" in " ".join(
        checked.split()
    )


def test_interrupting_a_question_says_nothing_of_that(workspace: Path) -> None:
    with Terminal(workspace, "resume", THREAD) as terminal:
        terminal.wait_for("Choose [")
        terminal.interrupt()
        assert terminal.exit_code() == 4
    assert "What became of it" not in terminal.seen
