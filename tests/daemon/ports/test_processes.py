"""Naming processes, and telling whether they live."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from resumed.daemon.ports.processes import alive, boot_id, owner, pid_namespace, start_time


def test_this_process_lives() -> None:
    assert alive(owner()) is True
    assert owner() == f"{boot_id()}:{pid_namespace()}:{os.getpid()}:{start_time(os.getpid())}"


def test_an_ended_process_and_a_zombie_are_dead() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    assert child.stdin is not None
    named = f"{boot_id()}:{pid_namespace()}:{child.pid}:{start_time(child.pid)}"
    assert alive(named) is True
    child.stdin.close()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert alive(named) is False
    child.wait(timeout=30)
    assert alive(named) is False
    assert start_time(child.pid) is None


def test_a_recycled_pid_is_dead() -> None:
    assert alive(f"{boot_id()}:{pid_namespace()}:{os.getpid()}:1") is False


def test_an_earlier_boot_is_dead_whatever_the_namespace() -> None:
    started = start_time(os.getpid())
    assert alive(f"00000000-0000-0000-0000-000000000000:1:{os.getpid()}:{started}") is False


def test_a_foreign_namespace_is_not_known() -> None:
    assert alive(f"{boot_id()}:1:{os.getpid()}:{start_time(os.getpid())}") is None


@pytest.mark.parametrize("text", ["", "a:b", f"{boot_id()}:1:x:2", f"{boot_id()}:1:2:3:4"])
def test_what_is_no_owner_is_not_known(text: str) -> None:
    assert alive(text) is None


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
