"""Takes away, one by one, what makes the storage safe, and says whether a suite notices.

`python -m tests.crash.mutations` works on a copy of the tree. Each mutant is one changed place in the
source and the quickest suite that must fail by it; the suites must pass on the untouched copy first.
Exit status 0 only if every mutant is killed, 2 if a place is not there any more or a suite fails anyway.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
COPIED = ("protocol", "restore", "daemon", "tests", ".typecheck")
SUITE_SECONDS = 300
TESTS_FAILED = 1


class Mutant(NamedTuple):
    """One protection and how it is taken away: in `file`, `before` becomes `after`; `suite` must fail."""

    name: str
    file: str
    before: str
    after: str
    suite: str


MUTANTS = (
    Mutant(
        "the CRC check",
        "daemon/storage/codec.py",
        'return line[-10:-2] == b"%08x" % zlib.crc32(memoryview(line)[:-_SUFFIX_LENGTH])',
        "return True",
        "tests/daemon/storage/test_codec.py",
    ),
    Mutant(
        "the directory sync",
        "daemon/storage/disk.py",
        "        os.fsync(descriptor)\n",
        "        pass\n",
        "tests/daemon/storage/test_disk.py",
    ),
    Mutant(
        "the folders above what a killed process left",
        "daemon/storage/appender.py",
        "disk.sync_folders(home.first.parent, home.top)",
        "pass",
        "tests/daemon/storage/test_appender.py",
    ),
    Mutant(
        "the sync before acknowledgement",
        "daemon/storage/appender.py",
        '        disk.sync(self._file)\n        passage("stream.acknowledge")\n',
        '        passage("stream.acknowledge")\n',
        "tests/daemon/storage/test_appender.py",
    ),
    Mutant(
        "the sync of what a killed writer left",
        "daemon/storage/appender.py",
        "        disk.sync(self._file)\n        here = [",
        "        here = [",
        "tests/daemon/storage/test_appender.py",
    ),
    Mutant(
        "the whole write",
        "daemon/storage/disk.py",
        "if written != len(data):",
        "if not written:",
        "tests/daemon/storage/test_disk.py",
    ),
    Mutant(
        "the checkpoint match",
        "daemon/storage/reader.py",
        "return complete and checksum_of(tail) == since.crc",
        "return complete",
        "tests/daemon/storage/test_reader.py",
    ),
    Mutant(
        "the segment rule",
        "daemon/storage/segments.py",
        "if head is not None and (through is None or head.prev_seq < through):",
        "if False and head is not None:",
        "tests/daemon/storage/test_segments.py",
    ),
    Mutant(
        "the seal of a file that failed",
        "daemon/storage/appender.py",
        "                self._seal(refused)\n",
        "",
        "tests/daemon/storage/test_appender.py",
    ),
    Mutant(
        "the quarantine",
        "daemon/storage/appender.py",
        "            copy_aside(quarantine, path, loose)\n",
        "            pass\n",
        "tests/daemon/storage/test_appender.py",
    ),
    Mutant(
        "the place of what is torn",
        "daemon/storage/damage.py",
        '        and named.get("sha256") == loose.sha256\n',
        "",
        "tests/daemon/storage/test_reader.py",
    ),
    Mutant(
        "the one writer",
        "daemon/storage/disk.py",
        "fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)",
        "pass",
        "tests/daemon/storage/test_disk.py",
    ),
    Mutant(
        "the one whole place of a run that is moved",
        "daemon/storage/moving.py",
        "key=lambda path: path == first)",
        "key=lambda path: path != first)",
        "tests/daemon/storage/test_moving.py",
    ),
    Mutant(
        "the record of a removal",
        "daemon/threads.py",
        "if await asyncio.to_thread(purges.is_begun, self._store.layout, thread_id):",
        "if False:",
        "tests/daemon/keeping/test_purge.py"
        "::test_one_that_failed_half_way_is_shown_by_nobody_and_can_be_finished",
    ),
    Mutant(
        "the hash of what is taken in",
        "daemon/keeping/importing.py",
        "    if digest != member.sha256:\n",
        "    if False:\n",
        "tests/daemon/keeping/test_importing.py",
    ),
)


def main() -> int:
    """Run every suite untouched, then each mutant's; print a line for each. Returns the exit status."""
    with tempfile.TemporaryDirectory(prefix="mutations-") as folder:
        tree = Path(folder)
        copy_tree(tree)
        for suite in dict.fromkeys(mutant.suite for mutant in MUTANTS):
            if run(suite, tree) != 0:
                print(f"{suite} fails without any mutant")
                return 2
        survivors = [mutant.name for mutant in MUTANTS if not is_killed(mutant, tree)]
    print(f"{len(MUTANTS) - len(survivors)} of {len(MUTANTS)} mutants were killed")
    return 1 if survivors else 0


def copy_tree(tree: Path) -> None:
    """Copy what the suites need."""
    for name in COPIED:
        ignored = shutil.ignore_patterns("__pycache__", "recordings")
        shutil.copytree(ROOT / name, tree / name, symlinks=True, ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", tree)


def is_killed(mutant: Mutant, tree: Path) -> bool:
    """Change the place, run the suite, change it back. Raises `SystemExit` when the place is not there."""
    path, begun = tree / mutant.file, time.monotonic()
    whole = path.read_text(encoding="utf-8")
    if whole.count(mutant.before) != 1:
        print(f"{mutant.name}: its place in {mutant.file} is not there once: {mutant.before!r}")
        raise SystemExit(2)
    path.write_text(whole.replace(mutant.before, mutant.after), encoding="utf-8")
    try:
        killed = run(mutant.suite, tree) == TESTS_FAILED
    finally:
        path.write_text(whole, encoding="utf-8")
    word = "killed" if killed else "SURVIVED"
    print(f"{word} in {time.monotonic() - begun:.1f} s by {mutant.suite}: {mutant.name}", flush=True)
    return killed


def run(suite: str, tree: Path) -> int:
    """Run one suite on the copy; returns pytest's exit status."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join((str(tree / ".typecheck"), str(tree))),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = [sys.executable, "-m", "pytest", "-x", "-q", suite]
    done = subprocess.run(
        command, cwd=tree, env=environment, capture_output=True, timeout=SUITE_SECONDS, check=False
    )
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
