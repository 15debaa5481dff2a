"""The scripted session meets a fault at its first, second, third … call that changes the disk, until it
ends untouched; what it left is looked at, started again and completed.

A fault kills the process, tears or shortens a write, or is an error that the process lives on with.
Some sweeps go over the run after one that was torn, or that had to begin files anew half-way: a crash
while a crash is being mended.
"""

import errno
import itertools
import os
import shutil
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.shim import ANY, Action, Call, Fault, compiled
from tests.support.zygote import Zygote

LEAST_POINTS = 2000
WORKERS = 2
MOST_CALLS = 1000
MEMORY = Path("/dev/shm")


class Sweep(NamedTuple):
    """One kind of fault, at every call of these kinds; after another run that met the fault `before`."""

    action: Action
    kinds: Call
    detail: int = 0
    times: int = 1
    before: Fault | None = None

    def fault(self, n: int) -> Fault:
        """The fault at the n-th call."""
        return Fault(self.action, self.kinds, n, self.detail, self.times)


PARTS = (1, 50, 99)
TORN = tuple(Fault(Action.TEAR, Call.WRITE, write, 50) for write in (6, 24, 57, 83))
SEALED = tuple(Fault(Action.FAIL, Call.SYNC, sync, errno.EIO) for sync in (22, 42))
STEPS_BEFORE = 9
FULL = Call.WRITE | Call.CREATE | Call.FOLDER | Call.TRUNCATE | Call.RENAME
SWEEPS = (
    Sweep(Action.KILL, ANY),
    *(Sweep(Action.TEAR, Call.WRITE, part) for part in PARTS),
    *(Sweep(Action.SHORTEN, Call.WRITE, part) for part in PARTS[:2]),
    *(Sweep(Action.FAIL, FULL, errno.ENOSPC, times) for times in (1, 7)),
    *(Sweep(Action.FAIL, ANY, errno.EIO, times) for times in (1, 7)),
    *(Sweep(Action.KILL, ANY, before=before) for before in (*TORN[1:], *SEALED)),
    *(Sweep(Action.TEAR, Call.WRITE, 50, before=before) for before in TORN),
)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one: a kill takes nothing from a file system."""
    if not os.access(MEMORY, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=MEMORY) as memory:
        yield Path(memory)


def go_through(sweep: Sweep, zygote: Zygote, folder: Path) -> int:
    """Put the fault at every call in turn; returns how many calls it met."""
    for n in itertools.count(1):
        home = folder / str(n) / "state"
        home.parent.mkdir(parents=True)
        reports: tuple[str, ...] = ()
        if sweep.before:
            steps = None if sweep.before in TORN else STEPS_BEFORE
            reports = zygote.play(home, 0, sweep.before, steps).reports
            assert steps is None or list(home.rglob("*.1.jsonl")), "no file had to be begun anew"
        run = zygote.play(home, 1, sweep.fault(n))
        zygote.check(home, 2, reports + run.reports)
        shutil.rmtree(home.parent)
        if not run.met:
            return n - 1
        assert n < MOST_CALLS, "the script never ran to its end"
    raise AssertionError


@pytest.mark.timeout(900)
def test_whatever_call_fails_or_is_the_last_nothing_acknowledged_is_lost(folder: Path) -> None:
    library = compiled(folder)
    mine = threading.local()
    zygotes: list[Zygote] = []

    def begin() -> None:
        mine.zygote = Zygote(library, len(zygotes))
        zygotes.append(mine.zygote)

    def points(numbered: tuple[int, Sweep]) -> int:
        number, sweep = numbered
        try:
            return go_through(sweep, mine.zygote, folder / str(number))
        except AssertionError as failure:
            raise AssertionError(f"{sweep}: {failure}") from failure

    try:
        with ThreadPoolExecutor(WORKERS, initializer=begin) as workers:
            counted = list(workers.map(points, enumerate(SWEEPS)))
    finally:
        for zygote in zygotes:
            zygote.close()
    print(
        f"{sum(counted)} points:",
        *(f"{sweep}: {count}" for sweep, count in zip(SWEEPS, counted, strict=True)),
        sep="\n",
    )
    assert sum(counted) >= LEAST_POINTS
