"""Mount tables: as Linux and macOS print them, and which file system a path is on."""

from pathlib import Path

import pytest

from resumed.daemon.storage.mounts import REMOTE, file_system, mounts, parse_linux, parse_macos

LINUX = r"""
/dev/vda / ext4 rw,relatime 0 0
proc /proc proc rw 0 0
host:/export /home/kim nfs4 rw,vers=4.2 0 0
//nas/media /mnt/My\040Files\134new cifs rw 0 0
C:\134 /mnt/c 9p rw,dirsync,aname=drvfs 0 0
/dev/vdb /home/kim/local xfs rw 0 0
tmpfs /mnt/c tmpfs rw 0 0
"""

MACOS = """
/dev/disk3s1s1 on / (apfs, sealed, local, read-only, journaled)
devfs on /dev (devfs, local, nobrowse)
//kim@nas._smb._tcp.local/media on /Volumes/media (old) (smbfs, nodev, nosuid, mounted by kim)
host:/export on /Volumes/home on host (nfs, asynchronous)
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/home/kim/state", "nfs4"),
        ("/home/kim", "nfs4"),
        ("/home/kimberley/state", "ext4"),
        ("/home/kim/local/state", "xfs"),
        ("/mnt/My Files\\new/x", "cifs"),
        ("/mnt/c/Users", "tmpfs"),
        ("/var", "ext4"),
    ],
)
def test_the_longest_and_latest_mount_counts_on_linux(path: str, kind: str) -> None:
    assert file_system(path, parse_linux(LINUX)) == kind


def test_windows_drives_are_recognised() -> None:
    assert ("/mnt/c", "9p") in parse_linux(LINUX)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/Users/kim", "apfs"),
        ("/Volumes/media (old)/state", "smbfs"),
        ("/Volumes/home on host/x", "nfs"),
    ],
)
def test_macos_prints_its_mounts_differently(path: str, kind: str) -> None:
    assert file_system(path, parse_macos(MACOS)) == kind


def test_remote_ones_are_known_and_garbage_is_not_an_error() -> None:
    assert {"nfs", "nfs4", "9p", "cifs", "smb3", "smbfs"} <= REMOTE
    assert not REMOTE & {"ext4", "apfs", "xfs", "tmpfs", "overlay"}
    assert parse_linux("x\n\n a") == ()
    assert parse_macos("x\n\n a") == ()
    assert file_system("/x", ()) is None


def test_the_own_table_knows_the_root(tmp_path: Path) -> None:
    assert file_system("/", mounts()) is not None
    assert file_system(str(tmp_path), mounts()) not in REMOTE
