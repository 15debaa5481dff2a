"""Codex: its rollout files, read only, and how a session of it is continued."""
