"""The restore conversation over real parts: asked, left, cancelled, and what remains of it."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from resumed.daemon.workspace import Workspace
from resumed.protocol.daemon import ClientCapabilities
from resumed.protocol.errors import ErrorCode, ResumedError
from resumed.protocol.restore import Answer, Answers, Drift, Outcome, Question
from resumed.protocol.resume import ThreadResumeParams
from resumed.restore.events.journal import RestoreClosed
from resumed.restore.events.session import Ingested, SessionEnded, SessionMeta
from tests.support.codex import build_scratch_repo, install_recording
from tests.support.parts import LocalClient, opened
from tests.support.repository import run_git

CALM = "v171_on_request_two_turns"
THREAD = "01a22dbd-6721-7b02-8d3d-d77a010ed4f3"
PARAMS = ThreadResumeParams(thread=THREAD)


class Asked(LocalClient):
    """A client that is asked; `reply` answers, or it waits for ever."""

    def __init__(self, reply: Callable[[Question], Answers | None] | None) -> None:
        super().__init__("asked")
        self.capabilities = ClientCapabilities(restore_ask=True, progress=True)
        self.waiting = asyncio.Event()
        self.told: list[str] = []
        self._reply = reply

    async def ask(self, question: Question) -> Answers | None:
        """Answer, or wait."""
        self.waiting.set()
        if self._reply is None:
            await asyncio.Event().wait()
        assert self._reply is not None
        return self._reply(question)

    def notify(self, method: str, params: object, coalesce: str | None = None) -> None:
        """Keep what was told."""
        self.told.append(method)


def _repository(tmp_path: Path) -> Path:
    repo, worktree = build_scratch_repo(tmp_path)
    folders = {"/home/dev/repo": str(repo), "/home/dev/repo-wt": str(worktree)}
    install_recording(CALM, Path(os.environ["CODEX_HOME"]), folders)
    return repo


def _sessions(workspace: Workspace) -> list[list[object]]:
    streams = workspace.streams
    return [[event.payload for event in streams.read(name)] for name in streams.ids("session")]


async def test_a_calm_thread_is_restored_and_journalled(tmp_path: Path) -> None:
    async with opened(_repository(tmp_path)) as workspace:
        client = Asked(None)
        report = await workspace.restorer.resume(client, PARAMS)
        assert (report.outcome, report.run, report.drifts) == (Outcome.RESTORED, 2, ())
        assert set(client.told) == {"restore/progress"}
        ((meta, ingested, *_, closed),) = _sessions(workspace)
        assert isinstance(meta, SessionMeta)
        assert (meta.thread_id, meta.session_id, meta.reason) == (THREAD, report.session_id, "resume")
        assert meta.resumed_from == report.resumed_from
        assert isinstance(ingested, Ingested)
        assert ingested.offset == Path(ingested.path).stat().st_size
        assert isinstance(closed, RestoreClosed)
        assert closed.outcome == "restored"
        assert workspace.leases.count == 0
        again = await workspace.restorer.resume(client, PARAMS)
        # No agent took the first one up, so it was no run.
    assert (again.run, again.resumed_from) == (2, report.session_id)


async def test_a_restore_that_is_left_is_no_run(tmp_path: Path) -> None:
    repo = _repository(tmp_path)
    run_git(repo, "switch", "-q", "--detach")
    async with opened(repo) as workspace:
        report = await workspace.restorer.resume(Asked(lambda question: Answers(cancelled=True)), PARAMS)
        assert report.outcome is Outcome.CANCELLED
        unanswered = await workspace.restorer.resume(LocalClient(), PARAMS)
        assert unanswered.outcome is Outcome.NEEDS_ANSWER
        assert unanswered.question is not None
        for payloads in _sessions(workspace):
            assert isinstance(payloads[-1], SessionEnded)
        given = {drift.id: Answer(choice="stay") for drift in unanswered.question.drifts}
        answered = await workspace.restorer.resume(
            LocalClient(),
            ThreadResumeParams(thread=THREAD, answers=given, token=unanswered.question.token),
        )
        assert answered.run == 2
        assert answered.outcome is Outcome.RESTORED


async def test_a_cancelled_request_leaves_the_question_and_frees_the_thread(tmp_path: Path) -> None:
    repo = _repository(tmp_path)
    run_git(repo, "switch", "-q", "--detach")
    async with opened(repo) as workspace:
        client = Asked(None)
        request = asyncio.ensure_future(workspace.restorer.resume(client, PARAMS))
        await client.waiting.wait()
        assert workspace.restorer.questions == 1
        assert workspace.busy()
        with pytest.raises(ResumedError) as busy:
            await workspace.restorer.resume(LocalClient(), PARAMS)
        assert busy.value.code is ErrorCode.THREAD_BUSY
        request.cancel()
        with pytest.raises(asyncio.CancelledError):
            await request
        assert (workspace.restorer.questions, workspace.leases.count) == (0, 0)
        (payloads,) = _sessions(workspace)
        closed = [payload for payload in payloads if isinstance(payload, RestoreClosed)]
        assert [payload.outcome for payload in closed] == ["cancelled"]


async def test_an_unknown_thread_is_refused_and_mints_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path) as workspace:
        with pytest.raises(ResumedError) as refused:
            await workspace.restorer.resume(LocalClient(), ThreadResumeParams(thread="nothing"))
        assert refused.value.code is ErrorCode.THREAD_NOT_FOUND
        assert _sessions(workspace) == []


async def test_a_request_cancelled_before_the_first_step_changes_nothing(tmp_path: Path) -> None:
    repo = _repository(tmp_path)
    run_git(repo, "stash", "-uq")
    run_git(repo, "switch", "-q", "main")
    before = run_git(repo, "status", "--porcelain", "--branch")
    async with opened(repo) as workspace:
        answered = asyncio.Event()

        def switch(question: Question) -> Answers:
            answered.set()
            request.cancel()
            return Answers(answers={d.id: Answer(choice=_switching(d)) for d in question.drifts})

        request = asyncio.ensure_future(workspace.restorer.resume(Asked(switch), PARAMS))
        with pytest.raises(asyncio.CancelledError):
            await request
        await workspace.restorer.close()
        assert answered.is_set()
        assert run_git(repo, "status", "--porcelain", "--branch") == before
        for payloads in _sessions(workspace):
            assert isinstance(payloads[-1], SessionEnded)


async def test_unattended_nothing_is_taken_back_either(tmp_path: Path) -> None:
    repo = _repository(tmp_path)
    async with opened(repo) as workspace:

        async def would_write(thread_id: str, agent_active_at: str = "") -> str:
            return "A restore that was cut off has to be taken back first: Make it."

        workspace.recoverer.would_write = would_write  # type: ignore[method-assign]  # what recovery would say
        with pytest.raises(ResumedError) as refused:
            await workspace.restorer.resume(LocalClient(), ThreadResumeParams(thread=THREAD, unattended=True))
        assert refused.value.code is ErrorCode.RESTORE_UNFINISHED
        assert _sessions(workspace) == []


def _switching(drift: Drift) -> str:
    return "switch" if any(choice.id == "switch" for choice in drift.choices) else str(drift.suggested)
