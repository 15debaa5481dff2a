"""Lists, names and look-ups over real files."""

import os
from pathlib import Path

import pytest

from resumed.protocol.errors import ErrorCode, ResumedError
from resumed.protocol.threads import ThreadListParams, ThreadSummary
from tests.support.codex import NAMES, build_scratch_repo, install_recording
from tests.support.parts import opened

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
