"""The checkout as the repository tests see it: which files are ours, and what is in them."""

import ast
import os
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("protocol", "restore", "daemon")

_NOT_OURS = {
    ".git",
    ".venv",
    ".cache",
    ".mypy_cache",
    ".ruff_cache",
    ".import_linter_cache",
    ".hypothesis",
    "__pycache__",
    "build",
    "dist",
    "node_modules",
    "screenshots",
}


def files(folder: Path = ROOT) -> Iterator[Path]:
    """Every file of the project under `folder`, without what tools leave there. Links are not followed."""
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(
            name
            for name in folders
            if name not in _NOT_OURS
            and not name.endswith(".egg-info")
            and not (Path(place) / name).is_symlink()
        )
        yield from (Path(place) / name for name in sorted(names) if not (Path(place) / name).is_symlink())


def modules(*folders: str) -> list[Path]:
    """The Python files under these top-level folders; by default those of the three packages."""
    return [path for name in folders or PACKAGES for path in files(ROOT / name) if path.suffix == ".py"]


def relative(path: Path) -> str:
    """The path from the top of the checkout, with forward slashes."""
    return path.relative_to(ROOT).as_posix()


def dotted(path: Path) -> str:
    """The name that a module of the three packages is imported by, for example `resumed.restore.order`."""
    parts = ["resumed", *path.relative_to(ROOT).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def syntax(path: Path) -> ast.Module:
    """The module's syntax tree."""
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def imported(tree: ast.AST) -> set[str]:
    """Every module that a syntax tree imports anywhere, dotted; relative imports are not used here."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    return names
