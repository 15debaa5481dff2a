"""Conversations as a whole, from the command line and over the wire, with the daemon killed on the way."""

import contextlib
import json
from pathlib import Path

import pytest

from resumed.daemon.keeping.doctor import examine
from resumed.daemon.rpc.client import ConnectionLost
from resumed.daemon.runtime import state_folder
from resumed.protocol.errors import ErrorCode, ResumedError
from resumed.protocol.keeping import (
    ThreadArchiveParams,
    ThreadExportParams,
    ThreadImportParams,
    ThreadPurgeParams,
)
from resumed.protocol.resume import DriftCheckParams
from resumed.protocol.sessions import (
    AgentInfo,
    SessionEndParams,
    SessionStartParams,
    SessionStartResult,
    TurnCompleteParams,
    TurnStartParams,
)
from resumed.protocol.threads import ThreadListParams, ThreadReadParams
from tests.support import payments
from tests.support.command_line import AS_LEFT, Terminal, recorded_workspace, run, stopping_daemons
from tests.support.killed_agent import stream_bytes
from tests.support.wire import wait_for
from tests.support.workspace import client, serving

PHRASE = "the secret plan of the walrus"


async def played(folder: Path, runs: int = 2) -> str:
    """A conversation with this many runs that have ended; its id."""
    thread: str | None = None
    async with client(folder, name="mender") as agent:
        for number in range(runs):
            start = SessionStartParams(
                agent=AgentInfo(name="mender"), cwd=str(folder), thread_id=thread, name="Round"
            )
            started: SessionStartResult = await agent.call("session/start", start)
            thread = started.thread_id
            turn = await agent.call(
                "turn/start",
                TurnStartParams(session_id=started.session_id, message=f"{PHRASE} {number}"),
            )
            done = TurnCompleteParams(
                session_id=started.session_id, turn_id=turn.turn_id, token=turn.token, message="done"
            )
            await agent.call("turn/complete", done)
            await agent.call("session/end", SessionEndParams(session_id=started.session_id))
    assert thread is not None
    return thread


async def listed(folder: Path, *, archived: bool = False) -> dict[str, tuple[str, int, bool]]:
    """Name, runs and damage of the listed threads by id; nothing else may be noted."""
    async with client(folder) as connection:
        page = await connection.call("thread/list", ThreadListParams(scope="all", archived=archived))
    assert page.notes == ()
    return {each.thread_id: (each.name, each.runs, each.damaged) for each in page.threads}


def runs_on_disk() -> tuple[int, int]:
    """How many files of runs are among the days, and how many are put away."""
    home = state_folder()
    return len(list(home.glob("sessions/*/*/*/*"))), len(list(home.glob("archived_sessions/*")))


@pytest.mark.parametrize("point", ["moving.place", "moving.placed", "moving.remove"])
async def test_a_daemon_killed_while_it_puts_away_has_it_put_away_at_the_next_start(
    tmp_path: Path, point: str
) -> None:
    with serving(tmp_path) as daemon:
        thread = await played(tmp_path)
        for n in (1, 2):
            daemon.stop()
            daemon.start_again(RESUMED_FAILPOINT=f"{point}:{n}")
            async with client(tmp_path) as connection:
                with contextlib.suppress(ConnectionLost):
                    await connection.call("thread/archive", ThreadArchiveParams(thread_id=thread))
            daemon.wait_ended()
            daemon.start_again()
            assert await listed(tmp_path, archived=True) == {thread: ("Round", 2, False)}
            assert await listed(tmp_path) == {}
            wait_for(lambda: runs_on_disk() == (0, 2))
            assert await listed(tmp_path, archived=True) == {thread: ("Round", 2, False)}
            async with client(tmp_path) as connection:
                await connection.call("thread/unarchive", ThreadArchiveParams(thread_id=thread))
                told = await connection.call("thread/read", ThreadReadParams(thread=thread))
            assert (told.damage, len(told.runs)) == ((), 2)
            assert runs_on_disk() == (2, 0)


