"""The demonstration runs as promised, and shows something else when the record says something else."""

import os
import subprocess
import sys
from pathlib import Path

import psutil

from tests.support.wire import REPOSITORY

ESSENTIAL = (
    "✓ Ready to continue “[[bare]] fix the rounding” (Codex).",
    "Start codex resume 01a22dbd-6721-7b02-8d3d-d77a010ed4f3 -C",
    "Last time it could change anything on this computer",
    "It has a goal that it pursues by itself",
    "✓ Make ~/dev/repo-wt on wt/export",
    "✗ README.md: 1 line added by the agent is missing",
    "✗ note_12.txt: written by the agent, missing",
    "the worktree's own entry), are byte for byte as before.",
    "! `sleep 40; echo slept` was cut off: the agent will check first",
    "✗ Not resumed yet: This conversation belongs to another project. Nothing was changed or started.",
    "✓ Switch ~/dev/repo-a back to fix/payment",
    "(was on main)",
    "✓ tests 7/9 still count: same command, same files. Failing: half_even, jpy",
    '✓ 3 of 5, next "Round JPY to whole yen"',
    "✓ about $1.84 so far, continues.",
    "✗ 7/9 no longer counts, rounding.py differs; rerun: pytest tests",
    "All promises were kept.",
)


def demo(*arguments: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    """Run the demonstration in an environment that must not matter."""
    return subprocess.run(
        [sys.executable, "-m", "tests.e2e.demo", *arguments],
        cwd=REPOSITORY,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def processes_of(folder: Path) -> list[int]:
    """The processes that still serve something below the folder."""
    return [
        process.pid
        for process in psutil.process_iter(["cmdline"])
        if any(str(folder) in argument for argument in process.info["cmdline"] or ())
    ]


def test_it_shows_what_the_program_promises(tmp_path: Path) -> None:
    done = demo(TMPDIR=str(tmp_path), COLUMNS="200", RESUMED_HOME=str(tmp_path / "mine"))
    assert done.returncode == 0, done.stdout + done.stderr
    shown = " ".join(done.stdout.split())
    assert not [text for text in ESSENTIAL if text not in shown]
    assert "Traceback" not in done.stdout
    assert done.stderr == ""
    assert list(tmp_path.iterdir()) == []
    assert processes_of(tmp_path) == []


def test_an_altered_record_shows_something_else(tmp_path: Path) -> None:
    done = demo("--alter-sha", TMPDIR=str(tmp_path), RESUMED_DEMO_KEEP="1")
    assert done.returncode == 1, done.stdout + done.stderr
    shown = " ".join(done.stdout.split())
    assert "The commit 5555555 is not in this repository any more" in shown
    assert ESSENTIAL[0] not in shown
    assert "NOT AS PROMISED" in shown
    assert processes_of(tmp_path) == []
    (kept,) = tmp_path.iterdir()
    assert f"are in {kept}/home" in shown
    assert (kept / "home" / "dev" / "repo" / ".git").is_dir()
    assert (kept / "home" / "dev" / "repo-a" / "rounding.py").is_file()
