import tomllib
from pathlib import Path

from resumed.daemon.version import VERSION


def test_it_is_the_project_s_version() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert project["version"] == VERSION
