"""Which kind of file system a folder is on, since locks and syncs mean little on some.

An unknown answer is not a refusal: only a file system known to be remote is.
"""

import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

REMOTE = frozenset({"nfs", "nfs3", "nfs4", "9p", "cifs", "smb", "smb2", "smb3", "smbfs", "afpfs", "webdav"})

_OCTAL = re.compile(r"\\([0-7]{3})")
_MACOS = re.compile(r"^.+? on (?P<point>/.*) \((?P<kind>[^,)]+)[^()]*\)$")

Mount = tuple[str, str]
"""A mount point and the name of its file system."""


def remote_file_system(folder: Path) -> str | None:
    """Return the name of the remote file system that `folder` (which may not exist yet) is on."""
    kind = file_system(str(_nearest_existing(folder)), mounts())
    return kind if kind in REMOTE else None


def file_system(path: str, table: Iterable[Mount]) -> str | None:
    """Return the file system of a canonical path: the longest mount point, the latest when equal."""
    found: Mount = ("", "")
    for point, kind in table:
        inside = path == point or path.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(found[0]):
            found = (point, kind)
    return found[1] or None


def mounts() -> tuple[Mount, ...]:
    """Read the system's table of mounts; empty when it can't be read."""
    try:
        if sys.platform == "darwin":
            listing = subprocess.run(["/sbin/mount"], capture_output=True, timeout=5, check=True)
            return parse_macos(listing.stdout.decode(errors="surrogateescape"))
        return parse_linux(Path("/proc/self/mounts").read_text(errors="surrogateescape"))
    except (OSError, subprocess.SubprocessError):
        return ()


def parse_linux(text: str) -> tuple[Mount, ...]:
    """Parse `/proc/self/mounts`: device, point and kind; blanks in a point are octal escapes."""
    rows = (line.split(" ") for line in text.splitlines())
    return tuple((_unescaped(row[1]), row[2]) for row in rows if len(row) >= 3)


def parse_macos(text: str) -> tuple[Mount, ...]:
    """Parse the output of `mount`: `device on point (kind, option, …)`."""
    matches = (_MACOS.match(line) for line in text.splitlines())
    return tuple((match["point"], match["kind"]) for match in matches if match)


def _unescaped(text: str) -> str:
    return _OCTAL.sub(lambda match: chr(int(match[1], 8)), text)


def _nearest_existing(folder: Path) -> Path:
    candidate = folder.absolute()
    while not candidate.exists() and candidate != candidate.parent:
        candidate = candidate.parent
    return candidate.resolve()
