"""A killed restore is finished or taken back, from its journal and what is there."""

import uuid
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from resumed.daemon import recovery
from resumed.daemon.freezing import own_event
from resumed.daemon.ports.clock import SystemClock
from resumed.daemon.ports.git_command import MOVER
from resumed.daemon.removals import Removal
from resumed.daemon.storage.reader import Position, Reading
from resumed.daemon.storage.streams import Streams
from resumed.daemon.workspace import Workspace
from resumed.protocol.errors import ErrorCode, ResumedError
from resumed.protocol.sessions import AgentInfo, SessionStartParams
from resumed.restore.events.envelope import Event, Payload
from resumed.restore.events.journal import RestoreClosed, RestorePlanned, RestoreStep
from resumed.restore.events.session import (
    AgentRef,
    SessionEnded,
    SessionMeta,
    StateInvalidated,
    WorktreeBound,
)
from resumed.restore.events.thread import SessionLinked, ThreadMeta
from resumed.restore.steps import (
    AddWorktree,
    HeadAt,
    PathAbsent,
    RecordState,
    RemoveWorktree,
    Step,
    SwitchBranch,
)
from tests.support.parts import LocalClient, opened
from tests.support.repository import run_git
from tests.support.written_threads import write_thread

THREAD = "11111111-1111-4111-8111-111111111111"
NOW = "2026-11-30T10:00:00.000Z"
BY_THE_RESTORE = ("-c", f"user.name={MOVER}", "-c", "user.email=r")


def _repository(folder: Path) -> str:
    folder.mkdir()
    run_git(folder, "init", "-b", "main")
    run_git(folder, "commit", "--allow-empty", "-m", "one")
    run_git(folder, "branch", "side")
    return run_git(folder, "rev-parse", "HEAD")


def _plan(repo: Path, new: Path, sha: str) -> RestorePlanned:
    place, tree = str(repo), str(new)
    add = Step(
        subsystem="worktree",
        title="Make it",
        do=AddWorktree(restore_id="r", repository=place, path=tree, sha=sha, branch="side"),
        undo=RemoveWorktree(restore_id="r", repository=place, path=tree, sha=sha, branch="side"),
        expects=(PathAbsent(tree),),
        ensures=(HeadAt(path=tree, branch="side", sha=sha),),
    )
    records: tuple[tuple[str, dict[str, object]], ...] = (
        ("worktree_bound", {"cwd": tree, "cause": "userChoice", "root": tree, "made": True}),
        ("permissions_set", {"cause": "resume"}),
        ("state_invalidated", {"subsystem": "operations", "keys": [f"{tree}/a.py"], "reason": "made new"}),
    )
    record = Step(subsystem="worktree", title="Record it", do=RecordState(events=records))
    steps = tuple(msgspec.to_builtins(step) for step in (add, record))
    return RestorePlanned(restore_id="r", through={}, seen={}, drift=(), steps=steps)


async def _killed(workspace: Workspace, *payloads: Payload) -> str:
    """A run whose journal ends with these, in a thread of its own."""
    thread = ThreadMeta(schema_version=1, thread_id=THREAD, agent="mine", storage_class="own", created_at=NOW)
    await workspace.streams.create(f"thread:{THREAD}", own_event(thread, "test"))
    return await _killed_in(workspace.streams, THREAD, *payloads)


async def _killed_in(streams: Streams, thread_id: str, *payloads: Payload) -> str:
    session = str(uuid.uuid4())
    meta = SessionMeta(
        schema_version=1, thread_id=thread_id, session_id=session, agent=AgentRef(name="mine"),
        source="resumed", cwd="/x", created_at=NOW, reason="resume",
    )  # fmt: skip
    await streams.create(f"session:{session}", own_event(meta, "test"))
    await streams.append(f"thread:{thread_id}", own_event(SessionLinked(session_id=session), "test"))
    if payloads:
        await streams.append(f"session:{session}", *(own_event(payload, "test") for payload in payloads))
    return session


def _end(workspace: Workspace, session: str) -> list[object]:
    events = workspace.streams.read(f"session:{session}")
    return [e.payload for e in events if isinstance(e.payload, RestoreClosed | SessionEnded)]


