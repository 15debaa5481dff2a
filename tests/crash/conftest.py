from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def worlds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], Path]:
    """Gives each number a folder, with a state folder and a Codex home of its own in the environment."""

    def world(number: int) -> Path:
        folder = tmp_path / str(number)
        (folder / "work").mkdir(parents=True)
        monkeypatch.setenv("RESUMED_HOME", str(folder / "state"))
        monkeypatch.setenv("CODEX_HOME", str(folder / "codex"))
        return folder / "work"

    return world
