import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from resumed.daemon.cli.failures import Failure
from resumed.daemon.cli.launching import prepare, start
from resumed.protocol.restore import LaunchPlan, LaunchStep
from tests.support.wire import environment

REQUESTS: tuple[dict[str, object], ...] = (
    {"id": 0, "method": "initialize"},
    {"method": "initialized"},
    {"id": 1, "method": "goal/set", "params": {"status": "paused"}},
)
SERVER = """
import json, os, sys
heard = open(sys.argv[1], "a")
print("some banner", flush=True)
for line in sys.stdin:
    message = json.loads(line)
    heard.write(json.dumps([message["method"], os.getcwd(), os.environ.get("MODE")]) + "\\n"); heard.flush()
    if "id" not in message:
        continue
    print(json.dumps({"id": message["id"], "method": "a request of its own"}), flush=True)
    {answer}
"""
ANSWERS = 'print(json.dumps({"id": message["id"], "result": {}}), flush=True)'
REFUSES = 'print(json.dumps({"id": message["id"], "error": {"message": "no such goal"}}), flush=True)'
STARTER = """
import sys
from resumed.daemon.cli.failures import Failure
from resumed.daemon.cli.launching import prepare, start
from resumed.protocol.restore import LaunchPlan
import msgspec
try:
    plan = msgspec.json.decode(sys.argv[1].encode(), type=LaunchPlan)
    start(plan, prepare(plan, lambda step: None))
except Failure as failure:
    print("FAILED", failure.sentence, failure.hint)
"""


def plan(folder: Path, *argv: str, answer: str | None = None, **more: Any) -> LaunchPlan:
    steps: tuple[LaunchStep, ...] = ()
    if answer is not None:
        server = folder / "server.py"
        server.write_text(SERVER.replace("{answer}", answer))
        argv_of_step = (sys.executable, str(server), str(folder / "heard"))
        steps = (LaunchStep(title="Pause the goal", argv=argv_of_step, requests=REQUESTS),)
    return LaunchPlan(argv=argv or ("true",), folder=str(folder), before=steps, **more)


def heard(folder: Path) -> list[Any]:
    return [json.loads(line) for line in (folder / "heard").read_text().splitlines()]


def started(launch: LaunchPlan, cwd: Path, **more: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", STARTER, msgspec.json.encode(launch).decode()],
        cwd=cwd,
        env=environment(**more),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_steps_before_are_spoken_to_in_order_in_the_folder(tmp_path: Path) -> None:
    done: list[LaunchStep] = []
    launch = plan(tmp_path, answer=ANSWERS, environment={"MODE": "careful"})
    prepare(launch, done.append)
    assert heard(tmp_path) == [
        [name, str(tmp_path), "careful"] for name in ("initialize", "initialized", "goal/set")
    ]
    assert done == list(launch.before)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (REFUSES, "refused: no such goal"),
        ("sys.exit(3)", "ended without an answer"),
        ('print(json.dumps({"id": message["id"]}), flush=True)', "refused: without saying why"),
    ],
)
def test_a_step_that_fails_is_named_and_ends_it(tmp_path: Path, answer: str, why: str) -> None:
    done: list[LaunchStep] = []
    with pytest.raises(Failure, match=why) as failed:
        prepare(plan(tmp_path, answer=answer), done.append)
    assert failed.value.sentence.startswith("“Pause the goal” failed: ")
    assert failed.value.hint == "The agent was not started."
    assert [method for method, *_ in heard(tmp_path)] == ["initialize"]
    assert done == []


def test_a_step_without_an_answer_ends_at_its_deadline(tmp_path: Path) -> None:
    with pytest.raises(Failure, match=r"did not answer within 0\.5 s"):
        prepare(plan(tmp_path, answer="pass"), lambda step: None, seconds=0.5)


