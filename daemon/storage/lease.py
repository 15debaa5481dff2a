"""The lease of a thread: at most one holder, by a lock that ends with its process.

Only the lock counts. What the file says about the holder is a hint for people, so a file that a
killed process left is free.
"""

import contextlib
import os
from pathlib import Path

import msgspec

from resumed.daemon.ports.regular import open_regular
from resumed.daemon.storage import disk
from resumed.daemon.storage.layout import Layout

_HINT_BYTES = 1 << 14
_LOOKERS = 100


class LeaseHolder(msgspec.Struct, frozen=True, kw_only=True):
    """Who holds a thread: the client's own name, its process, and since when (RFC 3339, UTC). `owner` names
    the process that has the lock, for ever (boot id, pid namespace, pid and start time, with colons);
    `socket` is where it listens, to be asked whether it lets go."""

    name: str
    pid: int
    since: str
    owner: str = ""
    socket: str = ""


UNKNOWN_HOLDER = LeaseHolder(name="unknown", pid=0, since="")


class Lease:
    """A held lease. It ends with `release`, or with the process."""

    def __init__(self, holder: LeaseHolder, descriptor: int) -> None:
        self.holder = holder
        self._descriptor: int | None = descriptor

    def release(self) -> None:
        """Give the thread free; further calls do nothing."""
        if self._descriptor is not None:
            # Whoever looks before the next holder has said who it is must not take it for this one.
            with contextlib.suppress(OSError):
                os.ftruncate(self._descriptor, 0)
            os.close(self._descriptor)
            self._descriptor = None


def acquire(layout: Layout, thread_id: str, holder: LeaseHolder) -> Lease | LeaseHolder:
    """Take the lease of a thread, or return who holds it (this process counts like any other).

    Raises `StateReadOnly`, and `InvalidId` for a thread id that is none.
    """
    layout.check_writable()
    path = layout.lease_path(thread_id)
    descriptor = _lock(path)
    if descriptor is None:
        return _hint(path)
    # One write, then the cut: a reader sees the old hint or the new one, each ended by a newline.
    hint = msgspec.json.encode(holder) + b"\n"
    try:
        os.pwrite(descriptor, hint, 0)
        os.ftruncate(descriptor, len(hint))
    except OSError:
        os.close(descriptor)
        raise
    return Lease(holder, descriptor)


def holder_of(layout: Layout, thread_id: str) -> LeaseHolder | None:
    """Return who holds a thread now (this process counts like any other). Changes nothing."""
    path = layout.lease_path(thread_id)
    return _hint(path) if disk.is_locked(path) else None


def _lock(path: Path) -> int | None:
    """Take the lock. Someone who only looks at it is in the way for a moment, and is not its holder."""
    for _ in range(_LOOKERS):
        descriptor = disk.lock(path)
        if descriptor is not None or disk.is_locked(path):
            return descriptor
    return None


def _hint(path: Path) -> LeaseHolder:
    with open_regular(path) as file:
        content = file.read(_HINT_BYTES)
    try:
        return msgspec.json.decode(content.partition(b"\n")[0], type=LeaseHolder)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return UNKNOWN_HOLDER
