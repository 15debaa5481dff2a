import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from resumed.daemon import connect
from resumed.daemon.connect import find_or_start
from resumed.daemon.runtime import Place, place_of, take_lock
from resumed.protocol.daemon import PROTOCOL_VERSION
from resumed.protocol.errors import ErrorCode, ResumedError
from tests.support.strangers import listening_stranger
from tests.support.wire import DEADLINE, Wire, connects, environment, running_daemon, wait_for

FIND = "import sys; from pathlib import Path; from resumed.daemon.connect import find_or_start; "
FIND += "print(find_or_start(Path(sys.argv[1])))"
BRIDGE = "import sys; from pathlib import Path; from resumed.daemon.connect import bridge_stdio; "
BRIDGE += "sys.exit(bridge_stdio(Path(sys.argv[1])))"


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder to serve; whatever daemon serves it in the end is stopped."""
    monkeypatch.setenv("PYTHONPATH", environment()["PYTHONPATH"])
    folder = tmp_path / "workspace"
    folder.mkdir()
    yield folder
    path = place_of(folder).socket
    if connects(path):
        stop(path)


def daemon_pid(path: Path) -> int:
    """The process id of the daemon at a socket."""
    with Wire(path) as wire:
        wire.initialize()
        return int(wire.call(1, "daemon/status")["result"]["pid"])


def stop(path: Path) -> None:
    """Stop the daemon at a socket and wait until it has let go."""
    os.kill(daemon_pid(path), signal.SIGTERM)
    wait_for(lambda: not path.exists())


def test_it_starts_a_daemon_and_finds_it_again(workspace: Path) -> None:
    path = find_or_start(workspace)
    assert path == place_of(workspace).socket
    pid = daemon_pid(path)
    assert os.getsid(pid) == pid != os.getsid(0)
    assert find_or_start(workspace) == path
    assert daemon_pid(path) == pid


def test_the_daemon_of_another_state_folder_is_not_used(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = find_or_start(workspace)
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("RESUMED_HOME", str(tmp_path / "other state"))
        second = find_or_start(workspace)
        with Wire(second) as wire:
            wire.initialize()
            status = wire.call(1, "daemon/status")["result"]
        stop(second)
    assert status["stateFolder"] == str(tmp_path / "other state")
    assert status["pid"] != daemon_pid(first)
    assert find_or_start(workspace) == first


def test_many_starters_end_with_one_daemon(workspace: Path) -> None:
    starters = [
        subprocess.Popen(
            [sys.executable, "-c", FIND, str(workspace)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        for _ in range(5)
    ]
    said = [starter.communicate(timeout=DEADLINE) for starter in starters]
    path = place_of(workspace).socket
    assert said == [(f"{path}\n".encode(), b"")] * 5
    assert place_of(workspace).lock.read_text() == f"{daemon_pid(path)}\n"


def test_what_a_killed_daemon_leaves_does_not_block(workspace: Path) -> None:
    path = find_or_start(workspace)
    pid = daemon_pid(path)
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not connects(path))
    assert path.exists()
    assert daemon_pid(find_or_start(workspace)) != pid


def test_the_workspace_s_own_modules_are_not_imported(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("asyncio", "msgspec", "socket", "resumed"):
        (workspace / f"{name}.py").write_text("raise SystemExit('taken over')")
    monkeypatch.chdir(workspace)
    assert connects(find_or_start(Path()))


def test_a_refused_workspace_starts_nothing(hermetic_home: Path) -> None:
    with pytest.raises(ResumedError) as caught:
        find_or_start(hermetic_home)
    assert caught.value.code is ErrorCode.WORKSPACE_REFUSED
    assert not (hermetic_home / "state").exists()


def test_what_keeps_a_daemon_from_starting_is_said(
    workspace: Path, hermetic_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (hermetic_home / "file").touch()
    monkeypatch.setenv("RESUMED_HOME", str(hermetic_home / "file"))
    with pytest.raises(ResumedError, match="cannot be written: File exists") as refused:
        find_or_start(workspace)
    assert refused.value.data.hint == "Set RESUMED_HOME to a folder of yours that can be written."


def test_a_log_is_named_only_where_there_is_one(workspace: Path) -> None:
    place = place_of(workspace)
    place.lock.parent.mkdir(parents=True, mode=0o700)
    place.lock.mkdir()
    with pytest.raises(ResumedError, match="did not start: A file that") as refused:
        find_or_start(workspace)
    assert refused.value.data.hint == "resumed serve may say more."
    place.log.touch()
    with pytest.raises(ResumedError, match="did not start: A file that") as refused:
        find_or_start(workspace)
    assert refused.value.data.hint == f"Its log is {place.log}."
    place.lock.rmdir()


def test_a_lock_held_by_one_that_never_answers_is_said(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start_without_hurry = connect._start
    place = place_of(workspace)

    def start(place: Place, end: float) -> None:
        start_without_hurry(place, end + DEADLINE)

    monkeypatch.setattr(connect, "_START_SECONDS", 0.1)
    monkeypatch.setattr(connect, "_start", start)
    place.lock.parent.mkdir(parents=True, mode=0o700)
    held = take_lock(place.lock)
    with pytest.raises(ResumedError, match="holds this workspace but does not answer"):
        find_or_start(workspace)
    os.close(held)


@pytest.mark.parametrize("below", [".", "r"])
def test_a_socket_where_others_may_write_is_not_connected_to(workspace: Path, below: str) -> None:
    with running_daemon(workspace) as daemon:
        folder = daemon.place.socket.parent.parent / below
        folder.chmod(0o777)
        with pytest.raises(ResumedError, match="may be written by other users"):
            find_or_start(workspace)
        folder.chmod(0o700)
        assert find_or_start(workspace) == daemon.place.socket


def test_another_user_s_daemon_is_told_nothing(workspace: Path) -> None:
    place = place_of(workspace)
    place.socket.parent.mkdir(parents=True)
    for ask in (find_or_start, connect._listens, connect._connect):
        place.socket.unlink(missing_ok=True)
        with listening_stranger(place.socket) as heard:
            with pytest.raises(ResumedError, match="Another user's process listens"):
                ask(workspace if ask is find_or_start else place.socket)
            assert heard() == b""
    assert not place.lock.exists()


class OtherDaemon:
    """A daemon of another version: holds the lock, answers `initialize` with a mismatch, drains."""

    def __init__(self, workspace: Path, ways: list[str]) -> None:
        self.place = place_of(workspace)
        self.ways = ways
        self.asked: list[str] = []
        self.place.lock.parent.mkdir(parents=True, mode=0o700)
        self._lock = take_lock(self.place.lock)
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(self.place.socket))
        self._listening.listen()
        self.thread = threading.Thread(target=self._serve)
        self.thread.start()

    def _serve(self) -> None:
        with self._listening, self._listening.accept()[0] as client, client.makefile("rw") as lines:
            for line in lines:
                request = json.loads(line)
                self.asked.append(request["method"])
                data = {"kind": "protocolMismatch", "hint": "h", "ways": self.ways}
                error = {"code": 1001, "message": "Another protocol.", "data": data}
                lines.write(json.dumps({"jsonrpc": "2.0", "id": request["id"], "error": error}) + "\n")
                lines.flush()
                if request["method"] == "daemon/drain":
                    break
        os.close(self._lock)


def test_an_older_daemon_is_drained_and_followed_by_a_new_one(workspace: Path) -> None:
    older = OtherDaemon(workspace, ["daemon/drain"])
    path = find_or_start(workspace)
    older.thread.join(DEADLINE)
    assert older.asked == ["resumed/initialize", "daemon/drain"]
    assert daemon_pid(path) != os.getpid()


def test_a_newer_daemon_is_left_alone(workspace: Path) -> None:
    newer = OtherDaemon(workspace, [])
    with pytest.raises(ResumedError, match=r"Another protocol\.") as caught:
        find_or_start(workspace)
    newer.thread.join(DEADLINE)
    assert caught.value.code is ErrorCode.PROTOCOL_MISMATCH
    assert newer.asked == ["resumed/initialize"]


def test_our_daemon_lets_a_newer_client_drain_it(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with running_daemon(workspace) as daemon:
        major = int(PROTOCOL_VERSION.partition(".")[0]) + 1
        monkeypatch.setattr(connect, "PROTOCOL_VERSION", f"{major}.0")

        def start(place: Place, end: float) -> None:
            raise InterruptedError

        monkeypatch.setattr(connect, "_start", start)
        with pytest.raises(InterruptedError):
            find_or_start(workspace)
        assert daemon.process.wait(DEADLINE) == 0


def bridge(workspace: Path) -> "subprocess.Popen[bytes]":
    """A process that bridges its standard input and output."""
    return subprocess.Popen(
        [sys.executable, "-c", BRIDGE, str(workspace)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def test_the_bridge_carries_all_answers_before_it_ends(workspace: Path) -> None:
    with running_daemon(workspace), bridge(workspace) as process:
        hello = {"protocolVersion": "1.0", "client": {"name": "t"}}
        lines: list[dict[str, Any]] = [
            {"jsonrpc": "2.0", "id": "i", "method": "resumed/initialize", "params": hello}
        ]
        for number in range(100):
            params = {"threadId": "t", "name": "big:20000"}
            lines.append({"jsonrpc": "2.0", "id": number, "method": "thread/name/set", "params": params})
        sent = "".join(json.dumps(line) + "\n" for line in lines).encode()
        said, complained = process.communicate(sent, timeout=DEADLINE)
        assert (process.returncode, complained) == (0, b"")
        assert [json.loads(line)["id"] for line in said.splitlines()] == ["i", *range(100)]


def test_the_bridge_starts_a_daemon_and_ends_with_it(workspace: Path) -> None:
    with bridge(workspace) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        hello = {"protocolVersion": "1.0", "client": {"name": "t"}}
        line = {"jsonrpc": "2.0", "id": 1, "method": "resumed/initialize", "params": hello}
        process.stdin.write(json.dumps(line).encode() + b"\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["result"]["root"] == str(workspace)
        stop(place_of(workspace).socket)
        assert process.wait(DEADLINE) == 0
        assert process.stdout.read() == b""


def test_the_bridge_ends_when_nobody_reads_it(workspace: Path) -> None:
    with running_daemon(workspace) as daemon, bridge(workspace) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.close()
        process.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"daemon/status"}\n')
        process.stdin.flush()
        assert process.wait(DEADLINE) == 1
        with Wire(daemon.place.socket) as wire:
            assert "result" in wire.initialize()
