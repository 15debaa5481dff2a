"""How the interpreter of a daemon is set."""

import subprocess
import sys
from pathlib import Path

from resumed.daemon.interpreter import TURN_SECONDS

PROGRAM = """
import gc, sys
from resumed.daemon.interpreter import importing
from resumed.daemon.serve import load_workspace
from resumed.daemon.rpc.dispatch import _load_language_server
counts = [gc.get_freeze_count()]
for load in (load_workspace, _load_language_server):
    load()
    counts.append(gc.get_freeze_count())
try:
    with importing():
        assert not gc.isenabled()
        raise ImportError
except ImportError:
    pass
print(*counts, gc.isenabled())
"""

SERVER = """
import os, signal, sys
from pathlib import Path
from resumed.daemon.serve import serve

def load():
    Path(sys.argv[2]).write_text(str(sys.getswitchinterval()))
    os.kill(os.getpid(), signal.SIGTERM)
    raise ImportError("nothing to serve")

sys.exit(serve(Path(sys.argv[1]), load))
"""
DEADLINE = 30


def test_what_importing_makes_is_never_looked_through_again() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    *counts, enabled = done.stdout.split()
    before, application, language_server = map(int, counts)
    assert before == 0
    assert application > 10_000
    assert language_server > 2 * application
    assert enabled == "True"


def test_a_daemon_gives_the_event_loop_its_turn_soon(tmp_path: Path) -> None:
    workspace, told = tmp_path / "work", tmp_path / "told"
    workspace.mkdir()
    command = [sys.executable, "-c", SERVER, str(workspace), str(told)]
    assert subprocess.run(command, timeout=DEADLINE).returncode == 0
    assert float(told.read_text()) == TURN_SECONDS
