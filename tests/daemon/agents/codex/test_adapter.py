"""The adapter finds Codex's home in the environment it is given."""

from pathlib import Path

from resumed.daemon.agents import AGENTS
from resumed.daemon.agents.codex.adapter import codex_agent
from tests.support.codex import install_recording


def test_where_its_home_is(tmp_path: Path) -> None:
    install_recording("v171_read_only", tmp_path / ".codex")
    for environment in ({"HOME": str(tmp_path)}, {"CODEX_HOME": str(tmp_path / ".codex"), "HOME": "/x"}):
        store = codex_agent(environment).store
        assert store is not None
        assert len(list(store.files())) == 1


def test_it_is_registered_under_its_name(tmp_path: Path) -> None:
    assert {name: make({"HOME": str(tmp_path)}).name for name, make in AGENTS.items()} == {"codex": "codex"}
