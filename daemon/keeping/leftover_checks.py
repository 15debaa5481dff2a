"""Checks for what a killed process left behind and nobody holds. Read-only. Blocks."""

from collections.abc import Iterator
from pathlib import Path

from resumed.daemon.keeping.findings import Finding
from resumed.daemon.runtime import runtime_folder
from resumed.daemon.storage import disk, purges
from resumed.daemon.storage.layout import Layout, parse_stream
from resumed.protocol.ids import InvalidId


def leftovers(layout: Layout) -> Iterator[Finding]:
    """Staged files, removals and imports that were cut off, locks and sockets of nothing."""
    for path in sorted(layout.home.rglob(".*.staged")):
        yield Finding(kind="leftover.staged", path=str(path), sentence="It was being written when it ended.")
    for name in ("new", "decided", "done"):
        path = layout.importing / name
        if path.exists() and not disk.is_locked(layout.importing_lock_path):
            sentence = "A conversation was being taken in when the process ended."
            yield Finding(kind="leftover.import", path=str(path), sentence=sentence)
    for thread in sorted(purges.all_begun(layout)):
        if not disk.is_locked(layout.lease_path(thread)):
            sentence = "A conversation was being removed when the process ended."
            yield Finding(
                kind="leftover.purge", path=str(layout.purges / f"{thread}.json"), sentence=sentence
            )
    yield from _locks(layout)
    yield from sockets()


def sockets() -> Iterator[Finding]:
    """Sockets that no process listens on."""
    for path in sorted((runtime_folder() / "r").glob("*.sock")):
        if not disk.is_locked(path.with_suffix(".lock")):
            yield Finding(kind="leftover.socket", path=str(path), sentence="Nobody listens on it.")


def process_runs(layout: Layout) -> bool:
    """Whether any process serves a workspace with this state folder."""
    return any(
        disk.is_locked(layout.workspace_lock_path(folder.name)) for folder in layout.workspace_folders()
    )


def _locks(layout: Layout) -> Iterator[Finding]:
    for path in sorted((layout.home / "locks").glob("*-*.lock")):
        kind, _, identifier = path.stem.partition("-")
        yield from _lock(layout, path, f"{kind}:{identifier}")
    for path in sorted((layout.home / "leases").glob("*.lock")):
        yield from _lock(layout, path, f"thread:{path.stem}")


def _lock(layout: Layout, path: Path, stream: str) -> Iterator[Finding]:
    try:
        parse_stream(stream)
    except InvalidId:
        return
    if layout.find_stream(stream) is None and not disk.is_locked(path):
        yield Finding(kind="leftover.lock", path=str(path), sentence="What it guards is not there any more.")
