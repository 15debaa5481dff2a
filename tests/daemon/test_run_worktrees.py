"""The ids of a run's places count only where what they stand for is on record."""

import uuid
from pathlib import Path

import msgspec
import pytest

from resumed.daemon.run_worktrees import DAMAGED, RunWorktrees
from resumed.daemon.runtime import state_folder
from resumed.daemon.storage.layout import Layout
from resumed.restore.events.envelope import Event
from resumed.restore.events.session import SessionMeta, TurnStarted, WorktreeBound
from resumed.restore.events.worktree import WorktreeMeta
from tests.support.own_thread import event_of, meta_of, open_streams

TREE, OTHER = str(uuid.uuid4()), str(uuid.uuid4())


async def _described(worktree_id: str) -> Path:
    streams = open_streams()
    meta = WorktreeMeta(schema_version=1, worktree_id=worktree_id, repo_id="repo", path="/p", evidence={})
    await streams.create(f"worktree:{worktree_id}", event_of(meta))
    await streams.close()
    path = Layout.open(state_folder()).find_stream(f"worktree:{worktree_id}")
    assert path is not None
    return path


def _run(*worktrees: str) -> list[Event]:
    meta = msgspec.structs.replace(meta_of(str(uuid.uuid4())), worktree_id=worktrees[0], repo_id="repo")
    bound = (WorktreeBound(cwd="/p", cause="start", worktree_id=each) for each in worktrees)
    return [event_of(payload) for payload in (meta, *bound, TurnStarted(turn_id="t"))]


def _ids(events: list[Event]) -> list[str | None]:
    payloads = (event.payload for event in events)
    return [each.worktree_id for each in payloads if isinstance(each, SessionMeta | WorktreeBound)]


async def test_what_is_on_record_describes_the_place() -> None:
    await _described(TREE)
    worktrees = RunWorktrees(open_streams())
    told = worktrees.with_worktree(_run(TREE, OTHER))
    assert isinstance(told[1].payload, WorktreeMeta)
    assert (_ids(told), worktrees.unread) == ([TREE, TREE, None], [])


async def test_of_a_run_from_another_machine_no_id_counts() -> None:
    worktrees = RunWorktrees(open_streams())
    told = worktrees.with_worktree(_run(TREE))
    assert (_ids(told), len(told), worktrees.unread) == ([None, None], 3, [])
    assert isinstance(told[0].payload, SessionMeta)
    assert told[0].payload.repo_id is None


@pytest.mark.parametrize("content", [b"", b"garbage\n"])
async def test_a_description_that_is_damaged_is_told_once(content: bytes) -> None:
    path = await _described(TREE)
    path.write_bytes(content + path.read_bytes()[1:] if content else b"")
    worktrees = RunWorktrees(open_streams())
    for _ in range(2):
        assert _ids(worktrees.with_worktree(_run(TREE))) == [None, None]
    assert worktrees.unread == [DAMAGED]


def test_a_run_whose_beginning_is_lost_is_taken_as_it_is() -> None:
    worktrees = RunWorktrees(open_streams())
    events = [event_of(TurnStarted(turn_id="t"))]
    assert (worktrees.with_worktree(events), worktrees.with_worktree([])) == (events, [])
