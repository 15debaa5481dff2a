"""What may stand in a file's place and can't be read as one: a pipe, a socket, a device, a folder."""

import os
import socket
import tempfile
from pathlib import Path

KINDS = ("pipe", "socket", "link to a device", "folder")


def put_something_odd(path: Path, kind: str) -> None:
    """Make it at this path; nobody ever writes to the pipe or listens on the socket."""
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "socket":
            # A socket's path may be too short for a test's folder.
            with tempfile.TemporaryDirectory(dir="/tmp") as folder, socket.socket(socket.AF_UNIX) as made:
                short = Path(folder, "s")
                made.bind(str(short))
                short.rename(path)
        case "link to a device":
            path.symlink_to("/dev/zero")
        case _:
            path.mkdir()
