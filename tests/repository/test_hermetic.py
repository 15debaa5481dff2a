"""No test sees the settings of whoever runs it, and none leaves anything in their home."""

import os
import pwd
import subprocess
from pathlib import Path

from tests.support.environment import hermetic

SOCKET_NAME = "/r/0123456789abcdef.sock"
SHORTEST_LIMIT = 104


def test_every_folder_is_the_test_s_own(hermetic_home: Path) -> None:
    for name in ("HOME", "RESUMED_HOME", "CODEX_HOME", "CLAUDE_CONFIG_DIR"):
        assert Path(os.environ[name]).is_relative_to(hermetic_home)
    assert Path.home() == hermetic_home != Path(pwd.getpwuid(os.getuid()).pw_dir)
    assert list(hermetic_home.iterdir()) == []


def test_sockets_fit_into_the_runtime_folder() -> None:
    assert len(os.environ["RESUMED_RUNTIME"] + SOCKET_NAME) < SHORTEST_LIMIT


def test_git_has_no_settings() -> None:
    done = subprocess.run(
        ["git", "config", "--list", "--show-scope"], capture_output=True, text=True, check=True, cwd="/"
    )
    assert done.stdout == ""


def test_a_stranger_s_settings_do_not_come_in(tmp_path: Path) -> None:
    stranger = {
        "GIT_DIR": "/elsewhere",
        "XDG_STATE_HOME": "/elsewhere",
        "RESUMED_FAILPOINT": "journal:1",
        "OPENAI_API_KEY": "secret",
        "COLUMNS": "300",
        "PATH": "/bin",
        "RESUMED_TEST_CODEX": "/opt/codex",
    }
    kept = hermetic(stranger, tmp_path, tmp_path)
    assert {name: kept[name] for name in stranger if name in kept} == {
        "PATH": "/bin",
        "RESUMED_TEST_CODEX": "/opt/codex",
    }