async def test_a_thread_that_its_agent_runs_is_not_put_away(tmp_path: Path) -> None:
    with serving(tmp_path):
        async with client(tmp_path, name="mender") as agent, client(tmp_path) as other:
            start = SessionStartParams(agent=AgentInfo(name="mender"), cwd=str(tmp_path))
            started = await agent.call("session/start", start)
            with pytest.raises(ResumedError) as refused:
                await other.call("thread/archive", ThreadArchiveParams(thread_id=started.thread_id))
            assert refused.value.code is ErrorCode.THREAD_BUSY
            assert refused.value.data.holder is not None
            assert refused.value.data.holder.name == "mender"


def test_put_away_and_brought_back_from_the_command_line(hermetic_home: Path) -> None:
    with stopping_daemons():
        workspace = recorded_workspace(hermetic_home)
        done = run(workspace, "archive", AS_LEFT)
        assert done.returncode == 0, done.stderr
        assert f"“{AS_LEFT}” is put away. It can still be shown and resumed." in done.stdout
        assert "stays where it is." in done.stdout.replace("\n", " ").replace("  ", " ")
        assert AS_LEFT not in run(workspace, "threads").stdout
        assert AS_LEFT in run(workspace, "threads", "--archived").stdout
        assert "was put away before" in run(workspace, "archive", AS_LEFT).stdout
        assert "is back in the list" in run(workspace, "unarchive", AS_LEFT).stdout
        assert AS_LEFT in run(workspace, "threads").stdout
        missing = run(workspace, "archive", "nothing of that name")
        assert missing.returncode == 1
        assert "There is no conversation" in missing.stderr


def holding(phrase: str) -> list[str]:
    """The files of the state folder that hold a phrase."""
    home = state_folder()
    return [
        str(path.relative_to(home))
        for path in sorted(home.rglob("*"))
        if path.is_file() and phrase.encode() in path.read_bytes()
    ]


@pytest.mark.parametrize(
    "point", ["purge.begun", "purge.file", "purge.files", "purge.contents", "purge.indexes"]
)
async def test_a_daemon_killed_while_it_removes_has_removed_it_at_the_next_start(
    tmp_path: Path, point: str
) -> None:
    with serving(tmp_path) as daemon:
        thread, other = await played(tmp_path), await played(tmp_path, 1)
        last = 3 if point == "purge.file" else 1
        for n in range(1, last + 1):
            daemon.stop()
            daemon.start_again(RESUMED_FAILPOINT=f"{point}:{n}")
            async with client(tmp_path) as connection:
                with contextlib.suppress(ConnectionLost):
                    await connection.call("thread/purge", ThreadPurgeParams(thread_id=thread))
            daemon.wait_ended()
            daemon.start_again()
            assert (await listed(tmp_path)).keys() == {other}
            async with client(tmp_path) as connection:
                with pytest.raises(ResumedError) as refused:
                    await connection.call("thread/read", ThreadReadParams(thread=thread))
            assert refused.value.code is ErrorCode.THREAD_NOT_FOUND
            assert not list((state_folder() / "purges").iterdir())
            assert {path.suffix for path in state_folder().rglob(f"*{thread}*")} <= {".lock"}
            thread = await played(tmp_path)


