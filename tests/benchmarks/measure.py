"""How the benchmarks measure: medians of repeated runs, in milliseconds, and memory of a process."""

import os
import statistics
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec

from tests.support.workspace import Serving


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """One row of the table."""

    what: str
    measured: str
    anchor: str = ""
    ratio: str = ""
    goal: str = ""


def beside(what: str, measured: float, anchor_name: str, anchor: float, goal: str) -> Figure:
    """A time beside the anchor of the same run, both in milliseconds."""
    return Figure(
        what=what,
        measured=f"{measured:.1f} ms",
        anchor=f"{anchor_name}: {anchor:.1f} ms",
        ratio=f"{measured / anchor:.1f} x" if anchor else "",
        goal=goal,
    )


def median(run: Callable[[], object], times: int) -> float:
    """The median duration of a call."""
    taken = []
    for _ in range(times):
        begin = time.perf_counter()
        run()
        taken.append((time.perf_counter() - begin) * 1000)
    return statistics.median(taken)


async def median_of(run: Callable[[], Awaitable[object]], times: int) -> float:
    """The median duration of an awaited call."""
    taken = []
    for _ in range(times):
        begin = time.perf_counter()
        await run()
        taken.append((time.perf_counter() - begin) * 1000)
    return statistics.median(taken)


def installed(folder: Path) -> Serving:
    """A daemon from the wheel over a folder; it may not listen yet."""
    return Serving(folder, {"PYTHONPATH": os.environ["PYTHONPATH"]})


def peak_megabytes(pid: int) -> float:
    """The most memory that a process has had resident, on Linux; 0 elsewhere."""
    status = Path(f"/proc/{pid}/status")
    if not status.exists():
        return 0.0
    for line in status.read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    return 0.0


def forget_peak(pid: int) -> None:
    """Make the process' peak start anew from what it has now."""
    clear = Path(f"/proc/{pid}/clear_refs")
    if clear.exists() and os.access(clear, os.W_OK):
        clear.write_text("5")
