import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from resumed.daemon import serve
from resumed.daemon.runtime import EXIT_LOCK_HELD, EXIT_REFUSED, place_of, state_folder, take_lock
from tests.support.wire import (
    DEADLINE,
    Daemon,
    Wire,
    connects,
    environment,
    running_daemon,
    spawned,
    wait_for,
)

HEAVY = ("pygls", "lsprotocol", "cattrs", "pygit2", "aiosqlite", "click", "rich", "psutil", "platformdirs")
FIRST_STAGE = (
    "resumed.daemon.serve",
    "resumed.daemon.connect",
    "resumed.daemon.runtime",
    "resumed.daemon.rpc.server",
    "resumed.daemon.rpc.client",
)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A folder to serve."""
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


def outcome(daemon: Daemon) -> tuple[int, str]:
    """The exit code and what was said on standard error."""
    _, said = daemon.process.communicate(timeout=DEADLINE)
    return daemon.process.returncode, said.decode()


@pytest.mark.parametrize("module", FIRST_STAGE)
def test_the_first_stage_imports_nothing_heavy(module: str) -> None:
    program = f"import sys, {module}; print(*sorted(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment(), capture_output=True, text=True, check=True
    )
    assert [name for name in done.stdout.split() if name.split(".")[0] in HEAVY] == []


def test_it_serves_and_leaves_nothing_but_its_lock_file(workspace: Path) -> None:
    with running_daemon(workspace) as daemon:
        assert daemon.place.socket.stat().st_mode & 0o777 == 0o600
        assert daemon.place.socket.parent.stat().st_mode & 0o777 == 0o700
        assert daemon.place.lock.read_text() == f"{daemon.process.pid}\n"
        with Wire(daemon.place.socket) as wire:
            result = wire.initialize()["result"]
            assert (result["root"], result["workspaceId"]) == (str(workspace), daemon.place.workspace_id)
            assert "result" in wire.call(1, "thread/name/set", {"threadId": "t", "name": "opened"})
        daemon.process.terminate()
        assert outcome(daemon) == (0, "")
        assert not daemon.place.socket.exists()
        assert (workspace / "closed").exists()
        assert daemon.place.log.stat().st_mode & 0o777 == 0o600
        assert "stopped" in daemon.log()


def test_a_held_lock_is_said_and_the_holder_is_not_disturbed(workspace: Path) -> None:
    with running_daemon(workspace) as daemon, Wire(daemon.place.socket) as wire:
        wire.initialize()
        with spawned(workspace) as second:
            code, said = outcome(second)
        assert code == EXIT_LOCK_HELD
        assert said == f"A daemon already serves this workspace (process {daemon.process.pid}).\n"
        assert wire.call(1, "daemon/status")["result"]["pid"] == daemon.process.pid
        assert connects(daemon.place.socket)


def test_what_a_killed_daemon_leaves_does_not_block(workspace: Path) -> None:
    with running_daemon(workspace) as daemon:
        daemon.process.kill()
        daemon.process.wait()
        assert daemon.place.socket.exists()
        assert daemon.place.lock.exists()
    with running_daemon(workspace) as daemon, Wire(daemon.place.socket) as wire:
        assert "result" in wire.initialize()


def test_a_recycled_process_id_and_a_strange_file_do_not_block(workspace: Path) -> None:
    place = place_of(workspace)
    place.socket.parent.mkdir(parents=True)
    place.socket.write_text("not a socket")
    place.lock.write_text(f"{os.getpid()}\n")
    with running_daemon(workspace) as daemon, Wire(daemon.place.socket) as wire:
        assert "result" in wire.initialize()


def test_a_refused_workspace_is_said(hermetic_home: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "resumed.daemon", "serve", "--workspace", str(hermetic_home)],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=DEADLINE,
    )
    assert (done.returncode, done.stdout) == (EXIT_REFUSED, "")
    assert done.stderr == (
        f"{hermetic_home} is too much for one workspace.\nOpen a project's folder instead.\n"
    )


def test_a_log_that_cannot_be_opened_is_the_state_folder_s_fault(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def read_only_disk(log: Path) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(log))

    monkeypatch.setattr(serve, "_redirect_output", read_only_disk)
    before = os.umask(0o077)
    code = serve.serve(workspace)
    os.umask(before)
    assert code == EXIT_REFUSED
    assert capsys.readouterr().err == (
        f"The state folder {state_folder()} cannot be written: Read-only file system.\n"
        "Set RESUMED_HOME to a folder of yours that can be written.\n"
    )
    assert not place_of(workspace).socket.exists()


@pytest.mark.parametrize("taken", ["lock", "socket", "log"])
def test_what_the_system_refuses_is_said_in_a_sentence(workspace: Path, taken: str) -> None:
    path: Path = getattr(place_of(workspace), taken)
    path.mkdir(parents=True)
    with spawned(workspace) as daemon:
        code, said = outcome(daemon)
    assert (code, said.count("\n")) == (1, 1)
    assert said.startswith("A file that the daemon needs can't be used: ")
    assert str(path) in said


@pytest.mark.parametrize(
    "arguments", [[], ["serve"], ["serve", "--workspace"], ["other", "--workspace", "x"]]
)
def test_wrong_arguments_are_a_usage_error(arguments: list[str]) -> None:
    command = [sys.executable, "-m", "resumed.daemon", *arguments]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=DEADLINE)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("usage:")


def test_the_first_stage_answers_while_the_second_is_still_opening(workspace: Path) -> None:
    (workspace / "slow").touch()
    with running_daemon(workspace) as daemon, Wire(daemon.place.socket) as wire:
        wire.initialize()
        wire.request("waits", "thread/name/set", {"threadId": "t", "name": "n"})
        status = wire.call("status", "daemon/status")
        assert (status["id"], status["result"]["index"]) == ("status", "rebuilding")
        assert status["result"]["notes"] == ["The daemon is still starting."]
        (workspace / "go").touch()
        assert wire.read()["id"] == "waits"
        assert wire.call("later", "daemon/status")["result"]["notes"] == []


def test_a_workspace_that_cannot_be_opened_says_why_and_ends_when_alone(workspace: Path) -> None:
    (workspace / "refuse").touch()
    with running_daemon(workspace, RESUMED_IDLE_SECONDS="0.05") as daemon:
        with Wire(daemon.place.socket) as wire:
            wire.initialize()
            error = wire.call(1, "thread/name/set", {"threadId": "t", "name": "n"})["error"]
            assert error["message"] == "The disk is full."
            status = wire.call(2, "daemon/status")["result"]
            assert (status["storage"], status["notes"]) == ("failing", ["The disk is full."])
        assert outcome(daemon)[0] == 0


@pytest.mark.parametrize(
    ("why", "kind", "sentence"),
    [
        ("locked", "threadBusy", "Another daemon has it."),
        (
            "lost",
            "storageFailed",
            "The workspace can't be opened: [Errno 2] No such file or directory: '/lost'.",
        ),
        ("broken", "internalError", "The workspace can't be opened."),
    ],
)
def test_the_reason_for_not_opening_is_told(workspace: Path, why: str, kind: str, sentence: str) -> None:
    (workspace / why).touch()
    with running_daemon(workspace) as daemon, Wire(daemon.place.socket) as wire:
        wire.initialize()
        error = wire.call(1, "thread/name/set", {"threadId": "t", "name": "n"})["error"]
        assert (error["data"]["kind"], error["message"]) == (kind, sentence)


def test_the_next_start_after_a_failed_opening_tries_anew(workspace: Path) -> None:
    (workspace / "refuse").touch()
    with running_daemon(workspace) as daemon:
        with Wire(daemon.place.socket) as wire:
            wire.initialize()
            assert "error" in wire.call(1, "thread/name/set", {"threadId": "t", "name": "n"})
        assert outcome(daemon)[0] == 0
    (workspace / "refuse").unlink()
    with running_daemon(workspace) as daemon, Wire(daemon.place.socket) as wire:
        wire.initialize()
        assert "result" in wire.call(1, "thread/name/set", {"threadId": "t", "name": "n"})


def test_a_worker_thread_that_hangs_keeps_neither_the_process_nor_its_lock(workspace: Path) -> None:
    os.mkfifo(workspace / "hang")
    with running_daemon(workspace) as daemon, Wire(daemon.place.socket) as wire:
        wire.initialize()
        assert "result" in wire.call(1, "thread/name/set", {"threadId": "t", "name": "opened"})
        daemon.process.terminate()
        assert outcome(daemon) == (0, "")
        assert (workspace / "closed").exists()
        assert not daemon.place.socket.exists()
        os.close(take_lock(daemon.place.lock))


def test_a_workspace_that_fails_to_close_does_not_keep_the_daemon(workspace: Path) -> None:
    (workspace / "stuck").touch()
    with running_daemon(workspace) as daemon, Wire(daemon.place.socket) as wire:
        wire.initialize()
        assert "result" in wire.call(1, "thread/name/set", {"threadId": "t", "name": "opened"})
        daemon.process.terminate()
        assert outcome(daemon) == (0, "")
        assert "the disk is gone" in daemon.log()
        assert not daemon.place.socket.exists()


def test_an_unclean_stop_is_told_to_the_application(workspace: Path) -> None:
    (workspace / "hasty").touch()
    with running_daemon(workspace) as daemon:
        with Wire(daemon.place.socket) as wire:
            wire.initialize()
            wire.request(1, "thread/read", {"thread": "stubborn"})
            wait_for((workspace / "waiting-stubborn").exists)
            daemon.process.terminate()
            assert outcome(daemon)[0] == 0
        assert (workspace / "cut-off").read_text() == "thread/read"
        assert not (workspace / "closed").exists()
        assert "did not end in time: thread/read" in daemon.log()


def test_it_ends_when_nobody_needs_it(workspace: Path) -> None:
    (workspace / "busy").touch()
    with running_daemon(workspace, RESUMED_IDLE_SECONDS="0.05") as daemon:
        with Wire(daemon.place.socket) as wire:
            wire.initialize()
            (workspace / "busy").unlink()
            for number in range(50):
                wire.call(number, "daemon/status")
        assert outcome(daemon)[0] == 0
        assert not daemon.place.socket.exists()


def test_a_lease_keeps_it(workspace: Path) -> None:
    (workspace / "busy").touch()
    with running_daemon(workspace, RESUMED_IDLE_SECONDS="0.01") as daemon:
        with Wire(daemon.place.socket) as wire:
            wire.initialize()
        checks = len(list(workspace.glob("busy-asked-*")))
        wait_for(lambda: len(list(workspace.glob("busy-asked-*"))) > checks + 3)
        assert daemon.process.poll() is None
        (workspace / "busy").unlink()
        assert outcome(daemon)[0] == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_lets_running_requests_finish(workspace: Path, number: signal.Signals) -> None:
    with running_daemon(workspace) as daemon, Wire(daemon.place.socket) as wire:
        wire.initialize()
        wire.request("runs", "operation/begin", {"sessionId": "s", "operationId": "o", "tool": "finish"})
        wait_for((workspace / "begun").exists)
        daemon.process.send_signal(number)
        wait_for(lambda: not connects(daemon.place.socket))
        refused = wire.call("late", "turn/start", {"sessionId": "s", "message": "m"})
        assert (refused["id"], refused["error"]["data"]["kind"]) == ("late", "draining")
        with spawned(workspace) as second:
            assert outcome(second)[0] == EXIT_LOCK_HELD
        assert not (workspace / "closed").exists()
        (workspace / "go").touch()
        reply = wire.read()
        assert (reply["id"], reply["result"]["state"]) == ("runs", "begun")
        assert wire.ends()
        assert outcome(daemon)[0] == 0
        assert (workspace / "closed").exists()


def test_draining_answers_finishes_and_ends(workspace: Path) -> None:
    with running_daemon(workspace) as daemon, Wire(daemon.place.socket) as other:
        other.initialize(restoreAsk=True)
        other.request("asks", "turn/start", {"sessionId": "s", "message": "m"})
        question = other.read()
        with Wire(daemon.place.socket) as wire:
            assert wire.call(1, "daemon/drain", {"reason": "newer"})["result"] == {"draining": True}
        refused = other.call("late", "thread/resume", {"thread": "t"})
        assert refused["error"]["data"]["kind"] == "draining"
        assert daemon.process.poll() is None
        other.message({"jsonrpc": "2.0", "id": question["id"], "result": {"cancelled": True}})
        assert other.read()["id"] == "asks"
        assert other.ends()
        assert outcome(daemon)[0] == 0


def test_another_user_is_not_served(workspace: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("needs root to become another user")
    program = (
        "import os, socket, sys; os.chdir(sys.argv[1]); os.setuid(65534); s = socket.socket(socket.AF_UNIX)"
    )
    program += "; s.settimeout(20); s.connect(sys.argv[2]); print(s.recv(10))"
    with running_daemon(workspace) as daemon:
        folder = daemon.place.socket.parent
        folder.parent.chmod(0o755)
        folder.chmod(0o755)
        daemon.place.socket.chmod(0o666)
        done = subprocess.run(
            [sys.executable, "-c", program, str(folder), str(daemon.place.socket)],
            capture_output=True,
            text=True,
            timeout=DEADLINE,
        )
        assert done.stdout in ("b''\n", "")
        wait_for(lambda: "another user" in daemon.log())


def test_output_of_the_process_goes_to_its_log(workspace: Path) -> None:
    with running_daemon(workspace) as daemon, Wire(daemon.place.socket) as wire:
        wire.initialize()
        wire.call(1, "thread/read", {"thread": "bug"})
        wait_for(lambda: "a secret of" in daemon.log())
        assert daemon.process.stderr is not None
        assert daemon.process.stderr.read() == b""
