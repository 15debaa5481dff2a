"""A gate before the disk: while it is shut, written data stays unconfirmed. And which folders were synced."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from resumed.daemon.storage import disk


class SyncGate:
    """Holds every sync of a file until it is opened, and counts them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.open = threading.Event()
        self.open.set()
        self.reached = threading.Event()
        self.syncs = 0
        self._sync: Callable[[int], None] = disk.sync
        monkeypatch.setattr(disk, "sync", self._held)

    def _held(self, descriptor: int) -> None:
        self.syncs += 1
        self.reached.set()
        assert self.open.wait(timeout=60)
        self._sync(descriptor)

    def shut(self) -> None:
        """Hold every sync from now on."""
        self.reached.clear()
        self.open.clear()

    async def until_reached(self) -> None:
        """Wait until a sync is held."""
        assert await asyncio.to_thread(self.reached.wait, 60)


def synced_folders(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The folders whose names are made durable from now on, in order."""
    found: list[Path] = []
    sync_folder = disk.sync_folder

    def noted(folder: Path) -> None:
        sync_folder(folder)
        found.append(folder)

    monkeypatch.setattr(disk, "sync_folder", noted)
    return found
