"""What is lost or torn on disk: the list and every conversation are as before, and the damage is named."""

import json
import re
import sqlite3
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
import zstandard

from resumed.protocol.errors import ErrorCode, ResumedError
from resumed.protocol.restore import Outcome, Wire
from resumed.protocol.resume import DriftCheckParams, ThreadResumeParams
from resumed.protocol.threads import ThreadListParams, ThreadListResult, ThreadReadParams
from tests.support.codex import NAMES, install_recording
from tests.support.scenario import read
from tests.support.workspace import client, resume_unattended
from tests.support.world import World, inhabited

SAME_FILES = ("v171_sigkill_midturn", "v171_worktree")
OTHERS = tuple(name for name in NAMES if name not in SAME_FILES)
ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


async def listed(folder: Path) -> ThreadListResult:
    """Every page of everything."""
    rows: list[Any] = []
    async with client(folder) as connection:
        cursor = None
        while True:
            params = ThreadListParams(scope="all", limit=200, cursor=cursor)
            page: ThreadListResult = await connection.call("thread/list", params)
            rows += page.threads
            cursor = page.next_cursor
            if cursor is None:
                return ThreadListResult(threads=tuple(rows), notes=page.notes)


def plain(value: Wire) -> Any:
    """The value without ids and without what is said of damage, for comparing copies."""
    found = json.loads(ID.sub("<id>", msgspec.json.encode(value).decode()))
    for said in ("damage", "damaged", "notes"):
        found.pop(said, None)
    return found


def gone(index: Path) -> None:
    index.unlink()


def garbage(index: Path) -> None:
    index.write_bytes(b"\x00garbage" * 4096)


def cut(index: Path) -> None:
    index.write_bytes(index.read_bytes()[:100])


def scribbled(index: Path) -> None:
    with sqlite3.connect(index) as database:
        (size,) = database.execute("PRAGMA page_size").fetchone()
    content = bytearray(index.read_bytes())
    content[size : 4 * size] = b"\xff" * (3 * size)
    index.write_bytes(content)


@pytest.mark.parametrize("damage", [gone, garbage, cut, scribbled])
async def test_a_lost_index(damage: Callable[[Path], None], tmp_path: Path) -> None:
    with inhabited(tmp_path) as world:
        for name in OTHERS:
            install_recording(name, world.home / ".codex")
        world.payments()
        await world.work("payments")
        folder = world.serve("payments")
        before = await listed(folder)
        shown = {row.thread_id: await read(folder, row.thread_id) for row in before.threads}
        assert len(shown) == len(OTHERS) + 1
        world.let_go()
        (index,) = world.state.glob("workspaces/*/index-v*.db")
        damage(index)
        world.serve("payments")
        after = await listed(folder)
        assert after.threads == before.threads
        assert {thread: await read(folder, thread) for thread in shown} == shown
        said = " ".join(after.notes)
        assert ("It is being rebuilt." in said) == (damage is not gone), said


async def test_a_rollout_torn_at_every_byte_of_its_last_line(tmp_path: Path) -> None:
    with inhabited(tmp_path) as world:
        (tmp_path / "elsewhere").mkdir()
        original = install_recording("v171_read_only", tmp_path / "elsewhere")
        content, stem = original.read_bytes(), original.stem
        start = content.rindex(b"\n", 0, -1) + 1
        ends = [*range(start, len(content)), len(content)]
        folder = world.home / ".codex" / "sessions" / "2026" / "11" / "30"
        folder.mkdir(parents=True)
        threads = {}
        for end in ends:
            threads[end] = str(uuid.UUID(int=end, version=4))
            renamed = content[:end].replace(stem[-36:].encode(), threads[end].encode())
            (folder / f"{stem[:-36]}{threads[end]}.jsonl").write_bytes(renamed)
        world.payments()
        place = world.serve("payments")
        rows = {row.thread_id: row for row in (await listed(place)).threads}
        shown = {end: await read(place, threads[end]) for end in ends}
    torn, whole = ends[1:-2], ends[-2:]
    for end in torn:
        assert plain(shown[end]) == plain(shown[start]), end
        assert plain(rows[threads[end]]) == plain(rows[threads[start]]), end
        (sentence,) = shown[end].damage
        length = "1 byte" if end == start + 1 else f"{end - start} bytes"
        assert sentence == f"The last line is cut off after {length} (at byte {start})."
    # Only its newline is missing: the line counts.
    assert plain(shown[whole[0]]) == plain(shown[whole[1]])
    assert plain(shown[start]) != plain(shown[whole[1]])
    assert shown[start].damage == shown[whole[0]].damage == shown[whole[1]].damage == ()


