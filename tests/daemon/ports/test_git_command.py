"""How git is run: its environment, its safety options, its deadlines."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from resumed.daemon.ports.git_command import GitCommand, GitFailed, printable


def program(folder: Path, body: str) -> str:
    """A stand-in for git: a shell script."""
    path = folder / "fake-git"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return str(path)


async def until(path: Path) -> str:
    """Wait for a file to have a full line, and return it."""
    deadline = time.monotonic() + 20
    while not (path.exists() and path.read_text().endswith("\n")):
        assert time.monotonic() < deadline, f"{path} was not written"
        await asyncio.sleep(0.01)
    return path.read_text().strip()


def is_running(pid: int) -> bool:
    """Whether the process runs and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def ends(pid: int) -> bool:
    """Whether the process ends within 20 s."""
    deadline = time.monotonic() + 20
    while is_running(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not is_running(pid)


async def until_ended(pid: int) -> None:
    """Wait for the process to end; one that does not is ended, and the test fails."""
    still_runs = not await asyncio.to_thread(ends, pid)
    if still_runs:
        os.kill(pid, signal.SIGKILL)
    assert not still_runs, f"{pid} still ran"


async def test_environment_is_scrubbed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    monkeypatch.setenv("GIT_WORK_TREE", "/nowhere")
    monkeypatch.setenv("LANGUAGE", "de")
    command = GitCommand(program(tmp_path, "env"))
    lines = (await command.read(str(tmp_path), "status")).text.splitlines()
    variables = dict(line.partition("=")[::2] for line in lines)
    assert "GIT_DIR" not in variables
    assert "GIT_WORK_TREE" not in variables
    assert "LANGUAGE" not in variables
    assert variables["GIT_OPTIONAL_LOCKS"] == "0"
    assert variables["LC_ALL"] == "C"
    assert variables["GIT_ALLOW_PROTOCOL"] == "none"


async def test_no_hooks_and_no_fsmonitor_in_every_call(tmp_path: Path) -> None:
    command = GitCommand(program(tmp_path, 'printf "%s\\n" "$@"'))
    for outcome in (await command.read("/", "status"), await command.write("/", "switch")):
        words = outcome.text.splitlines()
        assert words[:5] == [
            "--no-pager",
            "-c",
            "core.fsmonitor=false",
            "-c",
            "core.hooksPath=/dev/null",
        ]
        assert words[5:7] == ["-C", "/"]


async def test_only_a_write_is_under_the_umask_given(tmp_path: Path) -> None:
    command = GitCommand(program(tmp_path, "umask"), umask=0o027)
    own = os.umask(0o077)
    try:
        read, written = await command.read("/", "status"), await command.write("/", "switch")
    finally:
        os.umask(own)
    assert (int(read.text, 8), int(written.text, 8)) == (0o077, 0o027)


async def test_own_session(tmp_path: Path) -> None:
    # A signal to the daemon's process group must not reach a running checkout.
    command = GitCommand(program(tmp_path, "cut -d' ' -f6 /proc/self/stat"))
    session = int((await command.write("/", "switch")).text)
    assert session != os.getsid(0)


async def test_a_read_that_takes_too_long_is_killed(tmp_path: Path) -> None:
    told = tmp_path / "pid"
    command = GitCommand(program(tmp_path, f"echo $$ > {told}; exec tail -f /dev/null"))
    with pytest.raises(GitFailed, match="took longer than"):
        await command.read("/", "status", seconds=0.5)
    await until_ended(int(await until(told)))


async def test_a_cancelled_read_is_killed(tmp_path: Path) -> None:
    told = tmp_path / "pid"
    command = GitCommand(program(tmp_path, f"echo $$ > {told}; exec tail -f /dev/null"))
    task = asyncio.create_task(command.read("/", "status"))
    pid = int(await until(told))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await until_ended(pid)


async def test_a_cancelled_write_is_finished_first(tmp_path: Path) -> None:
    told, go, done = tmp_path / "pid", tmp_path / "go", tmp_path / "done"
    command = GitCommand(
        program(tmp_path, f"echo $$ > {told}; while [ ! -e {go} ]; do sleep 0.05; done; echo yes > {done}")
    )
    task = asyncio.create_task(command.write("/", "switch"))
    await until(told)
    task.cancel()
    go.touch()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert done.read_text() == "yes\n"


async def test_a_killed_daemon_does_not_tear_a_running_git(tmp_path: Path) -> None:
    told, go, done = tmp_path / "pid", tmp_path / "go", tmp_path / "done"
    waiting = f"while [ ! -e {go} ]; do sleep 0.05; done"
    body = f"echo $$ > {told}; {waiting}; echo out; echo err >&2; echo yes > {done}"
    daemon = await asyncio.to_thread(
        subprocess.Popen,
        [
            sys.executable,
            "-c",
            "import asyncio, sys\n"
            "from resumed.daemon.ports.git_command import GitCommand\n"
            "asyncio.run(GitCommand(sys.argv[1]).write('/', 'switch'))",
            program(tmp_path, body),
        ],
        start_new_session=True,
    )
    await until(told)
    os.killpg(daemon.pid, signal.SIGKILL)
    await asyncio.to_thread(daemon.wait, 30)
    go.touch()
    assert await until(done) == "yes"


async def test_a_write_that_takes_too_long_is_asked_to_stop(tmp_path: Path) -> None:
    stopped = tmp_path / "stopped"
    body = f"trap 'echo yes > {stopped}; kill $child; exit 1' TERM; tail -f /dev/null & child=$!; wait"
    command = GitCommand(program(tmp_path, body))
    with pytest.raises(GitFailed, match="took longer than"):
        await command.write("/", "switch", seconds=0.5)
    assert await until(stopped) == "yes"


async def test_no_git(tmp_path: Path) -> None:
    with pytest.raises(GitFailed, match="could not be started"):
        await GitCommand(str(tmp_path / "missing")).read("/", "status")


async def test_reason_is_the_fatal_line(tmp_path: Path) -> None:
    body = "echo 'warning: odd' >&2; echo 'fatal: bad thing' >&2; exit 128"
    outcome = await GitCommand(program(tmp_path, body)).read("/", "status")
    assert (outcome.code, outcome.reason) == (128, "bad thing")
    with pytest.raises(GitFailed, match="bad thing"):
        outcome.expect()


async def test_a_child_that_dies_of_a_signal(tmp_path: Path) -> None:
    outcome = await GitCommand(program(tmp_path, "kill -KILL $$")).read("/", "status")
    assert outcome.code == -signal.SIGKILL


def test_printable() -> None:
    assert printable(os.fsdecode(b"caf\xe9")) == "caf\\xe9"