def _place(workspace: Workspace, session: str) -> list[tuple[str, str | None]]:
    """What is on record of the place: the kind of event, and since when."""
    of_the_place = WorktreeBound | StateInvalidated
    events = workspace.streams.read(f"session:{session}")
    return [(type(e.payload).__name__, e.at) for e in events if isinstance(e.payload, of_the_place)]


async def _recovered(workspace: Workspace, agent_active_at: str = "") -> tuple[str, ...]:
    return (await workspace.recoverer.recover(THREAD, agent_active_at)).sentences


async def test_killed_while_asking_nothing_is_to_undo(tmp_path: Path) -> None:
    async with opened(tmp_path) as workspace:
        session = await _killed(workspace)
        assert await _recovered(workspace) == ()
        closed, ended = _end(workspace, session)
        assert isinstance(closed, RestoreClosed)
        assert (closed.outcome, isinstance(ended, SessionEnded)) == ("cancelled", True)
        assert await _recovered(workspace) == ()
        assert len(_end(workspace, session)) == 2


async def test_a_step_that_had_its_effect_is_taken_back(tmp_path: Path) -> None:
    repo, new = tmp_path / "repo", tmp_path / "new"
    sha = _repository(repo)
    run_git(repo, *BY_THE_RESTORE, "worktree", "add", "-q", str(new), "side")
    async with opened(repo) as workspace:
        begun = RestoreStep(restore_id="r", n=1, state="begun")
        session = await _killed(workspace, _plan(repo, new, sha), begun)
        assert await workspace.recoverer.would_write(THREAD) == (
            "A restore that was cut off has to be taken back first: Make it."
        )
        assert new.exists()
        assert await _recovered(workspace) == ("A restore that was cut off was taken back first: Make it.",)
        closed = _end(workspace, session)[0]
        assert isinstance(closed, RestoreClosed)
        assert closed.outcome == "rolledBack"
        assert _place(workspace, session) == []
        assert not new.exists()
        assert run_git(repo, "worktree", "list").count("\n") == 0


@pytest.mark.parametrize("writer", ["an agent", "a tool"])
async def test_who_writes_next_takes_nothing_back_in_a_repository(tmp_path: Path, writer: str) -> None:
    repo, new = tmp_path / "repo", tmp_path / "new"
    sha = _repository(repo)
    run_git(repo, *BY_THE_RESTORE, "worktree", "add", "-q", str(new), "side")
    client = LocalClient()
    params = SessionStartParams(agent=AgentInfo(name="mine"), cwd=str(repo))
    async with opened(repo) as workspace:
        live = await workspace.sessions.start(client, params)
        await workspace.sessions.end(live, "finished")
        begun = RestoreStep(restore_id="r", n=1, state="begun")
        session = await _killed_in(workspace.streams, live.thread_id, _plan(repo, new, sha), begun)
        again = msgspec.structs.replace(params, thread_id=live.thread_id)

        async def write() -> None:
            if writer == "an agent":
                await workspace.sessions.start(client, again)
            else:
                async with workspace.leases.writing(live.thread_id, client.info, workspace.streams):
                    pass

        with pytest.raises(ResumedError) as refused:
            await write()
        assert refused.value.code is ErrorCode.RESTORE_UNFINISHED
        assert (new.exists(), _end(workspace, session)) == (True, [])
        run_git(repo, "worktree", "remove", str(new))
        await write()
        closed = _end(workspace, session)[0]
        assert isinstance(closed, RestoreClosed)
        assert closed.outcome == "rolledBack"


async def test_runs_that_are_settled_are_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    async with opened(tmp_path) as workspace:
        settled = await _killed(workspace)
        assert await _recovered(workspace) == ()
        unwatched = workspace.streams.read

        def watched(stream: str, since: Position | None = None) -> Reading:
            read.append(stream)
            return unwatched(stream, since)

        monkeypatch.setattr(workspace.streams, "read", watched)
        assert await _recovered(workspace) == ()
        assert read == [f"thread:{THREAD}"]
        for _ in range(2):
            read.clear()
            assert await workspace.recoverer.would_write(THREAD) is None
            assert await _recovered(workspace) == ()
            assert read == [f"thread:{THREAD}"] * 2
        begun = await _killed_in(workspace.streams, THREAD)
        read.clear()
        assert await _recovered(workspace) == ()
        assert read == [f"thread:{THREAD}", f"session:{begun}"] * 2
        monkeypatch.setattr(recovery, "REMEMBERED", 0)
        assert await _recovered(workspace) == ()
        for _ in range(2):
            read.clear()
            assert await _recovered(workspace) == ()
            assert read == [f"thread:{THREAD}", f"session:{settled}", f"session:{begun}"]


