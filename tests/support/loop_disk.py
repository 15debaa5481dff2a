"""An ext4 file system in a file, whose power can be cut: mounted again, it holds what was durable."""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

SIZE = 64 << 20
PROGRAMS = ("losetup", "mkfs.ext4", "mount", "umount")
TOOLS = {**os.environ, "PATH": f"{os.environ.get('PATH', '')}{os.pathsep}/usr/sbin{os.pathsep}/sbin"}


class LoopDisk:
    """The mounted file system; `folder` is where."""

    def __init__(self, device: str, folder: Path) -> None:
        self.folder = folder
        self._device = device

    def mount(self) -> None:
        """Mount it, which plays the journal back after a cut."""
        _run("mount", "-t", "ext4", self._device, str(self.folder))

    def unmount(self) -> None:
        """Unmount it. After a cut nothing more reaches the disk by that."""
        _run("umount", str(self.folder))


@contextlib.contextmanager
def loop_disk(folder: Path) -> Iterator[LoopDisk]:
    """A file system of its own; unmounted and gone at the end, whatever happened. Who is not root, or has
    no loop devices, skips; in CI that is a failure."""
    if os.geteuid() != 0:
        pytest.skip("Cutting the power of a file system needs root.")
    missing = [name for name in PROGRAMS if shutil.which(name, path=TOOLS["PATH"]) is None]
    if missing:
        _give_up(
            f"Cutting the power of a file system needs {', '.join(missing)}: apt install mount e2fsprogs."
        )
    image, place = folder / "disk", folder / "mounted"
    place.mkdir()
    with image.open("wb") as file:
        file.truncate(SIZE)
    _run("mkfs.ext4", "-q", "-F", str(image))
    try:
        device = _run("losetup", "--find", "--show", str(image)).strip()
    except subprocess.CalledProcessError as refusal:
        _give_up(f"losetup was refused, so no power can be cut: {refusal.stderr.strip()}")
    disk = LoopDisk(device, place)
    try:
        try:
            disk.mount()
        except subprocess.CalledProcessError as refusal:
            _give_up(f"mount was refused, so no power can be cut: {refusal.stderr.strip()}")
        yield disk
    finally:
        if os.path.ismount(place):
            disk.unmount()
        _run("losetup", "--detach", device)


def _give_up(sentence: str) -> None:
    if os.environ.get("CI") == "true":
        pytest.fail(sentence)
    pytest.skip(sentence)


def _run(*command: str) -> str:
    done = subprocess.run(command, env=TOOLS, capture_output=True, text=True, check=True)
    return done.stdout
