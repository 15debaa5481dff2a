"""The registry of agents: one row each. A row turns environment variables into an adapter."""

from resumed.daemon.agents.agent import AgentFactory
from resumed.daemon.agents.codex.adapter import codex_agent

AGENTS: dict[str, AgentFactory] = {"codex": codex_agent}
