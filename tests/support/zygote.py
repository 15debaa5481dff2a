"""A process that has imported everything and is forked for each run of the scripted session.

A run then costs milliseconds. What it reports goes through a pipe, so that it is known whatever
becomes of the disk; the fork happens while the process has one thread.
"""

import asyncio
import gc
import json
import logging
import os
import signal
import subprocess
import sys
import tempfile
import threading
import traceback
from pathlib import Path
from typing import Any, NamedTuple

from tests.support import shim
from tests.support.scripted_session import play
from tests.support.session_checks import check
from tests.support.shim import Action, Call, Fault
from tests.support.streams import program_environment

DEADLINE_SECONDS = 60


class Run(NamedTuple):
    """How a run ended: `killed` by the fault, or by itself, and whether the fault was `met` at all."""

    reports: tuple[str, ...]
    killed: bool
    met: bool


class Zygote:
    """The parent's end. The runs meet faults through the library of the shim. All of them share one
    processor, since their many threads only ever wait for each other."""

    def __init__(self, library: Path, number: int = 0) -> None:
        processors = sorted(os.sched_getaffinity(0))
        processor = processors[number % len(processors)]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.zygote", str(processor)],
            env=program_environment(LD_PRELOAD=str(library)),
            cwd=Path(__file__).parents[2],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def close(self) -> None:
        """End the process, which ends by itself when nobody asks any more."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(DEADLINE_SECONDS)

    def play(self, home: Path, run: int, fault: Fault | None = None, steps: int | None = None) -> Run:
        """Play the session, or its first steps, as the run of that number. Fails when it ends in any way
        but whole or killed."""
        return self._run({"task": "play", "home": str(home), "run": run, "fault": fault, "steps": steps})

    def check(self, home: Path, run: int, reports: tuple[str, ...]) -> None:
        """Check what the session left, in a process of its own."""
        self._run({"task": "check", "home": str(home), "run": run, "reports": reports})

    def _run(self, request: dict[str, object]) -> Run:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(request), file=self._process.stdin, flush=True)
        reports: list[str] = []
        for line in self._process.stdout:
            word, _, rest = line.rstrip("\n").partition(" ")
            if word == "end":
                status, met = int(rest), "met" in reports
                assert status in (0, -signal.SIGKILL), (request, status, reports)
                return Run(tuple(reports), status != 0, met or status != 0)
            reports.append(line.rstrip("\n"))
        raise AssertionError(f"the zygote ended while at {request}")


def main() -> None:
    """Fork a child for each line of standard input; say on standard output how each ended."""
    os.sched_setaffinity(0, {int(sys.argv[1])})
    logging.disable(logging.CRITICAL)
    _warm_up()
    gc.freeze()
    for line in sys.stdin:
        assert threading.active_count() == 1
        child = os.fork()
        if child == 0:
            _child(json.loads(line))
        _, status = os.waitpid(child, 0)
        _say(f"end {os.waitstatus_to_exitcode(status)}")


def _warm_up() -> None:
    """Go once through everything here, so that no run pays for what is imported or cached at first use."""
    with tempfile.TemporaryDirectory() as folder:
        reports: list[str] = []
        asyncio.run(play(Path(folder) / "home", 0, reports.append))
        asyncio.run(check(Path(folder) / "home", 1, reports))


def _child(request: dict[str, Any]) -> None:
    signal.alarm(DEADLINE_SECONDS)
    status = 1
    try:
        home, run, fault = Path(request["home"]), request["run"], request.get("fault")
        if isinstance(fault, list):
            action, kinds, *numbers = fault
            shim.arm(home, Fault(Action(action), Call(kinds), *numbers))
        if request["task"] == "play":
            asyncio.run(play(home, run, _say, request["steps"]))
        else:
            asyncio.run(check(home, run, request["reports"]))
        if isinstance(fault, list) and shim.fired():
            _say("met")
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def _say(line: str) -> None:
    os.write(1, line.encode() + b"\n")


if __name__ == "__main__":
    main()
