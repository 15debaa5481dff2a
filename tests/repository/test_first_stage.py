"""The command line and the first stage of the daemon start without the language server's libraries.

`lsprotocol.types` alone costs a third of a second of import: nobody who asks for a status may wait for it.
"""

import subprocess
import sys

import pytest

HEAVY = ("pygls", "lsprotocol", "cattrs", "pygit2", "aiosqlite", "zstandard")
CLI = "resumed.daemon.cli.main"
FIRST_STAGE = "resumed.daemon.serve"

PROGRAM = """
import importlib, sys
importlib.import_module(sys.argv[1])
print(*sorted(name for name in sys.modules if name.split(".")[0] in sys.argv[2:]))
"""


@pytest.mark.parametrize("module", [CLI, FIRST_STAGE, "resumed.daemon.connect"])
def test_no_heavy_library_is_imported(module: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, module, *HEAVY], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == [], f"importing {module} also imports these"


def test_the_check_would_see_one() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, "resumed.daemon.rpc.lsp", *HEAVY],
        capture_output=True,
        text=True,
        check=True,
    )
    assert {"pygls", "lsprotocol"} <= set(done.stdout.split())
