"""Putting away, bringing back, removing and taking in are killed at their first, second, third … call that
changes the disk, until they end untouched: what is left is as before or as after, and is finished by the
next start."""

import asyncio
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.keeping_zygote import act, prepare
from tests.support.machines import stream_files
from tests.support.shim import compiled
from tests.support.streams import program_environment

MEMORY = Path("/dev/shm")
MOST_CALLS = 400
LEAST_CALLS = {"archive": 15, "unarchive": 15, "purge": 30, "import": 40}


class Zygote:
    """The parent's end."""

    def __init__(self, library: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.keeping_zygote"],
            env=program_environment(LD_PRELOAD=str(library)),
            cwd=Path(__file__).parents[2],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, **request: object) -> str:
        """How a task, or a look at what it left, ended."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(request), file=self._process.stdin, flush=True)
        return self._process.stdout.readline().strip()

    def close(self) -> None:
        """End the process, which ends by itself when nobody asks any more."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(60)
        self._process.stdout.close()


def prepared(work: Path, home: Path, task: str) -> str:
    """Make the state in which the task is done; returns the thread."""
    thread = asyncio.run(prepare(work))
    if task == "unarchive":
        asyncio.run(act(work, "archive", thread, 0))
    if task == "import":
        asyncio.run(act(work, "purge", thread, 0))
        assert not [name for name in stream_files() if thread in name]
    shutil.copytree(home, home.with_name("before"))
    return thread


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one: a kill takes nothing from a file system."""
    if not os.access(MEMORY, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=MEMORY) as memory:
        yield Path(memory)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("task", LEAST_CALLS)
def test_whatever_call_is_the_last_it_is_as_before_or_as_after(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, task: str
) -> None:
    library = compiled(tmp_path)
    work, home = folder / "work", folder / "state"
    work.mkdir()
    monkeypatch.setenv("RESUMED_HOME", str(home))
    thread = prepared(work, home, task)
    zygote = Zygote(library)
    try:
        for n in itertools.count(1):
            shutil.rmtree(home)
            shutil.copytree(home.with_name("before"), home, copy_function=shutil.copy2)
            ended = zygote.run(home=str(home), work=str(work), task=task, thread=thread, n=n)
            assert ended in ("done", "killed"), (task, n)
            left = zygote.run(home=str(home), work=str(work), task=task, thread=thread)
            assert left == "done", (task, n)
            if ended == "done":
                break
            assert n < MOST_CALLS, "it never ran to its end"
    finally:
        zygote.close()
    print(f"{task}: {n - 1} points")
    assert n - 1 >= LEAST_CALLS[task]
    assert os.listdir(work) == ["file"]
