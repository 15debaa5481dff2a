"""Who is on the other side of a unix socket, as the kernel knows it. The only system-specific part here."""

import socket
import struct
import sys

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
