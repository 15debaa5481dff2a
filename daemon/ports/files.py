"""Looks at folders and files: kind, hash and bytes.

The last component of a path is never followed, and nothing but a regular file is ever opened.
"""

import asyncio
import errno
import hashlib
import os
import stat

from resumed.restore.probes import FileSeen, FolderSeen, Unseen

CONTENT_LIMIT = 2 * 1024 * 1024
_BLOCK = 1024 * 1024
_ABSENT = (errno.ENOENT, errno.ENOTDIR)


async def folder(path: str) -> FolderSeen:
    """What is at this absolute path, when symbolic links are followed."""
    return await asyncio.to_thread(_folder, path)


async def file(path: str, limit: int = CONTENT_LIMIT) -> FileSeen | Unseen:
    """The file at this absolute path with its SHA-256, and its bytes up to `limit`.

    Of a symbolic link the bytes are its target. What may not be read is `Unseen`."""
    return await asyncio.to_thread(_file, path, limit)


def _folder(path: str) -> FolderSeen:
    canonical = os.path.realpath(path)
    try:
        seen = os.stat(path)
    except OSError as error:
        return FolderSeen("absent" if error.errno in _ABSENT else "unreadable", canonical=canonical)
    if not stat.S_ISDIR(seen.st_mode):
        return FolderSeen("file", seen.st_dev, seen.st_ino, canonical)
    kind = "folder" if os.access(path, os.R_OK | os.X_OK) else "unreadable"
    return FolderSeen(kind, seen.st_dev, seen.st_ino, canonical)


def _file(path: str, limit: int) -> FileSeen | Unseen:
    try:
        mode = os.lstat(path).st_mode
        if stat.S_ISLNK(mode):
            target = os.fsencode(os.readlink(path))
            return _seen("link", hashlib.sha256(target).hexdigest(), len(target), target)
        if stat.S_ISDIR(mode):
            return FileSeen(kind="folder")
        if not stat.S_ISREG(mode):
            return FileSeen(kind="other")
        return _regular(path, limit)
    except OSError as error:
        if error.errno in _ABSENT:
            return FileSeen(kind="absent")
        return Unseen(f"failed: the file could not be read: {os.strerror(error.errno or 0)}")


def _regular(path: str, limit: int) -> FileSeen | Unseen:
    # Not blocking and not following: it may have become a pipe or a link since it was looked at.
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb", buffering=0) as opened:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return FileSeen(kind="other")
        digest, size, kept = hashlib.sha256(), 0, bytearray()
        while block := opened.read(_BLOCK):
            digest.update(block)
            size += len(block)
            if size <= limit:
                kept += block
    return _seen("regular", digest.hexdigest(), size, bytes(kept) if size <= limit else None)


def _seen(kind: str, sha256: str, size: int, content: bytes | None) -> FileSeen:
    return FileSeen(kind=kind, sha256=sha256, size=size, content=content)