async def test_what_was_taken_back_is_told_until_a_restore_has_told_it(tmp_path: Path) -> None:
    repo, new = tmp_path / "repo", tmp_path / "new"
    sha = _repository(repo)
    run_git(repo, *BY_THE_RESTORE, "worktree", "add", "-q", str(new), "side")
    told = ("A restore that was cut off was taken back first: Make it.",)
    async with opened(repo) as workspace:
        begun = RestoreStep(restore_id="r", n=1, state="begun")
        await _killed(workspace, _plan(repo, new, sha), begun)
        assert await _recovered(workspace) == told
    # The process may be gone before the report is given.
    for outcome, still in (("cancelled", told), ("needsAnswer", ())):
        async with opened(repo) as workspace:
            for _ in range(2):
                assert await _recovered(workspace) == told
            await _killed_in(workspace.streams, THREAD, RestoreClosed(restore_id="q", outcome=outcome))
            assert await _recovered(workspace) == still


async def test_of_a_run_that_is_no_restore_only_the_first_event_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread = "22222222-2222-4222-8222-222222222222"
    async with opened(tmp_path) as workspace:
        write_thread(workspace.layout, thread, 20_000)
        (run,) = workspace.streams.ids("session")
        unwatched = workspace.streams.read
        read: list[Event] = []

        def watched(stream: str, since: Position | None = None) -> Iterator[Event] | Reading:
            reading = unwatched(stream, since)
            return noted(reading) if stream == run else reading

        def noted(reading: Reading) -> Iterator[Event]:
            for event in reading:
                read.append(event)
                yield event

        monkeypatch.setattr(workspace.streams, "read", watched)
        await workspace.recoverer.recover(thread)
        assert [type(event.payload) for event in read] == [SessionMeta]


async def test_all_that_was_taken_back_is_told_and_an_unreadable_report_hides_none(tmp_path: Path) -> None:
    async with opened(tmp_path) as workspace:
        await _killed(workspace)
        await workspace.recoverer.recover(THREAD)
        for report in ({"undone": ["One"]}, {"undone": 7}, {"undone": ["Two"], "stuck": ["Look."]}):
            session = await _killed_in(workspace.streams, THREAD)
            closed = own_event(RestoreClosed(restore_id="r", outcome="rolledBack", report=report), "recover")
            await workspace.streams.append(f"session:{session}", closed)
        await _killed_in(workspace.streams, THREAD, SessionEnded(reason="cancelled", clean=True))
        recovered = await workspace.recoverer.recover(THREAD)
        assert (recovered.undone, recovered.stuck) == (("One", "Two"), ("Look.",))


async def test_one_is_found_where_the_list_of_runs_is_lost(tmp_path: Path) -> None:
    repo, new = tmp_path / "repo", tmp_path / "new"
    sha = _repository(repo)
    run_git(repo, *BY_THE_RESTORE, "worktree", "add", "-q", str(new), "side")
    async with opened(repo) as workspace:
        params = SessionStartParams(agent=AgentInfo(name="mine"), cwd=str(repo))
        live = await workspace.sessions.start(LocalClient(), params)
        await workspace.sessions.end(live, "finished")
        begun = RestoreStep(restore_id="r", n=1, state="begun")
        await _killed_in(workspace.streams, live.thread_id, _plan(repo, new, sha), begun)
    workspace.layout.thread_path(live.thread_id).unlink()
    async with opened(repo) as workspace:
        await workspace.threads.look_again()
        told = (await workspace.recoverer.recover(live.thread_id)).sentences
        assert told == ("A restore that was cut off was taken back first: Make it.",)
        assert not new.exists()


async def test_one_that_another_daemon_left_is_found_after_all_were_settled(tmp_path: Path) -> None:
    repo, new = tmp_path / "repo", tmp_path / "new"
    sha = _repository(repo)
    run_git(repo, *BY_THE_RESTORE, "worktree", "add", "-q", str(new), "side")
    async with opened(repo) as workspace:
        await _killed(workspace)
        for _ in range(2):
            assert await _recovered(workspace) == ()
        await workspace.streams.release(f"thread:{THREAD}")
        other = Streams(workspace.layout, SystemClock().now)
        begun = RestoreStep(restore_id="r", n=1, state="begun")
        await _killed_in(other, THREAD, _plan(repo, new, sha), begun)
        await other.close()
        assert await _recovered(workspace) == ("A restore that was cut off was taken back first: Make it.",)
        assert not new.exists()


