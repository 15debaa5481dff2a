import os
import socket

from resumed.daemon.rpc.peers import peer_uid


def test_the_other_side_of_a_pair_is_us() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    with ours, theirs:
        assert peer_uid(ours) == os.getuid()
