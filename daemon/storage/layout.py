"""Where everything is in the state folder, and the folder's own version, identity and key.

Only validated ids become names. A folder that may not be written (a newer layout, a remote file
system, a lost key) opens with `read_only` and the reason, and opening it changes nothing.
"""

import errno
import os
import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from resumed.daemon.ports.regular import open_regular
from resumed.daemon.storage import disk
from resumed.daemon.storage.errors import StateGone, StateReadOnly, StateRefused
from resumed.daemon.storage.mounts import remote_file_system
from resumed.protocol.ids import InvalidId, parse_uuid

LAYOUT_VERSION = 1
INDEX_VERSION = 2
KEY_BYTES = 32
STREAM_KINDS = ("session", "thread", "worktree")

_WORKSPACE_ID = re.compile(r"[0-9a-f]{32}")
_SESSION_FILE = re.compile(r"rollout-[0-9T-]{19}-(?P<id>[0-9a-f-]{36})\.jsonl")
_STREAM_FILE = re.compile(r"(?P<id>[0-9a-f-]{36})\.jsonl")


class _Identity(msgspec.Struct, frozen=True):
    version: int
    install_id: str = ""


@dataclass(frozen=True)
class Layout:
    """An opened state folder. `install_id` is 32 hexadecimal digits, `key` 32 bytes; both are empty
    in a folder that never was writable. `reason` is one sentence when `read_only` is set. `mark` tells
    this folder from another one at its path; it is empty where that was not to be told."""

    home: Path
    install_id: str
    key: bytes = field(repr=False)
    read_only: bool = False
    reason: str = ""
    mark: tuple[int, ...] = ()
    _sessions: dict[str, Path] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def open(cls, home: Path) -> "Layout":
        """Open the state folder, creating it on first use; any number of processes may do so at once.

        Raises `StateRefused` when it is not a folder, belongs to someone else or is open to everyone.
        """
        home = home.absolute()
        remote = remote_file_system(home)
        if remote is not None:
            reason = f"{home} is on a remote file system ({remote}), where locks can't be relied on."
            return _read_only(home, reason)
        identity = _identity(home)
        if identity is not None and identity.version > LAYOUT_VERSION:
            newer = f"{home} was written by a newer version (layout {identity.version})."
            return _read_only(home, newer)
        try:
            _claim_folder(home)
            with disk.locked(home / "layout.lock"):
                if not (home / "layout.json").exists():
                    _initialize(home)
                else:
                    # Whoever made it may have been killed before it was durable.
                    disk.sync_folder(home)
        except OSError as error:
            return _read_only(home, f"{home} can't be written: {error.strerror}.")
        return _opened(home)

    def check_writable(self) -> None:
        """Raise `StateReadOnly` with the reason when nothing may be written here, and `StateGone` when the
        folder is not there any more: what is open in it would be written into nowhere."""
        if self.read_only:
            raise StateReadOnly(self.reason)
        if gone := self.gone():
            raise StateGone(gone)

    def gone(self) -> str:
        """That the folder is not the one that was opened, in one sentence; empty while it is."""
        if not self.mark or self.mark == _mark(self.home):
            return ""
        if not self.home.exists():
            return f"The state folder {self.home} is not there any more."
        return f"The state folder {self.home} is not the one it was."

    def trouble(self) -> str:
        """What keeps the folder from being written now, in one sentence; empty where nothing shows."""
        if gone := self.gone():
            return gone
        if self.read_only or os.access(self.home, os.W_OK | os.X_OK):
            return ""
        return f"{self.home} can't be written: {os.strerror(errno.EACCES)}."

    def session_path(self, session_id: str, created_at: str) -> Path:
        """Return the file of a session that began at `created_at` (RFC 3339, with an offset)."""
        began = datetime.fromisoformat(created_at)
        if began.tzinfo is None:
            raise ValueError("created_at must say its offset from UTC")
        began = began.astimezone(UTC)
        name = f"rollout-{began:%Y-%m-%dT%H-%M-%S}-{parse_uuid(session_id)}.jsonl"
        return self.sessions / f"{began:%Y}" / f"{began:%m}" / f"{began:%d}" / name

    def thread_path(self, thread_id: str) -> Path:
        """Return the file of a thread's stream."""
        return self.home / "threads" / f"{parse_uuid(thread_id)}.jsonl"

    def worktree_path(self, worktree_id: str) -> Path:
        """Return the file of a worktree's stream."""
        return self.home / "worktrees" / f"{parse_uuid(worktree_id)}.jsonl"

    def lease_path(self, thread_id: str) -> Path:
        """Return the lock file of a thread's lease."""
        return self.home / "leases" / f"{parse_uuid(thread_id)}.lock"

    def stream_lock_path(self, stream: str) -> Path:
        """Return the lock file that makes one process a stream's writer."""
        kind, identifier = parse_stream(stream)
        return self.home / "locks" / f"{kind}-{identifier}.lock"

    def index_path(self, workspace_id: str) -> Path:
        """Return the file of a workspace's index; another schema version is another file."""
        return self.home / "workspaces" / _workspace(workspace_id) / f"index-v{INDEX_VERSION}.db"

    def workspace_folders(self) -> Iterator[Path]:
        """Yield the folder of every workspace that was ever served; its name is the workspace's id."""
        for path in sorted((self.home / "workspaces").glob("*")):
            if _WORKSPACE_ID.fullmatch(path.name):
                yield path

    def workspace_lock_path(self, workspace_id: str) -> Path:
        """Return the lock file of the process that serves a workspace."""
        return self.home / "workspaces" / _workspace(workspace_id) / "daemon.lock"

    def forget_folder(self, workspace_id: str) -> Path:
        """Return the folder of the threads that a workspace's index has yet to forget."""
        return self.home / "workspaces" / _workspace(workspace_id) / "forget"

    @property
    def purges(self) -> Path:
        """The folder of removals of threads that were begun."""
        return self.home / "purges"

    @property
    def importing(self) -> Path:
        """The folder of a conversation that is being taken in from a file."""
        return self.home / "importing"

    @property
    def importing_lock_path(self) -> Path:
        """The lock file that lets one process at a time take in conversations."""
        return self.home / "locks" / "importing.lock"

    @property
    def blobs_path(self) -> Path:
        """The file of kept contents."""
        return self.home / "blobs.db"

    @property
    def blobs_lock_path(self) -> Path:
        """The lock file of whoever makes the file of kept contents, or sets it aside."""
        return self.home / "locks" / "blobs.lock"

    @property
    def collection_lock_path(self) -> Path:
        """The lock file that lets one process at a time collect kept contents."""
        return self.home / "locks" / "collection.lock"

    @property
    def sessions(self) -> Path:
        """The folder of runs, by day."""
        return self.home / "sessions"

    @property
    def archived_sessions(self) -> Path:
        """The folder of the runs of conversations that were put away."""
        return self.home / "archived_sessions"

    @property
    def quarantine(self) -> Path:
        """The folder of damaged bytes that were passed over, kept for a person to look at."""
        return self.home / "quarantine"

    def find_stream(self, stream: str) -> Path | None:
        """Return the first file of a stream, archived or not, or `None`."""
        kind, identifier = parse_stream(stream)
        if kind == "session":
            return self._find_session(identifier)
        path = self.thread_path(identifier) if kind == "thread" else self.worktree_path(identifier)
        return path if path.exists() else None

    def stream_ids(self, kind: str) -> Iterator[str]:
        """Yield the id of every stream of a kind (`session`, `thread`, `worktree`), each once."""
        yield from dict.fromkeys(stream for stream, _ in self.first_files(kind))

    def first_files(self, kind: str) -> Iterator[tuple[str, Path]]:
        """Yield every stream of a kind with its first file; one that is in two places comes twice."""
        if kind == "session":
            paths, pattern = self._session_files(), _SESSION_FILE
        else:
            paths, pattern = (self.home / f"{kind}s").glob("*.jsonl"), _STREAM_FILE
        for path in paths:
            match = pattern.fullmatch(path.name)
            if match:
                yield f"{kind}:{match['id']}", path

    def stream_files(self) -> Iterator[Path]:
        """Yield every file that may be a part of a stream, wherever it is among them."""
        for folder in ("sessions", "archived_sessions", "threads", "worktrees"):
            yield from (path for path in (self.home / folder).rglob("*.jsonl*") if path.is_file())

    def _find_session(self, session_id: str) -> Path | None:
        """Listing all folders for each of thousands of runs would take far longer than to read them; so
        what one listing finds is remembered, and looked at again each time it is used."""
        known = self._sessions.get(session_id)
        if known is not None and known.exists():
            return known
        found: dict[str, Path] = {}
        for stream, path in self.first_files("session"):
            found.setdefault(stream.removeprefix("session:"), path)
        self._sessions.pop(session_id, None)
        self._sessions.update(found)
        return found.get(session_id)

    def _session_files(self) -> Iterator[Path]:
        name = "rollout-*.jsonl"
        yield from self.sessions.glob(f"*/*/*/{name}")
        yield from self.archived_sessions.glob(name)


