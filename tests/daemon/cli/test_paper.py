import io

import pytest

from resumed.daemon.cli.paper import CARE, DONE, Line, Paper, blank, more, row
from tests.support.reports import printed

LONG = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"


class TerminalText(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def coloured(line: Line) -> str:
    stream = TerminalText()
    Paper(stream, 80).show([line])
    return stream.getvalue()


def test_further_lines_are_indented_below_the_text() -> None:
    text = printed([row("Where", DONE, LONG)], 60)
    first, second, *_ = text.splitlines()
    assert first.startswith("  Where      ✓ one two")
    assert second.startswith(" " * 15)
    assert second[15] != " "
    assert all(len(line) <= 60 for line in text.splitlines())
    assert " ".join(text.split()[2:]) == LONG


def test_wide_characters_count_as_two() -> None:
    text = printed([row("Name", "", "日本語" * 30)], 60)
    assert len(text.splitlines()) > 4
    assert all(len(line.strip()) <= 23 for line in text.splitlines()[1:])


def test_what_is_to_be_copied_is_never_broken() -> None:
    assert printed([Line("  Start  ", LONG, copied=True)], 40) == f"  Start  {LONG}\n"


def test_no_line_ends_in_blanks_and_a_blank_line_is_empty() -> None:
    assert printed([row("Where", "", ""), blank(), more("", "x")]) == "  Where\n\n               x\n"


def test_control_characters_are_not_printed() -> None:
    assert printed([row("Said", CARE, "\x1b]0;owned\x07hi\x1b[2J")]) == "  Said       ! hi\n"


def test_markup_in_a_text_is_only_text() -> None:
    assert printed([Line("", "[bold]not bold[/bold] [[normal]] :smile:")]) == (
        "[bold]not bold[/bold] [[normal]] :smile:\n"
    )


def test_a_pipe_gets_no_colour() -> None:
    assert "\x1b" not in printed([row("Where", DONE, "here"), Line("", "title", "bold")])


def test_a_terminal_gets_colour_for_the_mark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    assert "\x1b[32m✓" in coloured(row("Where", DONE, "here"))


def test_a_terminal_gets_none_where_nobody_wants_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in coloured(Line("✓ ", "title", "bold"))


def test_a_mark_in_the_text_is_not_taken_for_one() -> None:
    assert printed([Line("1 of 2  ", "✓ is not a mark here")]) == "1 of 2  ✓ is not a mark here\n"


def test_a_pipe_is_80_columns_wide_unless_told(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Paper(io.StringIO()).width == 80
    monkeypatch.setenv("COLUMNS", "60")
    assert Paper(io.StringIO()).width == 60


def test_a_prompt_waits_on_its_line() -> None:
    stream = io.StringIO()
    Paper(stream, 80).prompt("Choose [1]   q leave\x1b[2J")
    assert stream.getvalue() == "Choose [1]   q leave "
