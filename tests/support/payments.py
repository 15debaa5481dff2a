"""A story of two projects: an agent edits `payments` on `fix/payment`, and dies with a command open.

The agent is a process of its own that speaks to the daemon; what it edits are real files.
"""

import contextlib
import json
import os
import select
import subprocess
import sys
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.support.repository import Repository, make_repository
from tests.support.wire import DEADLINE

AGENT = Path(__file__).with_name("agent_program.py")
NAME = "Fix payment rounding"
CUT_OFF = "pytest -x tests"
CHECK = "pytest tests"
NEXT = "Round JPY to whole yen"
EDITED = ("rounding.py", "test_rounding.py")

ROUNDING = "def rounded(amount: float, currency: str) -> float:\n    return round(amount, 2)\n"
TESTS = (
    "from rounding import rounded\n\n\ndef test_euro() -> None:\n    assert rounded(1.234, 'EUR') == 1.23\n"
)
NEW_ROUNDING = (
    "from currencies import DIGITS\n\n\n"
    "def rounded(amount: float, currency: str) -> float:\n"
    "    return round(amount, DIGITS.get(currency, 2))\n"
)
NEW_TESTS = f"{TESTS}\n\ndef test_jpy() -> None:\n    assert rounded(12.5, 'JPY') == 13\n"

TODOS = (
    ("Read how amounts are rounded today", "completed"),
    ("List the digits of each currency", "completed"),
    ("Round by the currency's digits", "completed"),
    (NEXT, "pending"),
    ("Round half to even", "pending"),
)

Step = dict[str, Any]


class Projects(NamedTuple):
    """The right project and another one. Both are on `main` with one commit; `payments` also has the
    branch `fix/payment`, one commit ahead, which leaves the files the agent edits as they are."""

    payments: Repository
    storefront: Repository


class Killed(NamedTuple):
    """What the agent that was killed had been told: its thread, its run, and every answer."""

    thread_id: str
    session_id: str
    answers: list[dict[str, Any]]


def build_projects(folder: Path) -> Projects:
    """Make both repositories; `payments` is left on `fix/payment`."""
    payments = make_repository(folder / "repo-a")
    payments.git("remote", "add", "origin", "https://example.invalid/acme/payments.git")
    payments.commit(
        {"README.md": "# Payments\n", "rounding.py": ROUNDING, "test_rounding.py": TESTS}, "Begin"
    )
    payments.git("switch", "--quiet", "--create", "fix/payment")
    payments.commit(
        {"README.md": "# Payments\n\nAmounts have the digits of their currency.\n", "currencies.py": DIGITS},
        "Name the digits of each currency",
    )
    storefront = make_repository(folder / "repo-b")
    storefront.git("remote", "add", "origin", "https://example.invalid/acme/storefront.git")
    storefront.commit({"README.md": "# Storefront\n"}, "Begin")
    return Projects(payments, storefront)


DIGITS = "DIGITS = {'EUR': 2, 'JPY': 0}\n"


def story(root: Path) -> list[Step]:
    """What the agent does in `root` up to the moment it dies: two edits, a check, a command left open."""
    return [
        call("session/start", **session(root)),
        call("turn/start", message="Round amounts as each currency needs it."),
        *action("read-1", "read_file", {"path": "rounding.py"}, kind="read", paths=["rounding.py"]),
        *edit("edit-1", root / "rounding.py", NEW_ROUNDING),
        *edit("edit-2", root / "test_rounding.py", NEW_TESTS),
        *action("test-1", "run", {"command": CHECK}, result="7 passed, 2 failed"),
        event("check_recorded", **seven_of_nine()),
        call("todos/update", items=[todo(n, *item) for n, item in enumerate(TODOS, 1)]),
        event("usage_recorded", **usage("request-1", 1.84)),
        call("operation/begin", operationId="test-2", tool="run", args={"command": CUT_OFF}),
    ]


