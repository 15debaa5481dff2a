"""Names processes so that a recycled process id, a restart or a container cannot be confused.

An owner is `boot:namespace:pid:start`.
"""

import functools
import os
import subprocess
import sys

import psutil


@functools.cache
def boot_id() -> str:
    """Which start of the machine this is."""
    if sys.platform == "linux":
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    # Not the boot time: that moves whenever the clock is set.
    told = subprocess.run(
        ["/usr/sbin/sysctl", "-n", "kern.bootsessionuuid"],
        capture_output=True,
        text=True,
        timeout=5,
        check=True,
    )
    return told.stdout.strip()


def pid_namespace() -> str:
    """Which pid namespace this process is in; `0` where the system has none."""
    try:
        return os.readlink("/proc/self/ns/pid").removeprefix("pid:[").removesuffix("]")
    except FileNotFoundError:
        return "0"


def start_time(pid: int) -> str | None:
    """When the process started, in the system's own unit; `None` when there is none or it is a zombie."""
    if sys.platform == "linux":
        # Ticks since boot, which stay the same when the clock is set; psutil adds the wall time of boot.
        return _start_ticks(pid)
    try:
        process = psutil.Process(pid)
        started = float(process.create_time())
        return None if process.status() == psutil.STATUS_ZOMBIE else f"{started:.6f}"
    except psutil.NoSuchProcess:
        return None


def owner() -> str:
    """This process as an owner."""
    pid = os.getpid()
    return f"{boot_id()}:{pid_namespace()}:{pid}:{start_time(pid)}"


def _start_ticks(pid: int) -> str | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            content = file.read()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The name is in parentheses and may hold anything; state is the 3rd field, start time the 22nd.
    fields = content.rpartition(b")")[2].split()
    return None if fields[0] in (b"Z", b"X") else fields[19].decode("ascii")
