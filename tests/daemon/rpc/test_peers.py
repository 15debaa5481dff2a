import os
import socket
from pathlib import Path

import pytest

from resumed.daemon.rpc.peers import check_ours, is_ours, peer_uid
from resumed.protocol.errors import ErrorCode, ResumedError
from tests.support.strangers import NOBODY, listening_stranger


def test_the_other_side_of_a_pair_is_us() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    with ours, theirs:
        assert peer_uid(ours) == os.getuid()
        assert is_ours(ours)
        check_ours(ours)


def test_a_side_that_is_not_known_is_not_ours() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    ours.close()
    theirs.close()
    assert not is_ours(ours)


def test_who_listens_is_known_to_who_connects(hermetic_home: Path) -> None:
    with listening_stranger(hermetic_home / "s"), socket.socket(socket.AF_UNIX) as client:
        client.connect(str(hermetic_home / "s"))
        assert peer_uid(client) == NOBODY
        with pytest.raises(ResumedError) as caught:
            check_ours(client)
        assert caught.value.code is ErrorCode.WORKSPACE_REFUSED
