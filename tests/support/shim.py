"""The shim that makes the n-th write, sync, rename or the like of a process go wrong, and its settings.

It is C, compiled once in a test run. It works on Linux with programs that use the C library.
"""

import ctypes
import enum
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

SOURCE = Path(__file__).parents[1] / "crash" / "shim.c"
FOR_EVER = 1 << 40
NO_COMPILER = "There is no C compiler, which the crash tests need: apt install gcc libc6-dev."


class Call(enum.IntFlag):
    """The kinds of calls that are counted; a sync may be of a file or of a folder."""

    WRITE = 1
    SYNC = 2
    RENAME = 4
    CREATE = 8
    REMOVE = 16
    TRUNCATE = 32
    FOLDER = 64


ANY = Call(127)


class Action(enum.IntEnum):
    """What happens at the call. `TEAR` writes a part and kills, `SHORTEN` writes a part and says so,
    `CUT` takes the power from the whole file system."""

    KILL = 1
    TEAR = 2
    SHORTEN = 3
    FAIL = 4
    CUT = 5


class Fault(NamedTuple):
    """`times` calls of `kinds` are hit, the n-th first. `detail` is the error number of `FAIL`, and for
    `TEAR` and `SHORTEN` how many per cent of the bytes are written."""

    action: Action
    kinds: Call
    n: int
    detail: int = 0
    times: int = 1


def compiled(folder: Path) -> Path:
    """The shim as a library in `folder`. Without a compiler it fails in CI; elsewhere the test is skipped."""
    if sys.platform != "linux":
        pytest.skip("The shim works on Linux only.")
    compiler = shutil.which("cc")
    if compiler is None:
        if os.environ.get("CI") == "true":
            pytest.fail(NO_COMPILER)
        pytest.skip(NO_COMPILER)
    library = folder / "shim.so"
    flags = ["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o", str(library), str(SOURCE), "-ldl"]
    subprocess.run([compiler, *flags], check=True)
    return library


def arm(folder: Path, fault: Fault) -> None:
    """Let this process, into which the shim was loaded, meet the fault on files below `folder`."""
    last = fault.n + fault.times - 1
    path = os.fsencode(os.path.realpath(folder))
    longs = (ctypes.c_long(fault.n), ctypes.c_long(last), ctypes.c_long(fault.detail))
    ctypes.CDLL(None).shim_arm(path, int(fault.action), int(fault.kinds), *longs)


def fired() -> int:
    """How many calls were hit since this process was armed."""
    return int(ctypes.CDLL(None).shim_fired())