def session_id_of(name: str) -> str | None:
    """The run whose stream's first file has this name."""
    found = _SESSION_FILE.fullmatch(name)
    return found["id"] if found else None


def parse_stream(stream: str) -> tuple[str, str]:
    """Split `session:<uuid>`, `thread:<uuid>` or `worktree:<uuid>`; raises `InvalidId`."""
    kind, _, identifier = stream.partition(":")
    if kind not in STREAM_KINDS:
        raise InvalidId("a stream: session, thread or worktree, a colon and an id")
    return kind, parse_uuid(identifier)


def _workspace(workspace_id: str) -> str:
    if not _WORKSPACE_ID.fullmatch(workspace_id):
        raise InvalidId("a workspace id of 32 hexadecimal digits")
    return workspace_id


def _claim_folder(home: Path) -> None:
    if home.exists() and not home.is_dir():
        raise StateRefused(f"{home} is not a folder.")
    disk.make_folder(home)
    status = home.stat()
    if os.geteuid() not in (0, status.st_uid):
        raise StateRefused(f"{home} belongs to another user.")
    if status.st_mode & 0o002:
        raise StateRefused(f"{home} can be written by every user.")
    if status.st_mode & 0o077:
        home.chmod(disk.FOLDER_MODE)


def _initialize(home: Path) -> None:
    # The key comes first, so that a folder with a layout.json but no key has lost its key.
    if not (home / "key").exists():
        disk.replace(home / "key", secrets.token_bytes(KEY_BYTES))
    identity = _Identity(version=LAYOUT_VERSION, install_id=secrets.token_hex(16))
    disk.replace(home / "layout.json", msgspec.json.encode(identity) + b"\n")


def _opened(home: Path) -> Layout:
    identity, key = _identity(home), _key(home)
    if identity is None:
        return _read_only(home, f"{home / 'layout.json'} is damaged.")
    if len(key) != KEY_BYTES:
        return _read_only(home, f"The key of {home} is missing or damaged.")
    return Layout(home=home, install_id=identity.install_id, key=key, mark=_mark(home))


def _read_only(home: Path, reason: str) -> Layout:
    identity = _identity(home)
    install_id = identity.install_id if identity else ""
    return Layout(home=home, install_id=install_id, key=_key(home), read_only=True, reason=reason)


def _mark(home: Path) -> tuple[int, ...]:
    # The number of a removed folder may be given out again at once, so the first file in it counts too.
    try:
        folder, first = home.stat(), (home / "layout.json").stat()
    except OSError:
        return ()
    return folder.st_dev, folder.st_ino, first.st_ino, first.st_mtime_ns


def _identity(home: Path) -> _Identity | None:
    try:
        with open_regular(home / "layout.json") as file:
            return msgspec.json.decode(file.read(), type=_Identity)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None


def _key(home: Path) -> bytes:
    try:
        with open_regular(home / "key") as file:
            return file.read()
    except OSError:
        return b""
