"""One spelling for the many ways to write a remote's address.

Two addresses that a person would call the same repository become equal; nothing else does.
"""

import os
import re

_SCP = re.compile(r"(?:[^@/:]+@)?(\[[^\]]+\]|[^/:@]+):(?!//)(.*)", re.DOTALL)
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/]*)(.*)", re.DOTALL)
_OTHER_DOORS = {
    "ssh.github.com": "github.com",
    "altssh.bitbucket.org": "bitbucket.org",
    "altssh.gitlab.com": "gitlab.com",
}


def normalise_origin(url: str) -> str | None:
    """`host/path` without scheme, credentials, port, `.git` and slashes at the ends.

    The host is lower case, the path is kept. A local path stays an absolute path; a relative one, or
    an address without a host or a path, is `None`."""
    address = url.strip()
    located = _URL.fullmatch(address)
    if located is not None:
        scheme, authority, path = located.groups()
        if scheme.lower() == "file":
            return _local(path)
        return _remote(_host(authority), path)
    if address.startswith("/"):
        return _local(address)
    short = _SCP.fullmatch(address)
    if short is not None:
        return _remote(short.group(1), short.group(2))
    return None


def _host(authority: str) -> str:
    host = authority.rpartition("@")[2]
    return re.sub(r":\d*$", "", host)


def _remote(host: str, path: str) -> str | None:
    name = host.strip("[]").lower()
    trimmed = _trimmed(path.strip("/"))
    if not name or not trimmed:
        return None
    return f"{_OTHER_DOORS.get(name, name)}/{trimmed}"


def _local(path: str) -> str | None:
    trimmed = _trimmed(os.path.normpath(path)) if path.startswith("/") else ""
    return trimmed or None


def _trimmed(path: str) -> str:
    return path.rstrip("/").removesuffix(".git").rstrip("/")
