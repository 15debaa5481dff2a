"""Another user's process, for tests that run as root: elsewhere they are skipped."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.wire import DEADLINE

NOBODY = 65534
_LISTEN = """
import os, socket, sys
listening = socket.socket(socket.AF_UNIX)
os.setuid(int(sys.argv[2]))
os.chdir(os.path.dirname(sys.argv[1]))
listening.bind(os.path.basename(sys.argv[1]))
listening.listen()
print("listens", flush=True)
client, _ = listening.accept()
while chunk := client.recv(65536):
    sys.stdout.buffer.write(chunk)
"""


def skip_unless_root() -> None:
    """Only root can become another user."""
    if os.getuid() != 0:
        pytest.skip("needs root to become another user")


@contextmanager
def listening_stranger(path: Path) -> Iterator[Callable[[], bytes]]:
    """Let another user listen at a path, in a folder made open to all for it.

    Gives a function that returns what the first client said, once that has hung up.
    """
    skip_unless_root()
    for folder in reversed(path.parents):
        if folder.stat().st_mode & 0o001 == 0:
            folder.chmod(folder.stat().st_mode | 0o055)
    path.parent.chmod(0o777)
    process = subprocess.Popen(
        [sys.executable, "-I", "-c", _LISTEN, str(path), str(NOBODY)], stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == b"listens\n"
        path.parent.chmod(0o755)
        yield lambda: process.communicate(timeout=DEADLINE)[0]
    finally:
        process.kill()
        process.communicate()
