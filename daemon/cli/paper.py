"""What commands print on: lines as data, and a paper that fits them to a terminal, a pipe or a test.

Rendering makes `Line`s and knows no width. Every text is cleaned here, at the one place where it is printed.
"""

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple, TextIO

from resumed.daemon.cli.words import clean

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

DONE, CARE, FAILED, QUIET = "✓", "!", "✗", "-"
_MARK_STYLES = {DONE: "green", CARE: "yellow", FAILED: "red", QUIET: "dim"}
_PIPE_WIDTH = 80
_WIDEST = 120
_LABEL = 11


class Line(NamedTuple):
    """One line. `head` stands before the text, and further lines are indented by its width; `style` is
    rich's, of the text. What is to be copied (`copied`) is never broken."""

    head: str
    text: str = ""
    style: str = ""
    copied: bool = False


def row(label: str, mark: str, text: str) -> Line:
    """A labelled line of a report: `  Where      ✓ text`."""
    return Line(f"  {label:<{_LABEL}}{mark or ' '} ", text)


def more(mark: str, text: str) -> Line:
    """A further line below a labelled one."""
    return row("", mark, text)


def blank() -> Line:
    """An empty line."""
    return Line("")


class Paper:
    """Prints lines on a stream, in colour where people look at it and want that."""

    def __init__(self, stream: TextIO, width: int | None = None) -> None:
        self.stream = stream
        self.terminal = stream.isatty()
        self._width = width
        self._made: Console | None = None

    @property
    def width(self) -> int:
        """The width in cells that lines are fitted to."""
        return self._width or min(self._console.width, _WIDEST)

    def show(self, lines: Iterable[Line]) -> None:
        """Print lines, broken at words to fit the width."""
        for line in lines:
            for text in self._fitted(line):
                self._console.print(text, soft_wrap=True)
        self.stream.flush()

    def prompt(self, text: str) -> None:
        """Print a text whose answer is typed behind it."""
        self._console.print(clean(text), style="bold", end=" ", soft_wrap=True)
        self.stream.flush()

    @property
    def _console(self) -> "Console":
        if self._made is None:
            from rich.console import Console

            plain = "NO_COLOR" in os.environ or not (self.terminal or "FORCE_COLOR" in os.environ)
            self._made = Console(
                file=self.stream,
                width=None if self.terminal or "COLUMNS" in os.environ else _PIPE_WIDTH,
                color_system=None if plain else "auto",
                highlight=False,
                markup=False,
                emoji=False,
            )
        return self._made

    def _fitted(self, line: Line) -> list["Text"]:
        from rich.cells import cell_len
        from rich.text import Text

        head = clean(line.head)
        text = Text(clean(line.text), style=line.style)
        indent = cell_len(head)
        room = max(self.width - indent, 20)
        parts = [text] if line.copied or not text.plain else list(text.wrap(self._console, room))
        fitted = []
        for number, part in enumerate(parts):
            start = Text(head if number == 0 else " " * indent)
            if number == 0 and head.strip()[-1:] in _MARK_STYLES and head.endswith(" "):
                place = len(head.rstrip()) - 1
                start.stylize(_MARK_STYLES[head[place]], place, place + 1)
            whole = start.append_text(part)
            whole.rstrip()
            fitted.append(whole)
        return fitted
