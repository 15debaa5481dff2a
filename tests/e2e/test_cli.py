"""The installed program, each command against a real daemon: what it prints and how it ends."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from resumed.daemon.runtime import place_of
from resumed.protocol.daemon import StatusResult
from resumed.protocol.restore import RestoreReport, Wire
from resumed.protocol.resume import DriftCheckResult
from resumed.protocol.threads import NameSetResult, ThreadListResult, ThreadReadResult
from tests.support.codex import git
from tests.support.command_line import (
    AS_LEFT,
    CUT_OFF,
    IN_WORKTREE,
    PROGRAM,
    Terminal,
    recorded_workspace,
    run,
    stopping_daemons,
)
from tests.support.repository import every_byte
from tests.support.wire import DEADLINE, connects, wait_for

CHOOSE = "leave everything as it is "
THREE = ("v171_on_request_two_turns", "v171_sigkill_midturn", "v171_worktree_workspace_write")
AGENT = """#!/usr/bin/env python3
import json, os, sys
with open(os.environ["AGENT_LOG"], "a") as log:
    log.write(json.dumps([sys.argv[1:], os.getcwd()]) + "\\n")
if sys.argv[1] == "app-server":
    for line in sys.stdin:
        request = json.loads(line)
        if "id" in request:
            paused = {"result": {"goal": {"status": "paused"}}}
            answer = {"error": {"message": "no"}} if os.environ.get("AGENT_REFUSES") else paused
            print(json.dumps({"id": request["id"], **answer}), flush=True)
else:
    print("the agent runs", flush=True)
    sys.exit(7)
"""


@pytest.fixture
def workspace(hermetic_home: Path) -> Iterator[Path]:
    with stopping_daemons():
        yield recorded_workspace(hermetic_home, THREE)


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program named codex, first on the PATH, that notes how it was started; returns its notes."""
    program = tmp_path / "bin" / "codex"
    program.parent.mkdir()
    program.write_text(AGENT)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("AGENT_LOG", str(tmp_path / "agent.log"))
    return tmp_path / "agent.log"


def noted(log: Path) -> list[Any]:
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


@pytest.mark.parametrize(
    ("arguments", "result", "code"),
    [
        (("threads",), ThreadListResult, 0),
        (("threads", "--all", "--limit", "1"), ThreadListResult, 0),
        (("threads", "--archived"), ThreadListResult, 0),
        (("show", AS_LEFT), ThreadReadResult, 0),
        (("check", AS_LEFT), DriftCheckResult, 0),
        (("check", CUT_OFF), DriftCheckResult, 3),
        (("resume", AS_LEFT), RestoreReport, 0),
        (("resume", CUT_OFF), RestoreReport, 3),
        (("resume", CUT_OFF, "--defaults"), RestoreReport, 3),
        (("name", AS_LEFT, "Rounding"), NameSetResult, 0),
        (("status",), StatusResult, 0),
    ],
)
def test_json_is_the_result_alone(
    workspace: Path, arguments: tuple[str, ...], result: type[Wire], code: int
) -> None:
    done = run(workspace, *arguments, "--json")
    assert (done.returncode, done.stderr) == (code, "")
    value = msgspec.json.decode(done.stdout, type=result)
    assert json.loads(done.stdout) == json.loads(msgspec.json.encode(value))


def test_threads_are_listed_in_their_groups(workspace: Path) -> None:
    done = run(workspace, "threads")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert lines[0] == "This project"
    assert lines[-3:-1] == ["Its worktrees", "  ~/dev/repo-wt"]
    # How much of the name fits depends on how long ago it was, in words.
    name, _, _ = lines[-1].strip().partition("   ")
    assert IN_WORKTREE.startswith(name.rstrip("…"))
    assert len(name) > len("[[bare]]")
    assert "\x1b" not in done.stdout


def test_a_subfolder_is_of_the_same_workspace(workspace: Path) -> None:
    (workspace / "below").mkdir()
    done = run(workspace / "below", "status", "--json")
    assert json.loads(done.stdout)["root"] == str(workspace)
    linked = json.loads(run(workspace, "status", "--json", "--workspace", "../repo-wt").stdout)
    assert linked["root"] == str(workspace.parent / "repo-wt")


def test_show_is_for_people(workspace: Path) -> None:
    done = run(workspace, "show", "rounding")
    assert done.returncode == 0
    assert done.stdout.startswith(f"“{AS_LEFT}” (Codex 0.171.0)\n")
    assert "  Where        ~/dev/repo, fix/payment, d585eef" in done.stdout
    assert "46,261 tokens in (23,130 from cache), 600 out; price not known\n" in done.stdout
    assert "depends on the agent's own file" in done.stdout
    assert done.stdout.endswith(
        "  Go on: resumed resume rounding\n  What changed since: resumed check rounding\n"
    )


