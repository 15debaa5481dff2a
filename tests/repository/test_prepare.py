"""`.ci/prepare` on machines where something is missing: one line, exit status 2, nothing left behind."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.tree import ROOT

TOOLS = ("sh", "cat", "cmp", "dirname", "rm", "tail", "echo", "printf", "pwd")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout that has just been cloned, as far as the script looks at it."""
    folder = tmp_path / "checkout"
    (folder / ".ci").mkdir(parents=True)
    shutil.copy(ROOT / ".ci" / "prepare", folder / ".ci")
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """The only folder on PATH; at first it has no git and no Python."""
    folder = tmp_path / "programs"
    folder.mkdir()
    for name in TOOLS:
        place = shutil.which(name)
        if place:
            (folder / name).symlink_to(place)
    return folder


def add_git(programs: Path) -> None:
    git = shutil.which("git")
    assert git
    (programs / "git").symlink_to(git)


def add_script(programs: Path, name: str, body: str) -> None:
    script = programs / name
    script.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    script.chmod(0o755)


def prepare(checkout: Path, programs: Path) -> subprocess.CompletedProcess[str]:
    """Run the script with `programs` as PATH and with nowhere to download from."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    environment |= {"PATH": str(programs), "PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull}
    return subprocess.run(
        [shutil.which("sh") or "sh", str(checkout / ".ci" / "prepare")],
        env=environment,
        capture_output=True,
        text=True,
    )


def tree(checkout: Path) -> list[str]:
    return sorted(str(path.relative_to(checkout)) for path in checkout.rglob("*"))


def check_refusal(checkout: Path, programs: Path, *expected: str) -> None:
    """The script refuses in one line that holds `expected`, and leaves the checkout as it was."""
    before = tree(checkout)
    done = prepare(checkout, programs)
    assert done.returncode == 2, done.stdout + done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr
    for text in expected:
        assert text in done.stderr
    assert tree(checkout) == before


def test_git_is_missing(checkout: Path, programs: Path) -> None:
    check_refusal(checkout, programs, "git is missing", "apt install git", "dnf install git", "xcode-select")


def test_python_is_missing(checkout: Path, programs: Path) -> None:
    add_git(programs)
    add_script(programs, "python3.12", "exit 127")
    check_refusal(checkout, programs, "Python 3.11 or newer is missing", "apt install", "dnf install", "brew")


def test_the_venv_module_is_missing(checkout: Path, programs: Path) -> None:
    add_git(programs)
    add_script(programs, "python3.12", 'case "$2" in *ensurepip*) exit 1 ;; esac')
    check_refusal(checkout, programs, "python3.12 has no venv module", "apt install python3.12-venv")


def test_the_network_is_missing(checkout: Path, programs: Path) -> None:
    add_git(programs)
    (programs / "python3.11").symlink_to(Path(sys.executable).resolve())
    check_refusal(checkout, programs, "could not be downloaded", "The first run needs the network")


def test_a_prepared_checkout_needs_no_network(checkout: Path, programs: Path) -> None:
    add_git(programs)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", checkout / ".venv"], check=True)
    stamp = f"{checkout.resolve()}\n{(checkout / 'pyproject.toml').read_text(encoding='utf-8')}"
    (checkout / ".venv" / "prepared").write_text(stamp, encoding="utf-8")
    before = tree(checkout)
    done = prepare(checkout, programs)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert tree(checkout) == before


def test_a_moved_checkout_is_prepared_again(checkout: Path, programs: Path) -> None:
    add_git(programs)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", checkout / ".venv"], check=True)
    stamp = f"/somewhere/else\n{(checkout / 'pyproject.toml').read_text(encoding='utf-8')}"
    (checkout / ".venv" / "prepared").write_text(stamp, encoding="utf-8")
    done = prepare(checkout, programs)
    assert done.returncode == 2
    assert "Python 3.11 or newer is missing" in done.stderr
