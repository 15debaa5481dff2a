"""Naming processes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from resumed.daemon.ports.processes import boot_id, owner, pid_namespace, start_time


def test_this_process_is_named_by_boot_namespace_id_and_start() -> None:
    assert owner() == f"{boot_id()}:{pid_namespace()}:{os.getpid()}:{start_time(os.getpid())}"


def test_an_ended_process_and_a_zombie_have_no_start() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    assert child.stdin is not None
    assert start_time(child.pid) is not None
    child.stdin.close()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert start_time(child.pid) is None
    child.wait(timeout=30)
    assert start_time(child.pid) is None


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
def test_a_name_with_parentheses_does_not_mislead(tmp_path: Path) -> None:
    odd = tmp_path / "a) Z 1 ("
    odd.symlink_to(sys.executable)
    child = subprocess.Popen([str(odd), "-c", "input()"], stdin=subprocess.PIPE)
    try:
        started = start_time(child.pid)
        assert started is not None
        assert int(started) >= int(start_time(os.getpid()) or 0)
    finally:
        child.kill()
        child.communicate(timeout=30)