@pytest.mark.parametrize("command", ["show", "check", "resume"])
def test_a_name_that_fits_nothing_or_too_much_is_an_error(workspace: Path, command: str) -> None:
    done = run(workspace, command, "bananas")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "✗ There is no conversation “bananas”.\n  resumed threads --all lists them.\n"
    done = run(workspace, command, "[[")
    assert done.returncode == 1
    assert done.stderr.splitlines()[0] == "✗ “[[” fits 3 conversations."
    assert f"  {CUT_OFF}" in done.stderr.splitlines()


def test_check_touches_nothing_and_says_what_would_be_asked(workspace: Path) -> None:
    before = every_byte(workspace)
    done = run(workspace, "check", "kill")
    assert done.returncode == 3
    assert "worktree.branchDeleted  The branch feature/x was deleted.\n" in done.stdout
    assert run(workspace, "check", "rounding").returncode == 0
    assert every_byte(workspace) == before


@pytest.mark.parametrize(
    ("put", "words"),
    [
        (Path.mkdir, "a folder is there now"),
        (os.mkfifo, "something that is not a file is there now"),
        (lambda path: path.symlink_to("README.md"), "a link is there now"),
    ],
)
def test_what_stands_where_a_file_was_is_said(
    workspace: Path, put: Callable[[Path], None], words: str
) -> None:
    touched = workspace / "note_20.txt"
    touched.unlink()
    put(touched)
    for arguments in (("check", "rounding"), ("resume", "rounding"), ("resume", "rounding", "--defaults")):
        said = " ".join(run(workspace, *arguments).stdout.split())
        assert words in said
        assert "other text" not in said
        assert "Read it again" not in said


def test_settings_that_cannot_be_read_are_named_with_their_line(workspace: Path, hermetic_home: Path) -> None:
    settings = hermetic_home / "state" / "settings.toml"
    settings.parent.mkdir(0o700)
    settings.write_text('[permissions]\n\nsandbox "read-only"\n')
    wrong = "~/state/settings.toml cannot be read: line 3 is not valid TOML"
    for command in ("check", "resume"):
        said = " ".join(run(workspace, command, "rounding").stdout.split())
        assert f"What the policy here allows is not known. {wrong}" in said
        assert f"what the policy here allows ({wrong}" in said


def test_as_left_is_ready_with_its_command(workspace: Path) -> None:
    done = run(workspace, "resume", "rounding")
    assert done.returncode == 0
    assert done.stdout.startswith("✓ Ready to continue “[[bare]] fix the rounding” (Codex).\n")
    assert "  Where      ✓ ~/dev/repo, fix/payment, d585eef\n" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("  Start        codex resume 01a22dbd-6721-")
    assert "✓ Record where it runs\n" in done.stderr


def test_with_nobody_to_ask_a_place_that_differs_stops_everything(workspace: Path) -> None:
    git(workspace, "switch", "--quiet", "--discard-changes", "main")
    before = every_byte(workspace)
    for more in ((), ("--defaults",)):
        done = run(workspace, "resume", "rounding", *more)
        assert done.returncode == 3
        assert done.stdout.startswith("✗ Not resumed yet: You are on a different branch.")
        assert "  branch      fix/payment (d585eef)   main (" in done.stdout
        assert "  Answer: resumed resume rounding --answer worktree.branchDiffers=" in done.stdout
    assert every_byte(workspace) == before


def test_from_another_project_it_says_where_to_go(workspace: Path) -> None:
    done = run(workspace, "resume", "in the worktree")
    assert done.returncode == 3
    assert "  folder      ~/dev/repo-wt                  ~/dev/repo\n" in done.stdout
    assert '  Go on: cd ~/dev/repo-wt && resumed resume "in the worktree"\n' in done.stdout
    assert '  Just read: resumed show "in the worktree"\n' in done.stdout


def test_answers_in_advance_end_partly_restored(workspace: Path) -> None:
    answers = ("worktree.branchDeleted=stay", "permissions.neverAsk=never:skip")
    options = [word for answer in answers for word in ("--answer", answer)]
    done = run(workspace, "resume", "kill", "--defaults", *options)
    assert done.returncode == 4
    assert done.stdout.startswith("! Ready to continue “[[slow]] kill me” (Codex), 1 part out of date.\n")
    assert "  First      ! Pause the goal, so that nothing starts by itself: " in done.stdout


