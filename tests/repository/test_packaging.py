"""What is installed is what is in the tree, and every dependency says why it is there."""

import re
import tomllib
from importlib import metadata
from pathlib import Path
from typing import Any

from resumed.daemon.version import VERSION
from tests.support.tree import PACKAGES, ROOT, dotted, modules


def pyproject() -> dict[str, Any]:
    """The parsed pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_packages_equal_the_tree() -> None:
    """A package that is not listed works in the checkout and is missing from the wheel."""
    in_tree = {dotted(path.with_name("__init__.py")) for path in modules()}
    assert set(pyproject()["tool"]["setuptools"]["packages"]) == in_tree


def test_every_package_says_what_it_is() -> None:
    for folder in {path.parent for path in modules()}:
        assert (folder / "__init__.py").is_file(), f"{folder} has no __init__.py with a docstring"


def test_the_three_folders_are_mapped() -> None:
    mapped = pyproject()["tool"]["setuptools"]["package-dir"]
    assert mapped == {f"resumed.{name}": name for name in PACKAGES}


def test_there_is_no_resumed_package_beside_the_mapping() -> None:
    """`resumed` is a namespace; a folder of that name at the top would shadow it."""
    assert not (ROOT / "resumed").exists()
    assert not list((ROOT / "tests").rglob("__init__.py")), "test folders are not packages"


def test_package_data_exists() -> None:
    for package, names in pyproject()["tool"]["setuptools"]["package-data"].items():
        for name in names:
            assert (ROOT / package.removeprefix("resumed.").replace(".", "/") / name).is_file(), (
                f"{package}: {name}"
            )


def test_the_static_view_leads_to_the_folders() -> None:
    for name in PACKAGES:
        link = ROOT / ".typecheck" / "resumed" / name
        assert link.is_symlink()
        assert link.resolve() == ROOT / name
        assert not link.readlink().is_absolute()


def test_the_oldest_python_is_stated_once() -> None:
    configuration = pyproject()
    assert configuration["project"]["requires-python"] == ">=3.11"
    assert configuration["tool"]["ruff"]["target-version"] == "py311"


def test_the_version_is_the_same_everywhere() -> None:
    version = pyproject()["project"]["version"]
    assert version == VERSION
    assert f"\n## {version}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_every_dependency_has_bounds_and_a_reason() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    project = pyproject()["project"]
    for dependency in project["dependencies"] + project["optional-dependencies"]["dev"]:
        line = re.search(rf'^  "{re.escape(dependency)}",? +# \S.*$', text, re.MULTILINE)
        assert line, f"{dependency}: say in a comment what it is for"
        assert re.search(r">=[^,]+,<", dependency), f"{dependency}: needs both bounds"


def test_every_dependency_is_imported() -> None:
    """One that nobody imports is only more to download."""
    sources = "\n".join(path.read_text(encoding="utf-8") for path in modules())
    for dependency in pyproject()["project"]["dependencies"]:
        name = re.split(r"[<>=!~ ]", dependency)[0]
        assert re.search(rf"^\s*(import|from) {name}\b", sources, re.MULTILINE), f"nobody imports {name}"


def test_the_wheel_can_be_built_without_the_network() -> None:
    """The environment itself holds what builds it: a new one may have an older setuptools, or none."""
    required = pyproject()["build-system"]["requires"]
    assert set(required) <= set(pyproject()["project"]["optional-dependencies"]["dev"])


def test_the_installed_script_is_this_checkout() -> None:
    scripts = {point.name: point.value for point in metadata.distribution("resumed").entry_points}
    assert scripts == pyproject()["project"]["scripts"]
    module, function = scripts["resumed"].split(":")
    path = ROOT / Path(*module.split(".")[1:]).with_suffix(".py")
    assert re.search(
        rf"^(async )?(def {function}\b|{function} =)", path.read_text(encoding="utf-8"), re.MULTILINE
    )
