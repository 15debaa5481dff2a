"""Tests mirror the sources: who looks for a module's tests finds them at the same place."""

import ast
from pathlib import Path

from tests.support.tree import PACKAGES, ROOT, modules, relative, syntax

LEAST_LINES = 40

_BY_CLASS = "tests/daemon/keeping/test_doctor.py damages a folder in each of its ways"
EXEMPT: dict[str, str] = {
    "daemon/live.py": "has no use but by sessions and direct, whose tests go through all of it",
    "daemon/handlers/keeping.py": "one call each; tests/e2e/test_keeping.py makes them over the wire",
    "daemon/handlers/sessions.py": "one call each; tests/e2e/test_direct_agent.py makes them over the wire",
    "daemon/handlers/threads.py": "one call each; tests/e2e makes them over the wire",
    "daemon/keeping/staged_streams.py": "refuses what tests/daemon/keeping/test_importing.py tries",
    "daemon/keeping/database_checks.py": _BY_CLASS,
    "daemon/keeping/findings.py": _BY_CLASS,
    "daemon/keeping/folder_checks.py": _BY_CLASS,
    "daemon/keeping/leftover_checks.py": _BY_CLASS,
    "daemon/keeping/record_checks.py": _BY_CLASS,
    "daemon/keeping/repairs.py": _BY_CLASS,
    "daemon/storage/database_check.py": _BY_CLASS,
    "daemon/agents/codex/emit.py": "what it emits is what test_translate.py compares",
}
"""Modules with logic and no test file of their own: path to the reason."""


def has_logic(path: Path) -> bool:
    """Whether a function of the module does more than say `...`."""
    return any(
        isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not _is_declaration(node)
        for node in ast.walk(syntax(path))
    )


def _is_declaration(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return all(
        isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        for statement in function.body
    )


def mirrored_test(path: Path) -> Path:
    """Where the tests of a source module are."""
    return ROOT / "tests" / path.relative_to(ROOT).with_name(f"test_{path.name}")


def test_every_test_file_has_its_module() -> None:
    orphans = [
        relative(path)
        for package in PACKAGES
        for path in modules(f"tests/{package}")
        if path.name.startswith("test_")
        and not (ROOT / path.relative_to(ROOT / "tests")).with_name(path.name.removeprefix("test_")).exists()
    ]
    assert not orphans, "no module at the mirrored place (whole journeys go to tests/e2e):\n" + "\n".join(
        orphans
    )


def test_every_module_with_logic_has_its_test_file() -> None:
    missing = [
        f"{relative(path)} -> {relative(mirrored_test(path))}"
        for path in modules()
        if path.name != "__init__.py"
        and len(path.read_text(encoding="utf-8").splitlines()) >= LEAST_LINES
        and has_logic(path)
        and not mirrored_test(path).exists()
        and relative(path) not in EXEMPT
    ]
    assert not missing, "no tests of their own, and no reason in EXEMPT:\n" + "\n".join(missing)


def test_every_exemption_is_needed() -> None:
    for name in EXEMPT:
        path = ROOT / name
        assert path.exists(), f"{name} is gone"
        assert not mirrored_test(path).exists(), f"{name} has tests now"
