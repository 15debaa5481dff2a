"""Words that no file of the project may hold: machines, registries, unfinished work, other documents."""

import re
from pathlib import Path

import pytest

from tests.support.tree import ROOT, files, relative

FORBIDDEN = {
    "a path of somebody's machine": re.compile(
        r"(?<![\w./~-])(/work/|/root/|/(home|Users)/(?!(dev|kim|kimberley|ada|k)\b)\w)"
    ),
    "a thread-pool handler, which blocks all others": re.compile(r"@\w*\.?thread\(\)|@thread\b"),
    "an address to download from": re.compile(
        r"--(extra-)?index-url|--registry|registry\.npmjs|pypi\.org|\"resolved\": *\"https?:"
    ),
    "unfinished work": re.compile(r"\b(TODO|FIXME|XXX|HACK)\b"),
    "a number that leads nowhere from here": re.compile(r"\b(issue|pull request|PR) #?\d+\b", re.IGNORECASE),
    "a document that is not in the project": re.compile(
        r"\b(design|events|interface-texts|requirements|style-anchors|perf-stack)\.md\b"
    ),
    "a silenced check without a reason": re.compile(r"# *(type: ignore|noqa)(?!.*(#| - ) *\w)"),
}
EXEMPT = {"tests/repository/test_words.py"}


def words(text: str) -> list[str]:
    """What is forbidden in `text`, as `line: what`."""
    return [
        f"{number}: {what}: {match.group(0)}"
        for number, line in enumerate(text.splitlines(), 1)
        for what, pattern in FORBIDDEN.items()
        if (match := pattern.search(line))
    ]


def readable(path: Path) -> str:
    """The file's text; nothing for files that are not text."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return ""


def test_no_file_holds_a_forbidden_word() -> None:
    found = [
        f"{relative(path)}:{word}"
        for path in files()
        if not relative(path).startswith("tests/recordings/") and relative(path) not in EXEMPT
        for word in words(readable(path))
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "text",
    [
        "see /home/mara/shop",
        '"/root/.pyenv"',
        "@server.thread()",
        "pip install --index-url x",
        "# TODO: later",
        "see issue 12",
        "as design.md says",
        "x = f()  # type: ignore[misc]",
    ],
)
def test_a_forbidden_word_is_seen(text: str) -> None:
    assert words(text)


@pytest.mark.parametrize(
    "text",
    ["~/work/shop", "/home/dev/repo", "/home/kim/shop", "the todo list", "x = 1  # noqa: E1  # because"],
)
def test_an_ordinary_word_is_not(text: str) -> None:
    assert not words(text)


def test_the_files_are_found() -> None:
    assert ROOT / "pyproject.toml" in set(files())
