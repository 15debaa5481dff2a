"""Where a workspace's daemon is found: its id, its socket, its lock, its log.

The lock says whether a daemon lives, nothing else does: a socket file, a lock file or a process id may be
left over from a dead one. A lock file is never removed, since two could then be locked at once.
Who keeps state elsewhere has a daemon of their own: another one would show and write what is not theirs.
"""

import contextlib
import errno
import fcntl
import hashlib
import os
import pwd
import stat
import sys
from pathlib import Path
from typing import NamedTuple

from resumed.protocol.errors import ErrorCode, ResumedError

EXIT_LOCK_HELD = 75
EXIT_REFUSED = 78
_NOT_WRITABLE = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT)
_LONGEST_SOCKET_PATH = 100
_SHORT_ID = 16
_DAEMON_NAME_BYTES = 8
_F_GETPATH = 50


class LockHeld(Exception):
    """A live daemon holds the workspace's lock; `pid` is what it wrote there, 0 if nothing."""

    def __init__(self, pid: int) -> None:
        super().__init__(f"A daemon already serves this workspace (process {pid or 'not known'}).")
        self.pid = pid


class Place(NamedTuple):
    """Everything that belongs to one workspace's daemon. `root` is canonical."""

    root: Path
    workspace_id: str
    socket: Path
    lock: Path
    log: Path


def place_of(root: Path) -> Place:
    """Return where the daemon of `root`, a worktree's top level or a plain folder, is found.

    Creates nothing. Raises `ResumedError` `workspaceRefused` for what is no folder, `/` and home folders.
    """
    canonical = canonical_path(root)
    _refuse_everything(canonical)
    identifier = workspace_id(canonical)
    name = _daemon_name(canonical)
    folder = runtime_folder()
    if len(os.fsencode(folder / "r" / f"{name}.sock")) > _LONGEST_SOCKET_PATH:
        folder = Path(f"/tmp/resumed-{os.getuid()}")
    return Place(
        root=Path(os.fsdecode(canonical)),
        workspace_id=identifier,
        socket=folder / "r" / f"{name}.sock",
        lock=folder / "r" / f"{name}.lock",
        log=state_folder() / "logs" / f"daemon-{identifier[:_SHORT_ID]}.log",
    )


def workspace_id(root: bytes) -> str:
    """Return the id of a workspace from the bytes of its canonical root: 32 hexadecimal digits."""
    return hashlib.blake2b(root, digest_size=16).hexdigest()


def _daemon_name(root: bytes) -> str:
    """Name the daemon of a workspace and of a state folder, by whichever links that is reached."""
    state = os.path.realpath(os.fsencode(state_folder()))
    return hashlib.blake2b(root + b"\0" + state, digest_size=_DAEMON_NAME_BYTES).hexdigest()


def canonical_path(folder: Path) -> bytes:
    """Return a folder's path as the kernel names it: no links, the case it has on disk.

    Raises `ResumedError` `workspaceRefused` when it can't be opened as a folder.
    """
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise _refused(f"{folder} is no folder that can be opened.", "Name an existing folder.") from error
    try:
        if sys.platform == "darwin":
            return fcntl.fcntl(descriptor, _F_GETPATH, bytes(1024)).rstrip(b"\0")
        return os.fsencode(os.readlink(f"/proc/self/fd/{descriptor}"))
    finally:
        os.close(descriptor)


def runtime_folder() -> Path:
    """Return the folder for sockets: `RESUMED_RUNTIME`, else the system's, else a temporary one."""
    if override := os.environ.get("RESUMED_RUNTIME"):
        return Path(override).absolute()
    import tempfile

    import platformdirs

    system = Path(platformdirs.user_runtime_dir())
    if system.is_dir() and system.stat().st_uid == os.getuid():
        return system / "resumed"
    return Path(tempfile.gettempdir()) / f"resumed-{os.getuid()}"


def state_folder() -> Path:
    """Return the state folder: `RESUMED_HOME`, else the system's place for a user's state."""
    if override := os.environ.get("RESUMED_HOME"):
        return Path(override).absolute()
    import platformdirs

    return Path(platformdirs.user_state_dir("resumed"))


def make_private_folder(folder: Path) -> None:
    """Create a folder that only we may enter, with its parents.

    Raises `ResumedError` `stateReadOnly` when it can't be made or is another user's.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        found = os.lstat(folder)
    except OSError as error:
        raise _not_made(folder, error) from error
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise _unusable(folder, "is not ours")
    if found.st_mode & 0o022:
        raise _unusable(folder, "may be written by others")
    if found.st_mode & 0o077:
        folder.chmod(0o700)


def log_refusal(error: OSError) -> ResumedError | OSError:
    """What to say of a log that could not be opened: of the state folder, where that is the reason."""
    return _state_unwritable(error) if error.errno in _NOT_WRITABLE else error


def log_hint(log: Path) -> str:
    """Where to look for more: a log is named only where there is one."""
    return f"Its log is {log}." if os.path.exists(log) else "resumed serve may say more."


def check_private_folder(folder: Path) -> None:
    """Let a folder pass in which nobody else can have put anything; one that is not there yet, too.

    Raises `ResumedError` `stateReadOnly`.
    """
    try:
        found = os.lstat(folder)
    except FileNotFoundError:
        return
    except OSError as error:
        raise _unusable(folder, "cannot be looked at") from error
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise _unusable(folder, "is not ours")
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise _unusable(folder, "may be written by other users")


def take_lock(lock: Path) -> int:
    """Lock the workspace for this process' life and write its process id there as a hint.

    Returns the descriptor, to be kept open; closing it, or dying, releases the lock. Raises `LockHeld`,
    or `OSError` when the file can't be opened or locked.
    """
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        hint = os.pread(descriptor, 20, 0).strip()
        os.close(descriptor)
        raise LockHeld(int(hint) if hint.isdigit() else 0) from error
    except OSError:
        os.close(descriptor)
        raise
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, b"%d\n" % os.getpid(), 0)
    return descriptor


def _refuse_everything(canonical: bytes) -> None:
    for refused in ("/", *_homes()):
        if os.path.exists(refused) and os.path.samefile(canonical, refused):
            raise _refused(
                f"{os.fsdecode(canonical)} is too much for one workspace.", "Open a project's folder instead."
            )


def _homes() -> set[str]:
    homes = {os.path.expanduser("~")}
    with contextlib.suppress(KeyError):
        homes.add(pwd.getpwuid(os.getuid()).pw_dir)
    return homes


def _refused(sentence: str, hint: str) -> ResumedError:
    return ResumedError(ErrorCode.WORKSPACE_REFUSED, sentence, hint)


def _not_made(folder: Path, error: OSError) -> ResumedError:
    if state_folder() in (folder, *folder.parents):
        return _state_unwritable(error)
    return _unusable(folder, f"cannot be created: {error.strerror}")


def _state_unwritable(error: OSError) -> ResumedError:
    return ResumedError(
        ErrorCode.STATE_READ_ONLY,
        f"The state folder {state_folder()} cannot be written: {error.strerror}.",
        "Set RESUMED_HOME to a folder of yours that can be written.",
    )


def _unusable(folder: Path, why: str) -> ResumedError:
    hint = "Set RESUMED_RUNTIME or RESUMED_HOME to a folder of yours."
    return ResumedError(ErrorCode.STATE_READ_ONLY, f"The folder {folder} {why}.", hint)