def test_a_choice_that_is_not_possible_is_wrong_usage(workspace: Path) -> None:
    git(workspace, "switch", "--quiet", "--discard-changes", "main")
    (workspace / "README.md").write_text("in the way\n")
    before = every_byte(workspace)
    for more in ((), ("--defaults",)):
        done = run(workspace, "resume", "rounding", "--answer", "worktree.branchDiffers=switch", *more)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith("✗ “Switch this folder back to fix/payment” is not possible yet: ")
    assert every_byte(workspace) == before


def test_a_name_is_given(workspace: Path) -> None:
    done = run(workspace, "name", "rounding", "Payments: rounding")
    assert (done.returncode, done.stdout) == (0, "✓ It is called “Payments: rounding” now.\n")
    assert "    Payments: rounding " in run(workspace, "threads").stdout


def test_a_busy_conversation_names_its_holder(workspace: Path) -> None:
    with Terminal(workspace, "resume", "kill") as terminal:
        terminal.wait_for(CHOOSE)
        done = run(workspace, "resume", "kill")
        assert (done.returncode, done.stdout) == (1, "")
        first, second, *_ = done.stderr.splitlines()
        assert first == "✗ This conversation is open elsewhere: resumed in a terminal."
        assert second.startswith("  Held by resumed in a terminal (process ")
        assert "s ago." in second
        terminal.enter("q")
        assert terminal.exit_code() == 4
    assert run(workspace, "resume", "kill").returncode == 3


def test_questions_are_asked_on_a_terminal(workspace: Path) -> None:
    with Terminal(workspace, "resume", "kill") as terminal:
        assert "1 of 2  The branch feature/x was deleted\n" in terminal.wait_for(CHOOSE)
        terminal.enter("d")
        assert "  branch      feature/x (d585eef)   fix/payment (d585eef)\n" in terminal.wait_for(CHOOSE)
        terminal.enter("w")
        assert "With nobody to ask: it is left as it is.\n" in terminal.wait_for(CHOOSE)
        terminal.enter("2")
        assert "2 of 5  Last time it could change anything on this computer\n" in terminal.wait_for(CHOOSE)
        terminal.enter("2")
        terminal.wait_for("go back ")
        terminal.enter("full")
        for number in (3, 4, 5):
            assert f"{number} of 5  " in terminal.wait_for(CHOOSE)
            terminal.enter("1")
        assert terminal.exit_code() == 4
    assert "✓ Record what became of the actions that were cut off\n" in terminal.seen
    assert "! Ready to continue “[[slow]] kill me” (Codex), 1 part out of date.\n" in terminal.seen
    assert "-s danger-full-access -a on-request" in terminal.seen


@pytest.mark.parametrize("leave", ["q", "escape", "end", "interrupt"])
def test_leaving_changes_nothing(workspace: Path, leave: str) -> None:
    before = every_byte(workspace)
    with Terminal(workspace, "resume", "kill") as terminal:
        terminal.wait_for(CHOOSE)
        terminal.enter("1")
        terminal.wait_for(CHOOSE)
        keys = {
            "q": lambda: terminal.enter("q"),
            "escape": terminal.escape,
            "end": terminal.end_input,
            "interrupt": terminal.interrupt,
        }
        keys[leave]()
        assert terminal.exit_code() == 4
    assert "- Left as it is. Nothing was changed or started.\n" in terminal.seen
    assert "Traceback" not in terminal.seen
    assert every_byte(workspace) == before


def test_just_read_on_a_terminal_is_done(workspace: Path) -> None:
    with Terminal(workspace, "resume", "kill") as terminal:
        terminal.wait_for(CHOOSE)
        terminal.enter("3")
        assert terminal.exit_code() == 0
    assert "- Only reading “[[slow]] kill me” (Codex)." in terminal.seen


def test_a_given_answer_that_is_not_possible_cancels_on_a_terminal(workspace: Path) -> None:
    git(workspace, "switch", "--quiet", "--discard-changes", "main")
    (workspace / "README.md").write_text("in the way\n")
    before = every_byte(workspace)
    with Terminal(workspace, "resume", "rounding", "--answer", "worktree.branchDiffers=switch") as terminal:
        assert terminal.exit_code() == 2
    assert "is not possible yet" in terminal.seen
    assert every_byte(workspace) == before


