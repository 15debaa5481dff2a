"""Copies loose bytes aside before a stream declares them torn.

A copy is also evidence: a bad line whose copy exists was being declared when the process died, so the
next lock holder may declare it, although its line end is there.
"""

import hashlib
from pathlib import Path

from resumed.daemon.ports.regular import open_regular
from resumed.daemon.storage import disk
from resumed.daemon.storage.damage import LooseBytes


def copy_aside(folder: Path, source: Path, loose: LooseBytes) -> None:
    """Copy the loose bytes of `source` into `folder`, durably; a copy that exists is kept."""
    if is_copied(folder, loose):
        disk.sync_folder(folder)
        return
    with open_regular(source) as file:
        file.seek(loose.offset)
        disk.replace(_copy_path(folder, loose), file.read(loose.length))


def is_copied(folder: Path, loose: LooseBytes) -> bool:
    """Tell whether a whole copy of these bytes is there."""
    try:
        with open_regular(_copy_path(folder, loose)) as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == loose.sha256
    except FileNotFoundError:
        return False


def _copy_path(folder: Path, loose: LooseBytes) -> Path:
    return folder / f"{loose.file}.{loose.offset}.torn"
