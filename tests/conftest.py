"""What every test gets: a hermetic environment, and `--update` to write goldens anew."""

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.environment import hermetic


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the project's own options."""
    parser.addoption("--update", action="store_true", help="write golden files anew instead of comparing")


def pytest_configure() -> None:
    """Free even session-wide fixtures from the settings of whoever runs the tests."""
    home = Path(tempfile.gettempdir()) / "no-home-outside-a-test"
    clean = hermetic(os.environ, home, home)
    os.environ.clear()
    os.environ.update(clean)
    time.tzset()


@pytest.fixture(autouse=True)
def hermetic_home(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """The test's own home folder, in the environment of the test and of all that it starts."""
    folder = tmp_path_factory.mktemp("home")
    runtime = Path(tempfile.mkdtemp(prefix="r", dir="/tmp"))
    for name, value in hermetic(os.environ, folder, runtime).items():
        monkeypatch.setenv(name, value)
    yield folder
    shutil.rmtree(runtime, ignore_errors=True)


@pytest.fixture
def update_goldens(request: pytest.FixtureRequest) -> bool:
    """Whether this run writes goldens anew."""
    return bool(request.config.getoption("--update"))
