"""Lists, names and look-ups over real files."""

import asyncio
import os
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import msgspec
import pytest
import zstandard

from resumed.daemon import records, scanning
from resumed.daemon.freezing import ensure_thread
from resumed.daemon.workspace import Workspace
from resumed.protocol.daemon import ClientInfo
from resumed.protocol.errors import ErrorCode, ResumedError
from resumed.protocol.threads import ThreadListParams, ThreadSummary, ThreadUpdated
from tests.support.codex import NAMES, build_scratch_repo, install_recording
from tests.support.parts import Hearing, opened
from tests.support.streams import program_environment
from tests.support.wire import wait_for

COMMIT = "d585eef34e4ec41e24d4f504906dc908fc9e38a2"
TWO_OF_ONE = {"v171_sigkill_midturn", "v171_worktree"}


def _install(repo: Path, worktree: Path) -> None:
    folders = {"/home/dev/repo": str(repo), "/home/dev/repo-wt": str(worktree)}
    for name in NAMES:
        if name not in TWO_OF_ONE:
            install_recording(name, Path(os.environ["CODEX_HOME"]), folders, COMMIT)


async def test_groups_pages_and_scopes(tmp_path: Path) -> None:
    repo, worktree = build_scratch_repo(tmp_path)
    _install(repo, worktree)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    install_recording(
        "v171_sigkill_midturn", Path(os.environ["CODEX_HOME"]), {"/home/dev/repo": str(elsewhere)}
    )
    async with opened(repo) as workspace:
        everything = await workspace.threads.page(ThreadListParams(scope="all"))
        here = await workspace.threads.page(ThreadListParams())
        groups = {summary.group for summary in here.threads}
        assert groups == {"project", "worktree"}
        assert {s.thread_id for s in everything.threads} - {s.thread_id for s in here.threads} == {
            s.thread_id for s in everything.threads if s.group == "elsewhere"
        }
        pages: list[ThreadSummary] = []
        cursor = None
        while True:
            page = await workspace.threads.page(ThreadListParams(scope="all", limit=5, cursor=cursor))
            pages += page.threads
            cursor = page.next_cursor
            if cursor is None:
                break
        assert tuple(pages) == everything.threads
        activity = [summary.last_active_at for summary in everything.threads]
        assert activity == sorted(activity, reverse=True)


async def test_bad_pages_are_refused(tmp_path: Path) -> None:
    async with opened(tmp_path) as workspace:
        for params in (
            ThreadListParams(scope="mine"),
            ThreadListParams(limit=0),
            ThreadListParams(cursor="nonsense"),
        ):
            with pytest.raises(ResumedError) as refused:
                await workspace.threads.page(params)
            assert refused.value.code is ErrorCode.INVALID_PARAMS


async def test_a_thread_is_found_by_id_name_or_a_unique_part(tmp_path: Path) -> None:
    repo, worktree = build_scratch_repo(tmp_path)
    _install(repo, worktree)
    async with opened(repo) as workspace:
        threads = workspace.threads
        wanted = "01a22dbd-6721-7b02-8d3d-d77a010ed4f3"
        for text in (wanted, wanted.upper(), wanted[:13], "fix the rounding", "[[bare]] FIX the rounding"):
            assert (await threads.find(text)).thread_id == wanted
        with pytest.raises(ResumedError) as missing:
            await threads.find("no such thing")
        assert missing.value.code is ErrorCode.THREAD_NOT_FOUND
        with pytest.raises(ResumedError) as ambiguous:
            await threads.find("[[normal]]")
        assert ambiguous.value.code is ErrorCode.THREAD_AMBIGUOUS
        assert len(ambiguous.value.data.candidates) > 1


async def test_agents_files_are_never_touched(tmp_path: Path) -> None:
    repo, worktree = build_scratch_repo(tmp_path)
    _install(repo, worktree)
    home = Path(os.environ["CODEX_HOME"])
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in home.rglob("*.jsonl")}
    async with opened(repo) as workspace:
        for summary in (await workspace.threads.page(ThreadListParams(scope="all"))).threads:
            await workspace.threads.record(summary.thread_id)
    assert {p: (p.read_bytes(), p.stat().st_mtime_ns) for p in home.rglob("*") if p.is_file()} == before


async def test_a_lost_index_is_the_same_list_again(tmp_path: Path) -> None:
    repo, worktree = build_scratch_repo(tmp_path)
    _install(repo, worktree)
    async with opened(repo) as workspace:
        before = await workspace.threads.page(ThreadListParams(scope="all"))
    for index in Path(os.environ["RESUMED_HOME"]).rglob("index-*"):
        index.unlink()
    async with opened(repo) as workspace:
        assert await workspace.threads.page(ThreadListParams(scope="all")) == before


