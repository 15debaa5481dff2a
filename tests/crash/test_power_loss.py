"""The power goes at the first, second, third … call of the scripted session that changes the disk.

The file system really loses what was not durable: it is shut down without its journal being written,
then mounted again. What is left is looked at, started again and completed. The same for the run after
one that was killed while events were written and not yet synced.
"""

import itertools
import shutil
from pathlib import Path

import pytest

from resumed.daemon.storage.disk import sync_folders
from tests.support.loop_disk import LoopDisk, loop_disk
from tests.support.shim import ANY, Action, Call, Fault, compiled
from tests.support.zygote import Zygote

LEAST_POINTS = 200
MOST_CALLS = 1000
UNSYNCED = Fault(Action.TEAR, Call.WRITE, 49, 100)
"""Kills a run that has written a group of events which nothing has synced yet."""
GROUP = 20


def cut(disk: LoopDisk, zygote: Zygote, home: Path, run: int, n: int) -> tuple[tuple[str, ...], bool]:
    """Play until the n-th call, where the power goes; returns what was reported and whether it went."""
    played = zygote.play(home, run, Fault(Action.CUT, ANY, n))
    disk.unmount()
    disk.mount()
    return played.reports, played.met


def a_folder(disk: LoopDisk, name: str) -> Path:
    """A durable folder for one run."""
    folder = disk.folder / name
    folder.mkdir()
    sync_folders(folder, disk.folder)
    return folder


@pytest.mark.timeout(900)
def test_whenever_the_power_goes_nothing_acknowledged_is_lost(tmp_path: Path) -> None:
    with loop_disk(tmp_path) as disk:
        zygote = Zygote(compiled(tmp_path))
        try:
            points = sum(go_through(disk, zygote, before) for before in (None, UNSYNCED))
        finally:
            zygote.close()
    print(f"{points} cut points")
    assert points >= LEAST_POINTS


def unsynced(folder: Path, reports: tuple[str, ...]) -> int:
    """How many events are in the files without having been acknowledged."""
    lines = sum(path.read_bytes().count(b"\n") for path in folder.rglob("*.jsonl"))
    return lines - len({line.split()[3] for line in reports if line.startswith("acknowledged ")})


def go_through(disk: LoopDisk, zygote: Zygote, before: Fault | None) -> int:
    """Cut at every call in turn, in a first run or in the one after a run that met the fault `before`."""
    for n in itertools.count(1):
        folder = a_folder(disk, f"{'second' if before else 'first'}-{n}")
        reports = zygote.play(folder / "state", 0, before).reports if before else ()
        assert not before or unsynced(folder, reports) > GROUP
        more, met = cut(disk, zygote, folder / "state", 1, n)
        zygote.check(folder / "state", 2, reports + more)
        shutil.rmtree(folder)
        if not met:
            return n - 1
        assert n < MOST_CALLS, "the script never ran to its end"
    raise AssertionError
