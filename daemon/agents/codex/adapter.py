"""The Codex adapter: where its files are, and what we can do with them."""

from collections.abc import Mapping
from pathlib import Path

from resumed.daemon.agents.agent import Agent
from resumed.daemon.agents.codex.emit import AGENT
from resumed.daemon.agents.codex.launch import CodexLauncher
from resumed.daemon.agents.codex.store import CodexStore


class CodexAgent:
    """Codex as an agent of ours."""

    name = AGENT

    def __init__(self, home: Path) -> None:
        self.store = CodexStore(home)
        self.launcher = CodexLauncher()


def codex_agent(environment: Mapping[str, str]) -> Agent:
    """The adapter for the Codex home of this environment: `CODEX_HOME`, else `~/.codex`."""
    home = environment.get("CODEX_HOME") or str(Path(environment.get("HOME") or Path.home()) / ".codex")
    return CodexAgent(Path(home))
