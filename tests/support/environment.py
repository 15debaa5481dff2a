"""The environment of every test: its own home, its own state, nobody's settings."""

from collections.abc import Mapping
from pathlib import Path

_STRANGERS = ("GIT_", "XDG_", "RESUMED_", "CODEX_", "CLAUDE_", "OPENAI_", "ANTHROPIC_", "PYTEST_ADDOPTS")
_KEPT = ("RESUMED_TEST_",)
_WIDTHS_AND_COLOURS = ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "TERM")


def hermetic(inherited: Mapping[str, str], home: Path, runtime: Path) -> dict[str, str]:
    """The environment to run in: `inherited` without anything that would leak a person's settings in.

    `home` gets the home folder and all state folders. `runtime` holds sockets, whose paths have at
    most about 100 bytes, so it must be short.
    """
    environment = {
        name: value
        for name, value in inherited.items()
        if (not name.startswith(_STRANGERS) or name.startswith(_KEPT)) and name not in _WIDTHS_AND_COLOURS
    }
    return environment | {
        "HOME": str(home),
        "RESUMED_HOME": str(home / "state"),
        "RESUMED_RUNTIME": str(runtime),
        "CODEX_HOME": str(home / ".codex"),
        "CLAUDE_CONFIG_DIR": str(home / ".claude"),
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
    }