THREAD = "01a22dbd-6721-7b02-8d3d-d77a010ed4f3"
EVERYTHING = ThreadListParams(scope="all")
HOLDER = """
import pathlib, sys
from resumed.daemon.storage.layout import Layout
from resumed.daemon.storage.lease import LeaseHolder, acquire
held = acquire(Layout.open(pathlib.Path(sys.argv[1])), sys.argv[2], LeaseHolder(name="x", pid=1, since=""))
print(type(held).__name__, flush=True)
sys.stdin.read()
"""


def _rollout(repo: Path, name: str = "v171_on_request_two_turns") -> Path:
    return install_recording(name, Path(os.environ["CODEX_HOME"]), {"/home/dev/repo": str(repo)})


async def _listed(workspace: Workspace) -> dict[str, ThreadSummary]:
    """Everything, after a new look at the disk."""
    await workspace.threads.look_again()
    return {summary.thread_id: summary for summary in (await workspace.threads.page(EVERYTHING)).threads}


async def _named(workspace: Workspace, thread: str = THREAD) -> None:
    """The thread gets a stream of its own."""
    await ensure_thread(workspace.streams, await workspace.threads.record(thread))
    await workspace.threads.changed(thread)


async def test_one_bad_file_stops_nothing(tmp_path: Path) -> None:
    path = _rollout(tmp_path)
    bad = path.with_name(path.name.replace(THREAD, "01a22dbd-6721-7b02-8d3d-d77a010ed4f4") + ".zst")
    bad.write_bytes(b"garbage")
    async with opened(tmp_path) as workspace:
        listed = await _listed(workspace)
        assert {thread: summary.damaged for thread, summary in listed.items()} == {
            THREAD: False,
            "01a22dbd-6721-7b02-8d3d-d77a010ed4f4": True,
        }
        (note,) = (await workspace.threads.page(EVERYTHING)).notes
        assert "compression is damaged" in note
        with pytest.raises(ResumedError) as refused:
            await workspace.threads.record("01a22dbd-6721-7b02-8d3d-d77a010ed4f4")
        assert refused.value.code is ErrorCode.THREAD_NOT_FOUND
        assert "compression is damaged" in refused.value.sentence
        bad.write_bytes(zstandard.compress(path.read_bytes().replace(THREAD[-4:].encode(), b"d4f4")))
        assert not any(summary.damaged for summary in (await _listed(workspace)).values())
        assert (await workspace.threads.page(EVERYTHING)).notes == ()


async def test_one_record_that_fails_stops_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _rollout(tmp_path)
    _rollout(tmp_path, "v171_read_only")
    async with opened(tmp_path) as workspace:
        await _named(workspace)
        expected = await _listed(workspace)
    for index in Path(os.environ["RESUMED_HOME"]).rglob("index-*"):
        index.unlink()

    def failing(*_: object) -> records.Built:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patched:
        patched.setattr(records, "build", failing)
        async with opened(tmp_path) as workspace:
            listed = await _listed(workspace)
            assert listed.keys() == expected.keys() - {THREAD}
            (note,) = workspace.threads.all_notes()
            assert note == "A conversation could not be read; the list may be incomplete."
            assert workspace.threads.count == 1
    async with opened(tmp_path) as workspace:
        assert await _listed(workspace) == expected


async def test_a_look_that_fails_leaves_the_list_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _rollout(tmp_path)
    async with opened(tmp_path) as workspace:
        before = await _listed(workspace)

        def failing(*_: object) -> scanning.Scan:
            raise OSError(5, "Input/output error")

        with monkeypatch.context() as patched:
            patched.setattr(scanning, "scan", failing)
            assert await _listed(workspace) == before
            (note,) = (await workspace.threads.page(EVERYTHING)).notes
            assert "Input/output error" in note
        await _listed(workspace)
        assert workspace.threads.all_notes() == ()


