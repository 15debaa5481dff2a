"""The real Codex in tests: its home, its terminal, its app server. Nothing leaves loopback.

Where Codex is not installed a test is skipped, except in CI, where it must be there.
"""

import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pexpect
import pytest

from resumed.protocol.restore import LaunchPlan, LaunchStep

INSTALLED = Path(__file__).parents[2] / ".cache" / "codex" / "node_modules" / ".bin"
_QUERIES = {
    r"\x1b\[6n": "\x1b[1;1R",
    r"\x1b\[c": "\x1b[?62;c",
    r"\x1b\]10;\?": "\x1b]10;rgb:ffff/ffff/ffff\x1b\\",
    r"\x1b\]11;\?": "\x1b]11;rgb:0000/0000/0000\x1b\\",
}
_CONFIGURATION = """\
model = "gpt-5.5"
model_provider = "mock"
check_for_update_on_startup = false

[model_providers.mock]
name = "mock"
base_url = "{url}"
wire_api = "responses"
requires_openai_auth = false

[features]
daemon_auto_start = false

[notice.model_migrations]
"gpt-5.5" = "gpt-6-sol"

[projects."{trusted}"]
trust_level = "trusted"
"""


def require_codex() -> None:
    """Skip the test where Codex is not installed; in CI fail it."""
    if (INSTALLED / "codex").exists():
        return
    sentence = "Codex is not installed: run `make codex` with CI=true"
    if os.environ.get("CI") == "true":
        pytest.fail(sentence)
    pytest.skip(sentence)


def codex_environment(home: Path) -> dict[str, str]:
    """The environment of a Codex whose home is `<home>/.codex`, found first on the path."""
    return {
        "HOME": str(home),
        "CODEX_HOME": str(home / ".codex"),
        "PATH": f"{INSTALLED}{os.pathsep}{os.environ['PATH']}",
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
        "GIT_CONFIG_GLOBAL": os.devnull,
    }


def configure_codex(home: Path, url: str, trusted: Path) -> None:
    """Write a configuration with the recorded provider on this server and a trusted folder.

    No server of Codex's own stays behind, and its offer of a newer model counts as seen.
    """
    folder = home / ".codex"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.toml").write_text(_CONFIGURATION.format(url=url, trusted=trusted))


class CodexTerminal:
    """Codex under a pty, started from a launch plan's argv, folder and environment unchanged."""

    def __init__(self, plan: LaunchPlan, environment: Mapping[str, str]) -> None:
        self._child: pexpect.spawn[str] = pexpect.spawn(
            shutil.which(plan.argv[0], path=environment["PATH"]) or plan.argv[0],
            list(plan.argv[1:]),
            cwd=plan.folder,
            env={**environment, **plan.environment},
            dimensions=(40, 120),
            encoding="utf-8",
            timeout=30,
        )

    def __enter__(self) -> "CodexTerminal":
        return self

    def __exit__(self, *failure: object) -> None:
        self._child.close(force=True)

    def wait_for(self, words: str) -> None:
        """Wait until these words stand on the screen, answering what the program asks a terminal."""
        between = r"(?:\s|\x1b\[[0-9;?]*[A-Za-z])+"
        shown = between.join(re.escape(word) for word in words.split())
        replies = list(_QUERIES.values())
        while found := self._child.expect([shown, *_QUERIES]):
            self._child.send(replies[found - 1])

    def wait_for_end(self) -> int:
        """Wait until the program ends by itself; returns its exit code, of a signal the negative number."""
        replies = list(_QUERIES.values())
        while found := self._child.expect([pexpect.EOF, *_QUERIES]):
            self._child.send(replies[found - 1])
        self._child.close()
        status, signal = self._child.exitstatus, self._child.signalstatus
        return -int(signal or 0) if status is None else int(status)

    def enter(self, message: str) -> None:
        """Type a message, see it on the screen, and send it."""
        self._child.send(message)
        self.wait_for(message)
        self._child.send("\r")

    def keep_reading_until(self, condition: Callable[[], bool], deadline: float = 30) -> None:
        """Let the program write its screen until the condition holds. Raises `TimeoutError`."""
        end = time.monotonic() + deadline
        replies = list(_QUERIES.values())
        while not condition():
            if time.monotonic() > end:
                raise TimeoutError(f"not within {deadline} s; on the screen: {self._child.before!r}")
            found = self._child.expect([pexpect.TIMEOUT, *_QUERIES], timeout=0.05)
            if found:
                self._child.send(replies[found - 1])


class AppServer:
    """Codex's app server, spoken to one request after another."""

    def __init__(self, argv: tuple[str, ...], environment: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            [shutil.which(argv[0], path=environment["PATH"]) or argv[0], *argv[1:]],
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def __enter__(self) -> "AppServer":
        return self

    def __exit__(self, *failure: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(timeout=20)
        assert self._process.stdout is not None
        self._process.stdout.close()

    def send(self, request: Mapping[str, object]) -> dict[str, Any] | None:
        """Send a request and return its answer; a notification (no `id`) has none."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        if "id" not in request:
            return None
        for line in self._process.stdout:
            message: dict[str, Any] = json.loads(line)
            if message.get("id") == request["id"] and "method" not in message:
                return message
        raise EOFError("the app server ended without an answer")

    def run(self, step: LaunchStep) -> list[dict[str, Any]]:
        """Speak a launch step's requests in order; returns the answers."""
        answers = [self.send(request) for request in step.requests]
        return [answer for answer in answers if answer is not None]
