"""Who is on the other side of a unix socket, as the kernel knows it. The only system-specific part here."""

import os
import socket
import struct
import sys

from resumed.protocol.errors import ErrorCode, ResumedError

_CREDENTIALS = struct.Struct("3i")
_LOCAL_PEERCRED = 1
_XUCRED = struct.Struct("II")
_XUCRED_SIZE = 76


def peer_uid(peer: socket.socket) -> int:
    """Return the user id of the process that connected. Raises `OSError` when it is not known."""
    if sys.platform == "darwin":
        xucred = peer.getsockopt(0, _LOCAL_PEERCRED, _XUCRED_SIZE)
        _, uid = _XUCRED.unpack_from(xucred)
    else:
        credentials = peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        _, uid, _ = _CREDENTIALS.unpack(credentials)
    return int(uid)


def is_ours(peer: socket.socket) -> bool:
    """Whether our own user's process is on the other side; one that is not known is not ours."""
    try:
        return peer_uid(peer) == os.getuid()
    except OSError:
        return False


def check_ours(daemon: socket.socket) -> None:
    """Raises `ResumedError` `workspaceRefused` when another user's process listens where ours should."""
    if not is_ours(daemon):
        raise ResumedError(
            ErrorCode.WORKSPACE_REFUSED,
            "Another user's process listens on this workspace's socket.",
            "Nothing was sent to it. Set RESUMED_RUNTIME to a folder of yours.",
        )
