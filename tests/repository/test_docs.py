"""The documents name what there is, and what they name exists."""

import re
from pathlib import Path

import click
import pytest

from resumed.daemon.cli.main import main
from resumed.daemon.failpoints import FAILPOINTS
from resumed.protocol.methods import METHODS
from tests.support.tree import ROOT, files, modules, relative

README = (ROOT / "README.md").read_text(encoding="utf-8")
DOCUMENTS = [ROOT / name for name in ("README.md", "CHANGELOG.md", "protocol/README.md", "tests/README.md")]
VARIABLE = re.compile(r"\b(?:RESUMED_[A-Z][A-Z_]*[A-Z]|CODEX_HOME)\b")


def commands() -> list[str]:
    """The command line's commands."""
    assert isinstance(main, click.Group)
    return main.list_commands(click.Context(main))


def code_map() -> str:
    """README's section with the folders and what holds in them."""
    return README.split("## Code map\n")[1].split("\n## ")[0]


def test_every_command_is_in_the_readme() -> None:
    missing = [name for name in commands() if not re.search(rf"`resumed {name}\b", README)]
    assert not missing


def test_every_method_is_in_the_protocol_readme() -> None:
    text = (ROOT / "protocol" / "README.md").read_text(encoding="utf-8")
    assert not [method.name for method in METHODS if f"`{method.name}`" not in text]


def test_every_environment_variable_is_in_the_readme_and_the_other_way_round() -> None:
    used: set[str] = set()
    for path in modules("protocol", "restore", "daemon", "tests"):
        if not relative(path).startswith("tests/repository/"):
            used.update(VARIABLE.findall(path.read_text(encoding="utf-8")))
    documented = set(re.findall(rf"^\| `({VARIABLE.pattern})`", README, re.MULTILINE))
    assert used == documented


def test_every_failpoint_is_in_the_readme() -> None:
    assert not [name for name in FAILPOINTS if f"`{name}`" not in README]


def test_every_make_target_is_in_the_readme_and_the_other_way_round() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    public = set(re.findall(r"^([a-z]+):.*## ", makefile, re.MULTILINE))
    assert set(re.findall(r"`make ([a-z]+)`", README)) == public


@pytest.mark.parametrize("document", DOCUMENTS, ids=relative)
def test_relative_links_lead_somewhere(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)]+)\)", text) if not re.match(r"https?:|#", link)]
    assert not [link for link in links if not (document.parent / link.partition("#")[0]).exists()]


def test_every_invariant_names_a_test_that_exists() -> None:
    invariants = [line for line in code_map().splitlines() if "**Invariant" in line]
    assert len(invariants) >= 8
    for line in invariants:
        held_by = re.search(r"\(`(tests/[\w/.]+\.py)(?:::(\w+))?`\)$", line)
        assert held_by, f"names no test: {line}"
        path, function = ROOT / held_by[1], held_by[2]
        assert path.is_file(), line
        assert not function or f"def {function}(" in path.read_text(encoding="utf-8"), line


def test_the_code_map_names_every_folder() -> None:
    folders = {relative(path.parent) for path in modules()}
    assert not [folder for folder in sorted(folders) if f"`{folder}/`" not in code_map()]


def test_paths_in_the_code_map_exist() -> None:
    paths = re.findall(r"`((?:protocol|restore|daemon|tests|editors)/[\w/.-]+)`", code_map())
    assert not [path for path in paths if not (ROOT / path).exists()]


def test_the_folders_of_tests_are_explained() -> None:
    text = (ROOT / "tests" / "README.md").read_text(encoding="utf-8")
    folders = {
        path.relative_to(ROOT / "tests").parts[0]
        for path in files(ROOT / "tests")
        if path.parent != ROOT / "tests"
    }
    assert not [name for name in sorted(folders) if f"`{name}/`" not in text]