async def test_a_stream_of_ours_torn_at_every_byte_of_its_last_line(tmp_path: Path) -> None:
    with inhabited(tmp_path) as world:
        world.payments()
        thread = await world.work("payments")
        world.let_go()
        (stream,) = world.state.glob("sessions/*/*/*/*.jsonl")
        content = stream.read_bytes()
        start = content.rindex(b"\n", 0, -1) + 1
        stream.write_bytes(content[:start])
        place = world.serve("payments")
        before, rows = await read(place, thread), (await listed(place)).threads
        for end in range(start + 1, len(content) - 1):
            stream.write_bytes(content[:end])
            torn = await read(place, thread)
            assert plain(torn) == plain(before), end
            assert torn.damage, end
        stream.write_bytes(content[:-1])
        assert plain(await read(place, thread)) != plain(before)
        for end in (start + 1, (start + len(content)) // 2, len(content) - 2):
            after = await _torn_while_away(world, stream, content, end)
            assert after.threads == rows
            assert after.notes == (
                "A record of ours is shorter than it was: what had been written is missing.",
            )


async def _torn_while_away(world: World, stream: Path, content: bytes, end: int) -> ThreadListResult:
    """The list of a daemon that starts with an index of the whole stream, on the torn one."""
    world.let_go()
    stream.write_bytes(content)
    await listed(world.serve("payments"))
    world.let_go()
    stream.write_bytes(content[:end])
    return await listed(world.serve("payments"))


async def test_a_conversation_whose_agents_file_was_replaced(tmp_path: Path) -> None:
    with inhabited(tmp_path) as world:
        world.scratch()
        thread = world.codex("v171_on_request_two_turns")
        place = world.serve("repo")
        assert (await resume_unattended(place, thread)).outcome is Outcome.RESTORED
        (rollout,) = (world.home / ".codex").rglob(f"rollout-*{thread}.jsonl")
        content = rollout.read_bytes()
        rollout.write_bytes(content.replace(b"fix the rounding", b"mow the meadows!"))
        # What the restores in between have read takes nothing of it back.
        for _ in range(2):
            shown = await read(place, thread)
            assert "is not the one that was read before" in shown.damage[0]
            assert [row.damaged for row in (await listed(place)).threads] == [True]
            report = await resume_unattended(place, thread)
            assert report.outcome is Outcome.PARTIAL
            assert shown.damage[0] in report.record.damage
        rollout.write_bytes(content)
        (archived := world.home / ".codex" / "archived_sessions").mkdir()
        rollout.unlink()
        (archived / f"{rollout.name}.zst").write_bytes(zstandard.compress(content))
        assert (await read(place, thread)).damage == ()
        assert (await resume_unattended(place, thread)).outcome is Outcome.RESTORED
        assert (await read(place, thread)).damage == ()


def _unlinked(rollout: Path) -> None:
    rollout.unlink()


def _emptied(rollout: Path) -> None:
    rollout.write_bytes(b"")


def _a_folder_in_its_place(rollout: Path) -> None:
    rollout.unlink()
    rollout.mkdir()


@pytest.mark.parametrize("lose", [_unlinked, _emptied, _a_folder_in_its_place])
async def test_a_conversation_without_its_agents_file(lose: Callable[[Path], None], tmp_path: Path) -> None:
    with inhabited(tmp_path) as world:
        world.scratch()
        kept, lost = world.codex("v171_on_request_two_turns"), world.codex("v171_read_only")
        place = world.serve("repo")
        before = {row.thread_id: row for row in (await listed(place)).threads}
        await resume_unattended(place, kept)
        for thread in (kept, lost):
            (rollout,) = (world.home / ".codex").rglob(f"rollout-*{thread}.jsonl")
            lose(rollout)
        streams = sorted(world.state.glob("sessions/*/*/*/*.jsonl"))
        async with client(place) as connection:
            for name in (lost, kept, before[lost].name, before[kept].name):
                for method, params in (
                    ("drift/check", DriftCheckParams(thread=name)),
                    ("thread/resume", ThreadResumeParams(thread=name, unattended=True)),
                    ("thread/resume", ThreadResumeParams(thread=name)),
                ):
                    with pytest.raises(ResumedError) as refused:
                        await connection.call(method, params)
                    assert refused.value.code is ErrorCode.THREAD_NOT_FOUND
                    assert refused.value.sentence.startswith("Nothing of this conversation can be read. ")
                    assert "(~/.codex/sessions/" in refused.value.sentence
            with pytest.raises(ResumedError) as refused:
                await connection.call("thread/read", ThreadReadParams(thread=lost))
            assert "Nothing of this conversation can be read." in refused.value.sentence
        # Neither a run was begun nor anything else written.
        assert sorted(world.state.glob("sessions/*/*/*/*.jsonl")) == streams
        shown = await read(place, kept)
        assert (shown.name, shown.place.root) == (before[kept].name, before[kept].root)
        assert "The agent's own file (~/.codex/sessions/" in shown.damage[0]
        assert shown.depends_on is None
        assert shown.not_resumable == shown.damage[0]
        after = {row.thread_id: row for row in (await listed(place)).threads}
        assert after.keys() == before.keys()
        assert after[kept] == msgspec.structs.replace(before[kept], damaged=True)
        assert after[lost].damaged
