"""Starts the agent from a launch plan: what must happen before it, then the agent in our place.

No shell, no other folder than the planned one, and no agent when a step before it failed.
"""

import asyncio
import os
import shutil
import signal
from collections.abc import Callable
from typing import Any, NoReturn

from resumed.daemon.cli.failures import Failure
from resumed.protocol.converter import Malformed, decode_json, to_json
from resumed.protocol.restore import LaunchPlan, LaunchStep

STEP_SECONDS = 60.0
_END_SECONDS = 5.0
_LONGEST_LINE = 64 * 1024 * 1024
_NOT_STARTED = "The agent was not started."


def prepare(plan: LaunchPlan, done: Callable[[LaunchStep], None], seconds: float = STEP_SECONDS) -> int:
    """Run the steps before the start, each within `seconds`; `done` is told of each.

    Returns the planned folder, opened, for `start`. Raises `Failure` at the first step that fails.
    """
    folder = _opened(plan)
    for step in plan.before:
        program = _program(step.argv[0], plan)
        try:
            asyncio.run(asyncio.wait_for(_speak(step, program, plan), seconds))
        except TimeoutError as error:
            raise _failed(step, f"{step.argv[0]} did not answer within {seconds:g} s") from error
        done(step)
    return folder


def start(plan: LaunchPlan, folder: int) -> NoReturn:
    """Become the agent in the folder that `prepare` opened. Raises `Failure` when the folder is not at
    its place any more (the agent is also told its name), or the agent is gone."""
    program = _program(plan.argv[0], plan)
    now = _opened(plan)
    same = os.path.sameopenfile(now, folder)
    os.close(now)
    if not same:
        raise Failure(
            f"{plan.folder} is another folder than it was a moment ago.",
            "The agent was not started anywhere. Resume again to be asked where.",
        )
    os.fchdir(folder)
    os.close(folder)
    # Python ignores these two; a program that we become would inherit that.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    environment = {**os.environ, **plan.environment, "PWD": plan.folder}
    try:
        os.execve(program, plan.argv, environment)
    except OSError as error:
        raise Failure(f"{plan.argv[0]} can't be started: {error.strerror}.", _NOT_STARTED) from error


def _opened(plan: LaunchPlan) -> int:
    """Open the planned folder, so that what is entered is what was looked at."""
    try:
        return os.open(plan.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise Failure(
            f"{plan.folder} is not there any more, or is no folder.",
            "The agent was not started anywhere else. Resume again to be asked where.",
        ) from error


def _program(name: str, plan: LaunchPlan) -> str:
    """Find a program before the folder changes: a relative search path must not lead into the project."""
    found = shutil.which(name, path={**os.environ, **plan.environment}.get("PATH"))
    if found is None:
        raise Failure(f"{name} is not installed, or not on the PATH.", _NOT_STARTED)
    return os.path.abspath(found)


async def _speak(step: LaunchStep, program: str, plan: LaunchPlan) -> None:
    process = await asyncio.create_subprocess_exec(
        program,
        *step.argv[1:],
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        cwd=plan.folder,
        env={**os.environ, **plan.environment},
        limit=_LONGEST_LINE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    result: object = None
    try:
        for request in step.requests:
            process.stdin.write(to_json(request) + b"\n")
            await process.stdin.drain()
            if "id" in request:
                answer = await _answer(process.stdout, request["id"])
                result = _accept(step, answer)
        process.stdin.close()
        if not _holds(result, step.expected):
            raise _failed(step, f"{step.argv[0]} answered, but did not do it")
    except (ConnectionError, ValueError) as error:
        raise _failed(step, f"{step.argv[0]} went away or wrote no JSON") from error
    finally:
        await _end(process)


async def _answer(output: asyncio.StreamReader, identifier: object) -> dict[str, Any] | None:
    """The answer to a request; what else is said before it is passed over. `None` at the end."""
    while line := await output.readline():
        try:
            message = decode_json(line)
        except Malformed:
            continue
        if not isinstance(message, dict) or "method" in message:
            continue
        if message.get("id") == identifier and type(message["id"]) is type(identifier):
            return message
    return None


def _accept(step: LaunchStep, answer: dict[str, Any] | None) -> object:
    if answer is None:
        raise _failed(step, f"{step.argv[0]} ended without an answer")
    if "result" not in answer or answer.get("error") is not None:
        error = answer.get("error")
        said = error.get("message") if isinstance(error, dict) else None
        raise _failed(step, f"{step.argv[0]} refused: {said or 'without saying why'}")
    return answer["result"]


def _holds(result: object, expected: object) -> bool:
    """Whether a result has at least what is expected of it."""
    if not isinstance(expected, dict):
        return result == expected
    return isinstance(result, dict) and all(_holds(result.get(key), value) for key, value in expected.items())


async def _end(process: asyncio.subprocess.Process) -> None:
    """Let the program end by itself once its input is closed; then make it."""
    if process.stdin is not None:
        process.stdin.close()
    for stop in (process.terminate, process.kill):
        try:
            await asyncio.wait_for(process.wait(), _END_SECONDS)
            return
        except TimeoutError:
            if process.returncode is None:
                stop()
    await process.wait()


def _failed(step: LaunchStep, why: str) -> Failure:
    return Failure(f"“{step.title}” failed: {why}.", _NOT_STARTED)