def session(root: Path) -> dict[str, Any]:
    """The parameters of `session/start` for a new thread in `root`."""
    return {
        "agent": {"name": "mender", "version": "1.2"},
        "cwd": str(root),
        "name": NAME,
        "model": "sol-2",
        "provider": "example",
        "permissions": {"approval": "on-request", "sandbox": "workspace-write"},
    }


def seven_of_nine() -> dict[str, Any]:
    """The check of the story; its input files are hashed by the daemon."""
    return {
        "check_id": "tests",
        "command": CHECK,
        "result": "failed",
        "passed": 7,
        "total": 9,
        "findings": ["half_even", "jpy"],
        "inputs": dict.fromkeys(EDITED, ""),
    }


def usage(usage_id: str, cost: float | None) -> dict[str, Any]:
    """One request's tokens."""
    return {
        "usage_id": usage_id,
        "input_tokens": 61_000,
        "cached_tokens": 52_000,
        "output_tokens": 1_900,
        "cost": cost,
    }


def todo(number: int, text: str, status: str) -> dict[str, str]:
    """One item of a list."""
    return {"id": str(number), "text": text, "status": status}


def call(method: str, **params: Any) -> Step:
    """A request."""
    return {"call": method, "params": params}


def event(kind: str, **payload: Any) -> Step:
    """An event of the union, under a fresh id."""
    return call("event/append", eventId=str(uuid.uuid4()), type=kind, payload=payload)


def edit(operation_id: str, path: Path, text: str) -> list[Step]:
    """An edit of one file: announced, made, settled."""
    begun = call(
        "operation/begin",
        operationId=operation_id,
        tool="edit_file",
        args={"path": path.name},
        kind="write",
        paths=[str(path)],
    )
    return [begun, {"write": str(path), "text": text}, call("operation/commit", operationId=operation_id)]


def action(operation_id: str, tool: str, args: dict[str, Any], **more: Any) -> list[Step]:
    """A tool call that is begun and committed; `result` goes to its end, the rest to its beginning."""
    result = more.pop("result", "")
    return [
        call("operation/begin", operationId=operation_id, tool=tool, args=args, **more),
        call("operation/commit", operationId=operation_id, exitCode=0, result=result),
    ]


def play_until_killed(folder: Path, socket: Path, steps: Sequence[Step]) -> Killed:
    """Run the agent until it has done all steps, then SIGKILL it. Fails if a step was refused."""
    with agent(folder, socket, steps) as process:
        answers = list(_answers(process))
        process.kill()
        process.wait(DEADLINE)
    refused = [answer["error"] for answer in answers if "error" in answer]
    assert not refused, refused
    return Killed(answers[0]["threadId"], answers[0]["sessionId"], answers)


@contextlib.contextmanager
def agent(folder: Path, socket: Path, steps: Sequence[Step]) -> Iterator["subprocess.Popen[bytes]"]:
    """The agent's process; it is gone when the block ends. Its script is written to `folder`."""
    script = folder / "script.json"
    script.write_text(json.dumps(list(steps)), encoding="utf-8")
    process = subprocess.Popen(
        [sys.executable, str(AGENT), str(socket), str(script)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        env=dict(os.environ),
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait(DEADLINE)
        if process.stdout is not None:
            process.stdout.close()


def _answers(process: "subprocess.Popen[bytes]") -> Iterator[dict[str, Any]]:
    for line in _lines(process):
        answer = json.loads(line)
        if answer == "ready":
            return
        yield answer
    raise AssertionError(f"the agent ended by itself: {process.wait(DEADLINE)}")


def _lines(process: "subprocess.Popen[bytes]") -> Iterator[bytes]:
    assert process.stdout is not None
    pending = b""
    while select.select([process.stdout], [], [], DEADLINE)[0]:
        chunk = os.read(process.stdout.fileno(), 1 << 16)
        if not chunk:
            return
        *lines, pending = (pending + chunk).split(b"\n")
        yield from lines
    raise TimeoutError("the agent said nothing more")