def test_a_step_whose_program_is_not_there_is_named(tmp_path: Path) -> None:
    step = LaunchStep(title="Pause the goal", argv=("no-such-program",), requests=REQUESTS)
    with pytest.raises(Failure, match="no-such-program is not installed"):
        prepare(LaunchPlan(argv=("true",), folder=str(tmp_path), before=(step,)), lambda step: None)


def test_nothing_is_prepared_for_a_folder_that_is_gone(tmp_path: Path) -> None:
    launch = plan(tmp_path, answer=ANSWERS)
    gone = LaunchPlan(argv=("true",), folder=str(tmp_path / "gone"), before=launch.before)
    with pytest.raises(Failure, match="is not there any more"):
        prepare(gone, lambda step: None)
    assert not (tmp_path / "heard").exists()


def test_the_agent_is_started_in_the_planned_folder_with_its_environment(tmp_path: Path) -> None:
    program = "import os, sys; print(os.getcwd(), os.environ['PWD'], os.environ['MODE'], sys.argv[1:])"
    folder = tmp_path / "my project"
    folder.mkdir()
    launch = plan(folder, sys.executable, "-c", program, "it's", "$HOME", environment={"MODE": "careful"})
    done = started(launch, tmp_path)
    assert done.stdout == f"{folder} {folder} careful {['it' + chr(39) + 's', '$HOME']!r}\n"
    assert done.returncode == 0


def test_the_agent_s_exit_code_is_ours(tmp_path: Path) -> None:
    assert started(plan(tmp_path, sys.executable, "-c", "raise SystemExit(7)"), tmp_path).returncode == 7


def test_signals_that_we_ignore_are_not_ignored_by_the_agent(tmp_path: Path) -> None:
    done = started(plan(tmp_path, "/bin/sh", "-c", "kill -PIPE $$; echo survived"), tmp_path)
    assert done.stdout == ""


def test_the_agent_is_started_nowhere_else(tmp_path: Path) -> None:
    marker = tmp_path / "started"
    program = (sys.executable, "-c", f"open({str(marker)!r}, 'w')")
    file = tmp_path / "file"
    file.touch()
    for folder in (tmp_path / "gone", file):
        done = started(plan_for(folder, program), tmp_path)
        assert done.stdout.startswith(f"FAILED {folder} is not there any more, or is no folder.")
        assert "not started anywhere else" in done.stdout
    assert not marker.exists()


def plan_for(folder: Path, argv: tuple[str, ...]) -> LaunchPlan:
    return LaunchPlan(argv=argv, folder=str(folder))


def test_a_program_in_the_project_is_not_taken_for_the_agent(tmp_path: Path) -> None:
    trap = tmp_path / "project" / "agent"
    trap.parent.mkdir()
    trap.write_text("#!/bin/sh\necho trapped\n")
    trap.chmod(0o755)
    done = started(plan_for(trap.parent, ("agent",)), tmp_path, PATH=f".:{os.environ['PATH']}")
    assert done.stdout == "FAILED agent is not installed, or not on the PATH. The agent was not started.\n"


def test_the_agent_is_not_started_in_an_impostor_of_the_folder(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    launch = plan(work)
    folder = prepare(launch, lambda step: None)
    work.rename(tmp_path / "away")
    work.mkdir()
    with pytest.raises(Failure, match="another folder"):
        start(launch, folder)
    os.close(folder)


@pytest.mark.parametrize("told", ["{}", "None", '{"goal": {"status": "active"}}', '{"goal": "paused"}'])
def test_an_answer_that_did_not_do_it_is_no_success(tmp_path: Path, told: str) -> None:
    answer = f'print(json.dumps({{"id": message["id"], "result": {told}}}), flush=True)'
    launch = plan(tmp_path, answer=answer)
    step = msgspec.structs.replace(launch.before[0], expected={"goal": {"status": "paused"}})
    with pytest.raises(Failure, match="did not do it"):
        prepare(msgspec.structs.replace(launch, before=(step,)), lambda step: None)
