"""Imports run one way, the core is pure, and every library stays in its room."""

import ast
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

import pytest

from tests.support.tree import ROOT, imported, modules, relative, syntax

ROOMS = {
    "pygls": ("daemon/rpc/lsp.py",),
    "lsprotocol": ("daemon/rpc/lsp.py",),
    "sqlite3": ("daemon/storage/*",),
    "aiosqlite": ("daemon/storage/*",),
    "pygit2": ("daemon/ports/git*.py",),
}
GIT_ROOM = "daemon/ports/git*.py"
IMPURE_CALLS = {"open", "print", "input", "exec", "eval", "__import__", "breakpoint"}
IMPURE_MODULES = {"asyncio", "time", "datetime", "random", "secrets", "uuid", "os", "io", "pathlib", "sys"}
STARTERS = {
    "run",
    "Popen",
    "call",
    "check_call",
    "check_output",
    "create_subprocess_exec",
    "create_subprocess_shell",
    "system",
    "execvp",
    "execv",
    "which",
}


def impurities(tree: ast.AST) -> list[str]:
    """What a module of the core may not do, as `line: what`."""
    found = [f"0: imports {name}" for name in imported(tree) if name.split(".")[0] in IMPURE_MODULES]
    for node in ast.walk(tree):
        if isinstance(node, ast.AsyncFunctionDef | ast.Await | ast.AsyncFor | ast.AsyncWith):
            found.append(f"{node.lineno}: awaits")
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in IMPURE_CALLS:
            found.append(f"{node.lineno}: calls {node.func.id}")
    return found


def git_calls(tree: ast.AST) -> list[int]:
    """The lines that start the `git` program or build an argument list for it."""
    lines = []
    for node in ast.walk(tree):
        if isinstance(node, ast.List | ast.Tuple):
            first = node.elts[0] if node.elts else None
        elif isinstance(node, ast.Call) and _name(node.func) in STARTERS:
            first = node.args[0] if node.args else None
        else:
            continue
        if (
            isinstance(first, ast.Constant)
            and isinstance(first.value, str)
            and first.value.split()[:1] == ["git"]
        ):
            lines.append(first.lineno)
    return lines


def forks(tree: ast.AST) -> list[int]:
    """The lines that fork this process, or may."""
    return [node.lineno for node in ast.walk(tree) if isinstance(node, ast.Call) and _forks(node)]


def _forks(call: ast.Call) -> bool:
    match call.func, _name(call.func):
        case ast.Attribute(value=ast.Name(id="os" | "pty")), "fork" | "forkpty":
            return True
        case ast.Attribute(value=ast.Name(id="multiprocessing")), "Process" | "Pool":
            return True
        case _, "get_context" | "set_start_method":
            return not any(isinstance(given, ast.Constant) and given.value == "spawn" for given in call.args)
        case _, "ProcessPoolExecutor":
            return not any(keyword.arg == "mp_context" for keyword in call.keywords)
    return False


def _name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def test_import_contracts_hold() -> None:
    """The contracts of pyproject.toml, checked on the import graph."""
    tool = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([tool, "--no-logo", "--no-cache"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_core_is_pure() -> None:
    found = [f"{relative(path)}:{what}" for path in modules("restore") for what in impurities(syntax(path))]
    assert not found, "restore/ asks for effects, it has none:\n" + "\n".join(found)


def test_libraries_stay_in_their_rooms() -> None:
    found = [
        f"{relative(path)} imports {name}; only {', '.join(ROOMS[library])} may"
        for path in modules()
        for name in imported(syntax(path))
        if (library := name.split(".")[0]) in ROOMS
        and not any(fnmatch(relative(path), room) for room in ROOMS[library])
    ]
    assert not found, "\n".join(found)


def test_git_is_started_in_one_room() -> None:
    found = [
        f"{relative(path)}:{line} starts git; only {GIT_ROOM} may, with the options that make it safe"
        for path in modules()
        if not fnmatch(relative(path), GIT_ROOM)
        for line in git_calls(syntax(path))
    ]
    assert not found, "\n".join(found)


def test_no_module_imports_by_a_bare_folder_name() -> None:
    """`import daemon` works from the top of the checkout and would make second copies of every class."""
    found = [
        f"{relative(path)} imports {name}"
        for path in modules("protocol", "restore", "daemon", "tests")
        for name in imported(syntax(path))
        if name.split(".")[0] in ("protocol", "restore", "daemon")
    ]
    assert not found, "\n".join(found)


def test_no_process_of_ours_is_forked() -> None:
    """A fork would keep our locks: a thread would be held after we are gone."""
    found = [f"{relative(path)}:{line}" for path in modules() for line in forks(syntax(path))]
    assert not found, "start a program, or a worker of multiprocessing's spawn context:\n" + "\n".join(found)


@pytest.mark.parametrize(
    "code",
    [
        "os.fork()",
        "multiprocessing.get_context('fork')",
        "multiprocessing.Process(target=f)",
        "ProcessPoolExecutor(2)",
    ],
)
def test_a_fork_is_seen(code: str) -> None:
    assert forks(ast.parse(code))


@pytest.mark.parametrize(
    "code", ["get_context('spawn').Process(target=f)", "ProcessPoolExecutor(2, mp_context=spawned)"]
)
def test_a_spawned_worker_is_no_fork(code: str) -> None:
    assert not forks(ast.parse(code))


@pytest.mark.parametrize(
    "code",
    [
        "async def f(): pass",
        "def f(path): return open(path).read()",
        "print(1)",
        "from datetime import datetime",
        "import os.path",
        "def f():\n    import uuid",
    ],
)
def test_an_impurity_is_seen(code: str) -> None:
    assert impurities(ast.parse(code))


@pytest.mark.parametrize(
    "code",
    [
        "subprocess.run(['git', 'status'])",
        "create_subprocess_exec('git', 'log')",
        "argv = ('git', *rest)",
        "system('git gc')",
    ],
)
def test_a_git_call_is_seen(code: str) -> None:
    assert git_calls(ast.parse(code))