async def test_an_archived_and_a_compressed_thread_stay(tmp_path: Path) -> None:
    path = _rollout(tmp_path)
    async with opened(tmp_path) as workspace:
        before = await _listed(workspace)
        compressed = path.with_name(path.name + ".zst")
        compressed.write_bytes(zstandard.compress(path.read_bytes()))
        path.unlink()
        # Read before anybody looks again.
        assert (await workspace.threads.record(THREAD)).depends_on == str(compressed)
        assert (await _listed(workspace)).keys() == before.keys()
        archived = Path(os.environ["CODEX_HOME"]) / "archived_sessions" / compressed.name
        archived.parent.mkdir()
        compressed.rename(archived)
        assert await _listed(workspace) == {}
        page = await workspace.threads.page(ThreadListParams(scope="all", archived=True))
        assert [summary.thread_id for summary in page.threads] == [THREAD]
        assert (await workspace.threads.record(THREAD)).depends_on == str(archived)


async def test_a_thread_whose_file_vanished_after_the_list_is_a_typed_answer(tmp_path: Path) -> None:
    path = _rollout(tmp_path)
    async with opened(tmp_path) as workspace:
        await _listed(workspace)
        path.unlink()
        row = await workspace.threads.find(THREAD)
        with pytest.raises(ResumedError) as refused:
            await workspace.threads.record(row.thread_id)
        assert refused.value.code is ErrorCode.THREAD_NOT_FOUND
        short = f"~/{path.relative_to(os.environ['HOME'])}"
        assert f"The agent's own file ({short}) is gone." in refused.value.sentence


async def test_a_thread_without_its_file_stays_listed_and_is_refused_each_time(tmp_path: Path) -> None:
    path = _rollout(tmp_path)
    async with opened(tmp_path) as workspace:
        (before,) = (await _listed(workspace)).values()
        path.unlink()
        refusals = []
        for _ in range(2):
            row = await workspace.threads.find("fix the rounding")
            with pytest.raises(ResumedError) as refused:
                await workspace.threads.resumable(row.thread_id)
            refusals.append(refused.value.sentence)
            (after,) = (await _listed(workspace)).values()
            assert after == msgspec.structs.replace(before, damaged=True)
        assert refusals[0] == refusals[1]
        assert f"~/{path.relative_to(os.environ['HOME'])}" in refusals[0]
    async with opened(tmp_path) as workspace:
        assert await _listed(workspace) == {THREAD: after}
        _rollout(tmp_path)
        assert await _listed(workspace) == {THREAD: before}
        assert (await workspace.threads.resumable(THREAD)).record.damage == ()


async def test_a_file_that_another_thread_took_is_not_read_for_the_first(tmp_path: Path) -> None:
    path = _rollout(tmp_path)
    # Nothing but its first line says whose a file of this name is.
    path = path.rename(path.with_name("rollout-moved.jsonl"))
    async with opened(tmp_path) as workspace:
        await _listed(workspace)
        other = THREAD.replace("6721", "6799")
        path.write_bytes(path.read_bytes().replace(THREAD.encode(), other.encode()))
        listed = await _listed(workspace)
        assert {thread: summary.damaged for thread, summary in listed.items()} == {THREAD: True, other: False}
        with pytest.raises(ResumedError) as refused:
            await workspace.threads.built(THREAD)
        assert "Nothing of this conversation can be read." in refused.value.sentence


async def test_a_thread_of_ours_keeps_name_and_place_without_its_file(tmp_path: Path) -> None:
    path = _rollout(tmp_path)
    async with opened(tmp_path) as workspace:
        before = (await _listed(workspace))[THREAD]
        # Our stream and the file's end are seen by the same look.
        await _named(workspace)
        path.unlink()
        after = (await _listed(workspace))[THREAD]
        assert (after.name, after.root, after.group, after.branch) == (
            before.name, before.root, before.group, before.branch,
        )  # fmt: skip
        assert (before.damaged, after.damaged) == (False, True)
        record = await workspace.threads.record(THREAD)
        assert record.name == before.name
        assert "is gone" in record.damage[0]
        with pytest.raises(ResumedError) as refused:
            await workspace.threads.resumable(THREAD)
        assert "Nothing of this conversation can be read." in refused.value.sentence
        assert "conversation" in record.degraded


def _holding(thread: str) -> "subprocess.Popen[bytes]":
    """Another process that has the thread's lease until its input ends."""
    command = [sys.executable, "-c", HOLDER, os.environ["RESUMED_HOME"], thread]
    other = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=program_environment()
    )
    assert other.stdout is not None
    assert other.stdout.readline() == b"Lease\n"
    return other