@pytest.mark.parametrize("mover", ["the restore", "a person"])
async def test_no_run_moves_head_by_beginning(tmp_path: Path, mover: str) -> None:
    repo = tmp_path / "repo"
    sha = _repository(repo)
    run_git(repo, *(BY_THE_RESTORE if mover == "the restore" else ()), "switch", "-q", "side")
    there = SwitchBranch(
        restore_id="r", root=str(repo), from_branch="main", from_sha=sha, to_branch="side", to_sha=sha
    )
    back = SwitchBranch(
        restore_id="r", root=str(repo), from_branch="side", from_sha=sha, to_branch="main", to_sha=sha
    )
    step = Step(
        subsystem="worktree",
        title="Switch it",
        do=there,
        undo=back,
        expects=(HeadAt(path=str(repo), branch="main", sha=sha),),
        ensures=(HeadAt(path=str(repo), branch="side", sha=sha),),
    )
    plan = RestorePlanned(restore_id="r", through={}, seen={}, drift=(), steps=(msgspec.to_builtins(step),))
    client = LocalClient()
    params = SessionStartParams(agent=AgentInfo(name="mine"), cwd=str(repo))
    async with opened(repo) as workspace:
        live = await workspace.sessions.start(client, params)
        await workspace.sessions.end(live, "finished")
        begun = RestoreStep(restore_id="r", n=1, state="begun")
        await _killed_in(workspace.streams, live.thread_id, plan, begun)
        again = msgspec.structs.replace(params, thread_id=live.thread_id)
        if mover == "the restore":
            with pytest.raises(ResumedError) as refused:
                await workspace.sessions.start(client, again)
            assert refused.value.code is ErrorCode.RESTORE_UNFINISHED
            assert run_git(repo, "branch", "--show-current") == "side"
            (note,) = (await workspace.recoverer.recover(live.thread_id)).sentences
            assert note == "A restore that was cut off was taken back first: Switch it."
        place = (await workspace.sessions.start(client, again)).place
    assert (
        place.branch
        == run_git(repo, "branch", "--show-current")
        == ("main" if mover == "the restore" else "side")
    )


async def test_a_work_tree_that_a_person_made_there_is_theirs(tmp_path: Path) -> None:
    repo, new = tmp_path / "repo", tmp_path / "new"
    sha = _repository(repo)
    run_git(repo, "worktree", "add", "-q", str(new), "side")
    async with opened(repo) as workspace:
        for state in ("begun", "done"):
            begun = RestoreStep(restore_id="r", n=1, state=state)
            thread = str(uuid.uuid4())
            meta = ThreadMeta(
                schema_version=1, thread_id=thread, agent="mine", storage_class="own", created_at=NOW
            )
            await workspace.streams.create(f"thread:{thread}", own_event(meta, "test"))
            session = await _killed_in(workspace.streams, thread, _plan(repo, new, sha), begun)
            assert await workspace.recoverer.would_write(thread) is None
            (note,) = (await workspace.recoverer.recover(thread)).sentences
            assert "is done, but somebody else did it; it was left as it is" in note
            assert _place(workspace, session) == []
        assert new.exists()


async def test_the_folder_in_which_resume_was_pressed_is_left(tmp_path: Path) -> None:
    repo, new = tmp_path / "repo", tmp_path / "new"
    sha = _repository(repo)
    run_git(repo, *BY_THE_RESTORE, "worktree", "add", "-q", str(new), "side")
    async with opened(new) as workspace:
        done = RestoreStep(restore_id="r", n=1, state="done")
        session = await _killed(workspace, _plan(repo, new, sha), done)
        assert await workspace.recoverer.would_write(THREAD) is None
        assert await _recovered(workspace) == ("Make it was left, since Resume was pressed in it.",)
        assert new.exists()
        assert len(_place(workspace, session)) == 2


