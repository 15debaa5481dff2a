"""Resuming a conversation of 50 MB: from the start, and from a checkpoint."""

import asyncio
import os
import shutil
import time
from pathlib import Path

import msgspec

from resumed.protocol.restore import RestoreReport
from resumed.protocol.resume import ThreadResumeParams
from resumed.protocol.threads import ThreadListParams
from tests.benchmarks.measure import Figure, beside, forget_peak, installed, median, peak_megabytes
from tests.support.codex import generate_rollout
from tests.support.workspace import client

MEGABYTES = 50
RUNS = 5


async def figures(base: Path) -> list[Figure]:
    """Cold, then with the checkpoint of the run before; beside a bare read of the same file."""
    folder = Path("/home/dev/repo") if Path("/home/dev/repo").exists() else base / "resume"
    folder.mkdir(exist_ok=True)
    codex_home = Path(os.environ["CODEX_HOME"])
    shutil.rmtree(codex_home, ignore_errors=True)
    rollouts = codex_home / "sessions" / "2026" / "11" / "30"
    rollouts.mkdir(parents=True)
    path = rollouts / "rollout-2026-11-30T18-35-17-01a22dbd-6721-7b02-8d3d-d77a010ed4f3.jsonl"
    await asyncio.to_thread(generate_rollout, path, MEGABYTES, "v171_on_request_two_turns")
    content = path.read_bytes().replace(b"/home/dev/repo", os.fsencode(folder))
    path.write_bytes(content)
    raw = median(lambda: _read_bare(path), 3)
    colds, peaks = [], []
    for _ in range(3):
        shutil.rmtree(os.environ["RESUMED_HOME"], ignore_errors=True)
        daemon = installed(folder)
        daemon.wait_listening()
        thread = await _only_thread(folder)
        forget_peak(daemon.process.pid)
        colds.append(await _resume(folder, thread))
        peaks.append(peak_megabytes(daemon.process.pid))
        warm = [await _resume(folder, thread) for _ in range(RUNS)]
        daemon.stop()
    anchor = f"msgspec read of the {MEGABYTES} MB"
    return [
        beside("thread/resume, cold", sorted(colds)[1], anchor, raw, "<= 800 ms"),
        beside("thread/resume, with checkpoint", sorted(warm)[RUNS // 2], anchor, raw, "<= 150 ms"),
        Figure(what="daemon's peak memory, cold resume", measured=f"{max(peaks):.0f} MB", goal="<= 120 MB"),
    ]


async def _only_thread(folder: Path) -> str:
    async with client(folder) as connection:
        listed = await connection.call("thread/list", ThreadListParams(scope="all"))
    (summary,) = listed.threads
    return str(summary.thread_id)


async def _resume(folder: Path, thread: str) -> float:
    async with client(folder) as connection:
        begin = time.perf_counter()
        report: RestoreReport = await connection.call(
            "thread/resume", ThreadResumeParams(thread=thread, unattended=True)
        )
        taken = (time.perf_counter() - begin) * 1000
    assert report.record.events_read > 1000, report.headline
    return taken


def _read_bare(path: Path) -> None:
    decoder = msgspec.json.Decoder()
    with path.open("rb") as source:
        for line in source:
            decoder.decode(line)
