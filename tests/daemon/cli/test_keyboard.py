"""Lines from a pipe as they are, and from a real terminal with Esc as a key that leaves."""

import io
import os
import pty
import termios
import threading
from collections.abc import Iterator
from typing import TextIO

import pytest

from resumed.daemon.cli.keyboard import typed_line
from tests.support.wire import wait_for

ESCAPE = b"\x1b"


class Keyboard:
    """A terminal: `typing` is what a program reads, `press` what a person does."""

    def __init__(self, typing: TextIO, person: int) -> None:
        self.typing = typing
        self._person = person

    def press(self, keys: bytes) -> None:
        os.write(self._person, keys)

    def while_reading(self, *presses: bytes) -> str | None:
        """What is read while these are pressed one after the other, each once the one before was shown."""
        said: list[str | None] = []
        reading = threading.Thread(target=lambda: said.append(typed_line(self.typing)), daemon=True)
        before = termios_of(self.typing)
        reading.start()
        wait_for(lambda: termios_of(self.typing) != before or not reading.is_alive())
        for keys in presses:
            self.press(keys)
            shown = b""
            while len(shown) < len(keys):
                shown += os.read(self._person, 100)
        reading.join(20)
        assert not reading.is_alive()
        assert termios_of(self.typing) == before
        return said[0]


def termios_of(typing: TextIO) -> object:
    """How the terminal is set."""
    return termios.tcgetattr(typing.fileno())


@pytest.fixture
def keyboard() -> Iterator[Keyboard]:
    """A terminal of this test's own."""
    person, program = pty.openpty()
    with open(program, encoding="utf-8", closefd=True) as typing:
        yield Keyboard(typing, person)
    os.close(person)


def test_without_a_terminal_lines_are_read_to_the_end() -> None:
    piped = io.StringIO(" 2 \n\n")
    assert [typed_line(piped) for _ in range(3)] == ["2", "", None]


def test_a_line_ends_with_enter(keyboard: Keyboard) -> None:
    assert keyboard.while_reading(b" skip\n") == "skip"
    assert keyboard.while_reading(b"nx\x7fo\n") == "no"
    assert keyboard.while_reading(b"\n") == ""


@pytest.mark.parametrize("keys", [ESCAPE, b"2" + ESCAPE, ESCAPE + ESCAPE])
def test_escape_leaves_at_once(keyboard: Keyboard, keys: bytes) -> None:
    assert keyboard.while_reading(keys) is None


def test_the_end_of_input_leaves(keyboard: Keyboard) -> None:
    keyboard.press(b"\x04")
    assert typed_line(keyboard.typing) is None


@pytest.mark.parametrize("key", [b"[A", b"OP", b"[3~", b"x", "é".encode(), "€".encode(), "🙂".encode()])
def test_other_keys_that_begin_with_escape_are_left_out(keyboard: Keyboard, key: bytes) -> None:
    assert keyboard.while_reading(b"1" + ESCAPE + key, b"2\n") == "12"
