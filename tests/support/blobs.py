"""Kept contents for tests: opened over a folder, their files, and damage done to them."""

import contextlib
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

from resumed.daemon.storage.blobs import MAX_BLOB_BYTES, Blobs
from resumed.daemon.storage.layout import Layout
from tests.support.clock import FakeClock
from tests.support.streams import program_environment


@contextlib.asynccontextmanager
async def kept(layout: Layout, clock: FakeClock, limit: int = MAX_BLOB_BYTES) -> AsyncIterator[Blobs]:
    """Contents of a state folder, closed at the end; nothing may be said of losing them."""
    said: list[str] = []
    blobs = Blobs(layout, clock.now, said.append, limit)
    try:
        yield blobs
    finally:
        await blobs.close()
    assert said == []


async def put(blobs: Blobs, data: bytes) -> str:
    """Store a content that is not too large; return its name."""
    name = await blobs.put(data)
    assert isinstance(name, str)
    return name


def ask(layout: Layout, sql: str, *values: object) -> list[tuple[object, ...]]:
    """Look into the file, or change it, behind the daemon's back."""
    with contextlib.closing(sqlite3.connect(layout.blobs_path, isolation_level=None)) as connection:
        return connection.execute(sql, values).fetchall()


def names(layout: Layout) -> set[str]:
    """The names of everything that is stored."""
    return {str(name) for (name,) in ask(layout, "SELECT lower(hex(sha256)) FROM blobs")}


def check_whole(layout: Layout) -> None:
    """Every row has its bytes, all bytes have their row, and the file's structure holds."""
    assert ask(layout, "PRAGMA integrity_check") == [("ok",)]
    rows = ask(layout, "SELECT content FROM blobs ORDER BY content")
    assert rows == ask(layout, "SELECT id FROM contents ORDER BY id")


def overwrite(path: Path, old: bytes, new: bytes) -> None:
    """Put other bytes of the same length in the place of bytes that the file holds once."""
    data = path.read_bytes()
    assert len(old) == len(new)
    assert data.count(old) == 1
    path.write_bytes(data.replace(old, new))


def run_program(folder: Path, failpoint: str, *numbers: str) -> tuple[int, list[str]]:
    """Run the program of `blob_program` to its end, or to the failpoint; its exit code and what it told."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.blob_program", str(folder), *numbers],
        env=program_environment(RESUMED_FAILPOINT=failpoint),
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout.split()