def test_exec_becomes_the_agent(workspace: Path, agent: Path) -> None:
    done = run(workspace, "resume", "rounding", "--exec")
    assert done.returncode == 7
    assert done.stdout.endswith("the agent runs\n")
    ((argv, folder),) = noted(agent)
    assert argv[:3] == ["resume", "01a22dbd-6721-7b02-8d3d-d77a010ed4f3", "-C"]
    assert folder == str(workspace)


def consent_to(terminal: Terminal) -> None:
    """Stay on the branch, take every suggestion, and come to the question whether to start."""
    terminal.wait_for(CHOOSE)
    terminal.enter("2")
    for _ in range(4):
        terminal.wait_for(CHOOSE)
        terminal.enter()
    terminal.wait_for("[Enter] / q ")


def test_exec_after_a_partial_restore_asks_first_and_pauses_the_goal(workspace: Path, agent: Path) -> None:
    with Terminal(workspace, "resume", "kill", "--exec") as terminal:
        consent_to(terminal)
        assert noted(agent) == []
        terminal.enter()
        assert terminal.exit_code() == 7
    assert [argv[0] for argv, _ in noted(agent)] == ["app-server", "resume"]
    assert "✓ Pause the goal, so that nothing starts by itself\n" in terminal.seen


def test_exec_without_consent_starts_nothing(workspace: Path, agent: Path) -> None:
    with Terminal(workspace, "resume", "kill", "--exec") as terminal:
        consent_to(terminal)
        terminal.enter("q")
        assert terminal.exit_code() == 4
    assert noted(agent) == []


def test_exec_starts_nothing_when_the_goal_cannot_be_paused(workspace: Path, agent: Path) -> None:
    with Terminal(workspace, "resume", "kill", "--exec", AGENT_REFUSES="1") as terminal:
        consent_to(terminal)
        terminal.enter()
        assert terminal.exit_code() == 1
    assert "failed: codex refused: no." in terminal.seen
    assert [argv[0] for argv, _ in noted(agent)] == ["app-server"]


def test_exec_starts_the_agent_nowhere_else(workspace: Path, agent: Path) -> None:
    with Terminal(workspace, "resume", "kill", "--exec") as terminal:
        consent_to(terminal)
        workspace.rename(workspace.with_name("moved"))
        terminal.enter()
        assert terminal.exit_code() == 1
    assert "The agent was not started anywhere else." in terminal.seen
    assert noted(agent) == []


def test_serve_refuses_a_workspace_that_is_served(workspace: Path) -> None:
    assert run(workspace, "status").returncode == 0
    done = run(workspace, "serve", "--workspace", ".")
    assert done.returncode == 1
    assert "already serves this workspace" in done.stderr
    assert "Traceback" not in done.stderr


def test_serve_runs_in_the_foreground_until_it_is_stopped(workspace: Path) -> None:
    with subprocess.Popen([PROGRAM, "serve", "--workspace", "."], cwd=workspace) as served:
        try:
            wait_for(lambda: connects(place_of(workspace).socket))
            status = json.loads(run(workspace, "status", "--json").stdout)
            assert status["pid"] == served.pid
        finally:
            served.terminate()
        assert served.wait(DEADLINE) == 0


def test_connect_bridges_standard_input_and_output(workspace: Path) -> None:
    client = {"name": "test", "version": "1"}
    requests: list[dict[str, Any]] = [
        {"id": 1, "method": "resumed/initialize", "params": {"protocolVersion": "1.0", "client": client}},
        {"id": 2, "method": "thread/list", "params": {}},
    ]
    done = subprocess.run(
        [PROGRAM, "connect", "--stdio"],
        cwd=workspace,
        input="".join(json.dumps({"jsonrpc": "2.0", **request}) + "\n" for request in requests),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    first, second = (json.loads(line) for line in done.stdout.splitlines() if '"id"' in line)
    assert first["result"]["root"] == str(workspace)
    assert len(second["result"]["threads"]) == 3


def test_no_heavy_library_is_imported_on_the_way(workspace: Path) -> None:
    program = (
        "import sys; from resumed.daemon.cli.main import main; "
        "main(sys.argv[1:], standalone_mode=False); "
        "print(*sorted({name.split('.')[0] for name in sys.modules}))"
    )
    for arguments in (("status",), ("threads",), ("show", "rounding"), ("check", "rounding")):
        done = subprocess.run(
            [sys.executable, "-c", program, *arguments],
            cwd=workspace,
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        imported = set(done.stdout.splitlines()[-1].split())
        assert {"click", "rich", "resumed"} <= imported
        assert not imported & {"pygls", "lsprotocol", "pygit2", "aiosqlite", "sqlite3"}