async def test_a_thread_open_under_another_daemon_is_running(tmp_path: Path) -> None:
    _rollout(tmp_path)
    async with opened(tmp_path) as workspace:
        assert (await _listed(workspace))[THREAD].state == "idle"
        with _holding(THREAD) as other:
            assert (await _listed(workspace))[THREAD].state == "running"
            assert await workspace.threads.is_running(THREAD)
            other.communicate()
        assert (await _listed(workspace))[THREAD].state == "idle"
        assert not await workspace.threads.is_running(THREAD)
        # What this daemon itself holds for a moment is not an agent at work.
        async with workspace.leases.held(THREAD, ClientInfo(name="editor")):
            assert not await workspace.threads.is_running(THREAD)


def _told(hearing: Hearing) -> list[ThreadSummary]:
    return [params.summary for _, params in hearing.heard if isinstance(params, ThreadUpdated)]


async def test_changes_of_agents_files_are_told_once_and_counted(tmp_path: Path) -> None:
    path = _rollout(tmp_path)
    hearing = Hearing()
    async with opened(tmp_path, hearing) as workspace:
        assert (workspace.threads.count, hearing.heard) == (1, [])
        with path.open("ab") as rollout:
            rollout.write(b'{"timestamp":"2026-12-01T00:00:00.000Z","type":"event_msg","payload":{}}\n')
        other = _rollout(tmp_path, "v171_read_only")
        await _listed(workspace)
        await _listed(workspace)
        told = _told(hearing)
        assert len(told) == len(hearing.heard) == 2
        assert {summary.last_active_at for summary in told} > {"2026-12-01T00:00:00.000Z"}
        assert workspace.threads.count == 2
        other.unlink()
        await _listed(workspace)
        assert workspace.threads.count == 2
        assert [summary.damaged for summary in _told(hearing)] == [False, False, True]


async def test_an_index_damaged_while_it_is_open_is_made_again(tmp_path: Path) -> None:
    _rollout(tmp_path)
    _rollout(tmp_path, "v171_read_only")
    async with opened(tmp_path) as workspace:
        await _named(workspace)
        expected = await _listed(workspace)
        (path,) = Path(os.environ["RESUMED_HOME"]).glob("workspaces/*/index-v*.db")
        for ask in (
            lambda: workspace.threads.page(EVERYTHING),
            lambda: workspace.threads.find(THREAD),
            lambda: workspace.threads.record(THREAD),
            lambda: workspace.threads.look_again(),
        ):
            with sqlite3.connect(path, timeout=30) as database:
                database.execute("UPDATE threads SET name = CAST('text' AS TEXT), origin = 7")
                database.execute("UPDATE checkpoints SET body = 7")
            database.close()
            await ask()
            page = await workspace.threads.page(EVERYTHING)
            assert {summary.thread_id: summary for summary in page.threads} == expected
        assert len(list(path.parent.glob("*.corrupt-*"))) >= 4
        assert "It is being rebuilt." in page.notes[0]


async def test_an_index_set_aside_during_a_look_is_filled_before_it_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _rollout(tmp_path)
    reached, go = threading.Event(), threading.Event()
    original = scanning.scan

    def held_up(*arguments: Any) -> scanning.Scan:
        found = original(*arguments)
        reached.set()
        assert go.wait(30)
        return found

    async with opened(tmp_path) as workspace:
        expected = await _listed(workspace)
        (path,) = Path(os.environ["RESUMED_HOME"]).glob("workspaces/*/index-v*.db")
        with monkeypatch.context() as patched:
            patched.setattr(scanning, "scan", held_up)
            looking = asyncio.create_task(workspace.threads.look_again())
            assert await asyncio.to_thread(reached.wait, 30)
            with sqlite3.connect(path, timeout=30) as database:
                database.execute("UPDATE threads SET name = CAST('text' AS TEXT)")
            database.close()
            asking = asyncio.create_task(workspace.threads.page(EVERYTHING))
            await asyncio.to_thread(wait_for, lambda: any(path.parent.glob("*.corrupt-*")))
            go.set()
            page = await asking
            await looking
        assert {summary.thread_id: summary for summary in page.threads} == expected


async def test_gone_folders_of_our_own_threads_belong_here(tmp_path: Path) -> None:
    repo, _ = build_scratch_repo(tmp_path)
    gone = tmp_path / "gone"
    install_recording(
        "v171_on_request_two_turns", Path(os.environ["CODEX_HOME"]), {"/home/dev/repo": str(gone)}, COMMIT
    )
    async with opened(repo) as workspace:
        await _named(workspace)
    for index in Path(os.environ["RESUMED_HOME"]).rglob("index-*"):
        index.unlink()
    async with opened(repo) as workspace:
        assert (await _listed(workspace))[THREAD].group == "project"