async def test_nothing_of_what_was_removed_is_left_anywhere(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    with serving(second):
        # An index that nobody serves later.
        await listed(second)
    with serving(first) as daemon:
        thread = await played(first)
        with serving(second):
            assert (await listed(second)).keys() == {thread}
        assert holding(PHRASE)
        async with client(first) as connection:
            result = await connection.call("thread/purge", ThreadPurgeParams(thread_id="round"))
        assert (result.thread_id, result.name, result.files) == (thread, "Round", 3)
        daemon.stop()
        assert holding(PHRASE) == []
        assert holding("Round") == []


async def test_another_process_forgets_what_was_removed(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    with serving(first), serving(second) as other:
        thread, kept = await played(first), await played(first, 1)
        assert (await listed(second)).keys() == {thread, kept}
        async with client(first) as connection:
            await connection.call("thread/purge", ThreadPurgeParams(thread_id=thread))
        assert examine(state_folder()).is_sound
        assert (await listed(second)).keys() == {kept}
        assert (await listed(first)).keys() == {kept}
        other.stop()
        assert holding(f"{PHRASE} 1") == []


async def test_a_thread_that_its_agent_runs_is_not_removed(tmp_path: Path) -> None:
    with serving(tmp_path):
        async with client(tmp_path, name="mender") as agent, client(tmp_path) as other:
            start = SessionStartParams(agent=AgentInfo(name="mender"), cwd=str(tmp_path))
            started = await agent.call("session/start", start)
            before = stream_bytes()
            with pytest.raises(ResumedError) as refused:
                await other.call("thread/purge", ThreadPurgeParams(thread_id=started.thread_id))
            assert refused.value.code is ErrorCode.THREAD_BUSY
            assert stream_bytes() == before


def test_removed_from_the_command_line_after_a_yes(hermetic_home: Path) -> None:
    with stopping_daemons():
        workspace = recorded_workspace(hermetic_home)
        agents = {path: path.read_bytes() for path in (hermetic_home / ".codex").rglob("*.jsonl")}
        assert run(workspace, "name", AS_LEFT, "Walrus").returncode == 0
        asked = run(workspace, "purge", "Walrus")
        assert asked.returncode == 3
        assert "Say so with --yes. Nothing was removed." in asked.stderr
        assert "Walrus" in run(workspace, "threads").stdout
        with Terminal(workspace, "purge", "Walrus") as terminal:
            terminal.wait_for("Type yes to remove it:")
            terminal.enter("no")
            assert terminal.exit_code() == 4
        assert "Nothing was removed." in terminal.seen
        with Terminal(workspace, "purge", "Walrus") as terminal:
            terminal.wait_for("Type yes to remove it:")
            terminal.enter("yes")
            assert terminal.exit_code() == 0
        assert "“Walrus” is removed for good: 1 file" in terminal.seen
        assert "is listed from it again." in " ".join(terminal.seen.split())
        shown = run(workspace, "threads").stdout
        assert "Walrus" not in shown
        assert AS_LEFT in shown
        again = run(workspace, "purge", AS_LEFT, "--yes")
        assert again.returncode == 0
        assert "Nothing is kept here of" in again.stdout
        assert {path: path.read_bytes() for path in (hermetic_home / ".codex").rglob("*.jsonl")} == agents


def own_streams() -> dict[str, bytes]:
    """The files of threads and runs, by name."""
    return {Path(name).name: data for name, data in stream_bytes().items() if "worktrees" not in name}


@pytest.mark.parametrize(
    ("point", "most"),
    [("import.contents", 1), ("import.decided", 1), ("import.place", 3), ("import.placed", 1)],
)
async def test_a_daemon_killed_while_it_takes_in_has_taken_in_all_of_it_or_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, point: str, most: int
) -> None:
    work, target = tmp_path / "work", tmp_path / "round.tar.zst"
    work.mkdir()
    with serving(work):
        thread = await played(work)
        async with client(work) as connection:
            await connection.call("thread/export", ThreadExportParams(thread_id=thread, path=str(target)))
        sent = own_streams()
    for n in range(1, most + 1):
        monkeypatch.setenv("RESUMED_HOME", str(tmp_path / f"elsewhere {n}"))
        with serving(work, RESUMED_FAILPOINT=f"{point}:{n}") as daemon:
            async with client(work) as connection:
                with pytest.raises(ConnectionLost):
                    await connection.call("thread/import", ThreadImportParams(path=str(target)))
            daemon.wait_ended()
            daemon.start_again()
            taken_in = {thread: ("Round", 2, False)} if point != "import.contents" else {}
            assert await listed(work) == taken_in
            assert not list((state_folder() / "importing").iterdir())
            async with client(work) as connection:
                again = await connection.call("thread/import", ThreadImportParams(path=str(target)))
            assert again.status == ("present" if taken_in else "imported")
            found = {
                Path(name).name: data for name, data in stream_bytes().items() if "worktrees" not in name
            }
            assert found == sent


async def test_what_came_over_goes_on_in_the_same_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = payments.build_projects(tmp_path / "dev").payments
    target = tmp_path / "round.tar.zst"
    with serving(place.root):
        thread = await played(place.root, 1)
        async with client(place.root) as connection:
            await connection.call("thread/export", ThreadExportParams(thread_id=thread, path=str(target)))
            there = await connection.call("drift/check", DriftCheckParams(thread=thread))
    monkeypatch.setenv("RESUMED_HOME", str(tmp_path / "elsewhere"))
    with serving(place.root):
        async with client(place.root) as connection:
            await connection.call("thread/import", ThreadImportParams(path=str(target)))
            here = await connection.call("drift/check", DriftCheckParams(thread=thread))
        assert (here.drifts, here.question) == (there.drifts, there.question) == ((), None)
    with serving(tmp_path / "dev"):
        async with client(tmp_path / "dev") as connection:
            elsewhere = await connection.call("drift/check", DriftCheckParams(thread=thread))
        assert [drift.kind.value for drift in elsewhere.drifts] == ["otherProject"]


def test_carried_to_another_machine_from_the_command_line(
    hermetic_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with stopping_daemons():
        workspace = recorded_workspace(hermetic_home)
        assert run(workspace, "name", AS_LEFT, "Walrus").returncode == 0
        target = hermetic_home / "walrus.tar.zst"
        done = run(workspace, "export", "Walrus", "--to", "../../walrus.tar.zst")
        assert done.returncode == 0, done.stderr
        assert "“Walrus” is in ~/walrus.tar.zst" in done.stdout
        assert "take that along, too" in " ".join(done.stdout.split())
        assert "exists already" in run(workspace, "export", "Walrus", "--to", str(target)).stderr
        assert "is here already" in run(workspace, "import", str(target)).stdout
        monkeypatch.setenv("RESUMED_HOME", str(hermetic_home / "elsewhere"))
        done = run(workspace, "import", "../../walrus.tar.zst")
        assert done.returncode == 0, done.stderr
        assert "“Walrus” is here now" in done.stdout
        assert "Walrus" in run(workspace, "threads").stdout
        target.write_bytes(target.read_bytes()[:-1])
        refused = run(workspace, "import", str(target))
        assert refused.returncode == 1
        assert "its end is missing" in refused.stderr


def test_examined_and_mended_from_the_command_line(hermetic_home: Path) -> None:
    with stopping_daemons():
        workspace = recorded_workspace(hermetic_home)
        assert run(workspace, "name", AS_LEFT, "Walrus").returncode == 0
        whole = run(workspace, "doctor")
        assert whole.returncode == 0
        assert "need you" not in whole.stdout
        (thread,) = (state_folder() / "threads").iterdir()
        thread.chmod(0o644)
        found = run(workspace, "doctor")
        assert found.returncode == 4
        assert "[mode.file]" in found.stdout
        assert json.loads(run(workspace, "doctor", "--json").stdout)["isSound"] is False
        mended = run(workspace, "doctor", "--repair")
        assert mended.returncode == 0
        assert "Repaired." in mended.stdout
        assert thread.stat().st_mode & 0o777 == 0o600
        shown = run(workspace, "status", "--privacy")
        assert shown.stdout.startswith("✓ Leaves this machine: nothing.")
        told = json.loads(run(workspace, "status", "--privacy", "--json").stdout)
        assert (told["leaves"], told["kept"][0]["files"]) == ([], 1)


async def test_a_folder_is_examined_while_processes_are_at_work(tmp_path: Path) -> None:
    with serving(tmp_path):
        await played(tmp_path)
        async with client(tmp_path, name="mender") as agent:
            start = SessionStartParams(agent=AgentInfo(name="mender"), cwd=str(tmp_path))
            await agent.call("session/start", start)
            assert {finding.kind for finding in examine(state_folder()).findings} <= {"index.behind"}