async def test_what_somebody_put_there_meanwhile_is_kept_and_said(tmp_path: Path) -> None:
    repo, new = tmp_path / "repo", tmp_path / "new"
    sha = _repository(repo)
    run_git(repo, *BY_THE_RESTORE, "worktree", "add", "-q", str(new), "side")
    (new / "mine.txt").write_text("work")
    async with opened(repo) as workspace:
        done = RestoreStep(restore_id="r", n=1, state="done")
        session = await _killed(workspace, _plan(repo, new, sha), done)
        cut_off_at = [event.ts for event in workspace.streams.read(f"session:{session}")][-1]
        (sentence,) = await _recovered(workspace)
        assert "could not be undone" in sentence
        assert (new / "mine.txt").read_text() == "work"
        assert _place(workspace, session) == [("WorktreeBound", cut_off_at), ("StateInvalidated", cut_off_at)]
        record = await workspace.threads.record(THREAD)
        assert record.runs == ()
        assert record.states["worktree"].root == record.states["worktree"].left.made == str(new)
        assert record.states["operations"].given_up.reasons == {f"{new}/a.py": "made new"}


async def test_a_restore_whose_every_step_is_done_is_finished(tmp_path: Path) -> None:
    repo, new = tmp_path / "repo", tmp_path / "new"
    sha = _repository(repo)
    run_git(repo, *BY_THE_RESTORE, "worktree", "add", "-q", str(new), "side")
    async with opened(repo) as workspace:
        steps = [RestoreStep(restore_id="r", n=n, state=state) for n in (1, 2) for state in ("begun", "done")]
        session = await _killed(workspace, _plan(repo, new, sha), *steps)
        assert await workspace.recoverer.would_write(THREAD) is None
        assert await _recovered(workspace) == ()
        (closed,) = _end(workspace, session)
        assert isinstance(closed, RestoreClosed)
        assert closed.outcome == "restored"
        assert new.exists()


async def test_a_plan_of_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    async with opened(tmp_path) as workspace:
        step = {"subsystem": "worktree", "title": "Fly", "do": {"type": "Fly"}}
        plan = RestorePlanned(restore_id="r", through={}, seen={}, drift=(), steps=(step,))
        session = await _killed(workspace, plan)
        for _ in range(2):
            with pytest.raises(ResumedError) as refused:
                await workspace.recoverer.recover(THREAD)
            assert refused.value.code is ErrorCode.STATE_READ_ONLY
        assert _end(workspace, session) == []


async def test_a_place_in_which_the_agent_has_gone_on_is_left_to_it(tmp_path: Path) -> None:
    repo, new = tmp_path / "repo", tmp_path / "new"
    sha = _repository(repo)
    run_git(repo, *BY_THE_RESTORE, "worktree", "add", "-q", str(new), "side")
    async with opened(repo) as workspace:
        done = RestoreStep(restore_id="r", n=1, state="done")
        session = await _killed(workspace, _plan(repo, new, sha), done)
        assert await workspace.recoverer.would_write(THREAD, "1999-01-01T00:00:00.000Z") is not None
        assert await workspace.recoverer.would_write(THREAD, "2999-01-01T00:00:00.000Z") is None
        assert await _recovered(workspace, "2999-01-01T00:00:00.000Z") == (
            "Make it was left, since the agent went on.",
        )
        assert new.exists()
        assert len(_end(workspace, session)) == 2
        assert len(_place(workspace, session)) == 2


async def test_what_is_half_taken_away_is_taken_away_though_the_agent_has_gone_on(tmp_path: Path) -> None:
    repo, new = tmp_path / "repo", tmp_path / "new"
    sha = _repository(repo)
    run_git(repo, *BY_THE_RESTORE, "worktree", "add", "-q", str(new), "side")
    async with opened(repo) as workspace:
        states = [RestoreStep(restore_id="r", n=1, state=state) for state in ("done", "undoing")]
        session = await _killed(workspace, _plan(repo, new, sha), *states)
        Removal.of(str(new), str(repo / ".git"), "r").begin()
        assert await workspace.recoverer.would_write(THREAD, "2999-01-01T00:00:00.000Z") is not None
        assert await _recovered(workspace, "2999-01-01T00:00:00.000Z") == (
            "A restore that was cut off was taken back first: Make it.",
        )
        assert run_git(repo, "worktree", "list").count("\n") == 0
        assert sorted(path.name for path in tmp_path.iterdir() if "repo" not in path.name) == []
        assert _place(workspace, session) == []
