"""Asking for a thread: given at once where nothing is open, later where something is, never by force."""

import os
from pathlib import Path
from typing import Any

import pytest

from resumed.daemon import direct
from resumed.daemon.handlers.sessions import operation_begin, operation_commit, turn_complete, turn_start
from resumed.daemon.live import Live
from resumed.daemon.storage import disk
from resumed.daemon.storage.lease import Lease, LeaseHolder, acquire
from resumed.daemon.workspace import Workspace
from resumed.protocol.errors import ErrorCode, ResumedError
from resumed.protocol.keeping import ThreadReleaseAsked, ThreadReleaseResult
from resumed.protocol.sessions import (
    AgentInfo,
    OperationBeginParams,
    OperationCommitParams,
    SessionStartParams,
    TurnCompleteParams,
    TurnStartParams,
)
from tests.support.machines import ended_run
from tests.support.parts import Hearing, LocalClient, opened

AGENT = LocalClient("mender")


async def started(workspace: Workspace, **more: Any) -> Live:
    start = SessionStartParams(agent=AgentInfo(name="mender"), cwd=workspace.threads.root, **more)
    return await workspace.sessions.start(AGENT, start)


def asked(hearing: Hearing) -> list[tuple[str, bool]]:
    """Who asked, and whether it was let go, as every client was told."""
    told = [params for _, params in hearing.heard if isinstance(params, ThreadReleaseAsked)]
    return [(each.by, each.released) for each in told]


async def test_nobody_has_it(tmp_path: Path) -> None:
    async with opened(tmp_path) as workspace:
        thread = await ended_run(workspace)
        assert await workspace.releaser.ask("round", "Neovim") == ThreadReleaseResult(
            thread_id=thread, released=True
        )


async def test_a_run_with_nothing_open_is_let_go_and_can_be_taken_up_again(tmp_path: Path) -> None:
    hearing = Hearing()
    async with opened(tmp_path, hearing) as workspace:
        live = await started(workspace)
        result = await workspace.releaser.ask(live.thread_id, "Neovim")
        assert (result.released, result.holder) == (True, "mender")
        assert asked(hearing) == [("Neovim", True)]
        with pytest.raises(ResumedError) as refused:
            workspace.sessions.of(AGENT, live.session_id)
        assert refused.value.code is ErrorCode.SESSION_NOT_FOUND
        assert not await workspace.threads.is_held(live.thread_id)
        again = await started(workspace, session_id=live.session_id)
        assert again.session_id == live.session_id
        assert not await workspace.releaser.let_go_if_asked(again), "it was asked of the run before"


async def test_a_turn_is_finished_first(tmp_path: Path) -> None:
    hearing = Hearing()
    async with opened(tmp_path, hearing) as workspace:
        live = await started(workspace)
        session = live.session_id
        turn = await turn_start(workspace, AGENT, TurnStartParams(session_id=session, message="go"))
        result = await workspace.releaser.ask(live.thread_id, "Neovim")
        assert (result.released, result.asked) == (False, True)
        assert await workspace.threads.is_held(live.thread_id)
        done = TurnCompleteParams(session_id=session, turn_id=turn.turn_id, token=turn.token)
        assert not (await turn_complete(workspace, AGENT, done)).repeated
        assert asked(hearing) == [("Neovim", False), ("Neovim", True)]
        assert not await workspace.threads.is_held(live.thread_id)


async def test_an_action_is_finished_first(tmp_path: Path) -> None:
    async with opened(tmp_path) as workspace:
        live = await started(workspace)
        begin = OperationBeginParams(
            session_id=live.session_id, operation_id="a", tool="shell", args={}, kind="external"
        )
        await operation_begin(workspace, AGENT, begin)
        assert not (await workspace.releaser.ask(live.thread_id, "Neovim")).released
        commit = OperationCommitParams(session_id=live.session_id, operation_id="a", state="committed")
        await operation_commit(workspace, AGENT, commit)
        assert not await workspace.threads.is_held(live.thread_id)


async def test_an_action_cut_off_in_an_earlier_turn_keeps_nobody_waiting(tmp_path: Path) -> None:
    async with opened(tmp_path) as workspace:
        live = await started(workspace)
        session = live.session_id
        for number in range(2):
            turn = await direct.start_turn(
                live, TurnStartParams(session_id=session, message="go"), workspace.key
            )
            if not number:
                begin = OperationBeginParams(
                    session_id=session, operation_id="a", tool="x", args={}, kind="read"
                )
                await direct.begin_operation(live, begin)
            done = TurnCompleteParams(session_id=session, turn_id=turn.turn_id, token=turn.token)
            await direct.complete_turn(live, done, workspace.key)
        assert (await workspace.releaser.ask(live.thread_id, "Neovim")).released


@pytest.mark.parametrize("where", ["", "/nowhere/r/x.sock", "no address"])
async def test_a_holder_that_cannot_be_asked_keeps_it(tmp_path: Path, where: str) -> None:
    async with opened(tmp_path) as workspace:
        thread = await ended_run(workspace)
        holder = LeaseHolder(name="another", pid=1, since="then", owner="x", socket=where)
        held = acquire(workspace.layout, thread, holder)
        assert isinstance(held, Lease)
        result = await workspace.releaser.ask(thread, "Neovim")
        assert (result.released, result.asked, result.holder) == (False, False, "another")
        held.release()


async def test_a_holder_whose_hint_says_nothing_keeps_it(tmp_path: Path) -> None:
    async with opened(tmp_path) as workspace:
        thread = await ended_run(workspace)
        held = disk.lock(workspace.layout.lease_path(thread))
        assert held is not None
        result = await workspace.releaser.ask(thread, "Neovim")
        assert (result.released, result.asked, result.holder) == (False, False, "unknown")
        os.close(held)
        assert (await workspace.releaser.ask(thread, "Neovim")).released
