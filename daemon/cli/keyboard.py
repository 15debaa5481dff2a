"""A line that a person types. On a terminal Esc ends it at once; the terminal itself does the editing."""

import contextlib
import os
import select
import signal
import termios
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any, TextIO

_ESCAPE = b"\x1b"
_KEY_SECONDS = 0.05
_CONTROL_CHARACTERS, _LOCAL_FLAGS = 6, 3
_LEAVING = (signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM, signal.SIGTSTP)


def typed_line(typing: TextIO) -> str | None:
    """The next line without the space around it; `None` at the end of input, and where Esc was typed.

    Blocks. Keys that a terminal writes as Esc and more, such as the arrows, are left out."""
    if not typing.isatty():
        line = typing.readline()
        return line.strip() if line else None
    descriptor, said = typing.fileno(), b""
    with _escape_ends_the_line(descriptor):
        while not said.endswith(b"\n"):
            piece = os.read(descriptor, 4096)
            if piece == b"" or (piece.endswith(_ESCAPE) and _is_alone(descriptor)):
                return None
            said += piece.removesuffix(_ESCAPE)
    return said.decode("utf-8", "replace").strip()


@contextlib.contextmanager
def _escape_ends_the_line(descriptor: int) -> Iterator[None]:
    before = termios.tcgetattr(descriptor)
    within = termios.tcgetattr(descriptor)
    within[_CONTROL_CHARACTERS][termios.VEOL] = _ESCAPE
    with _given_back(descriptor, before, within):
        yield


@contextlib.contextmanager
def _given_back(descriptor: int, before: list[Any], within: list[Any]) -> Iterator[None]:
    """The terminal set to `within`, and to what it was `before` also for as long as this is suspended, and
    where a signal ends it."""

    def leave(number: int, _: FrameType | None) -> None:
        _set(descriptor, before)
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        # Only who was suspended comes back.
        signal.signal(number, leave)
        _set(descriptor, within)

    is_main = threading.current_thread() is threading.main_thread()
    handled = [each for each in _LEAVING if is_main and signal.getsignal(each) is signal.SIG_DFL]
    for number in handled:
        signal.signal(number, leave)
    termios.tcsetattr(descriptor, termios.TCSANOW, within)
    try:
        yield
    finally:
        _set(descriptor, before)
        for number in handled:
            signal.signal(number, signal.SIG_DFL)


def _set(descriptor: int, settings: list[Any]) -> None:
    """Set the terminal, unless it has been hung up."""
    with contextlib.suppress(termios.error):
        termios.tcsetattr(descriptor, termios.TCSANOW, settings)


def _is_alone(descriptor: int) -> bool:
    """Whether nothing followed Esc at once, or Esc once more. What did is the rest of another key, and is
    dropped."""
    lines = termios.tcgetattr(descriptor)
    keys = termios.tcgetattr(descriptor)
    # What is not a whole line yet can only be seen while lines are not waited for.
    keys[_LOCAL_FLAGS] &= ~termios.ICANON
    termios.tcsetattr(descriptor, termios.TCSANOW, keys)
    try:
        kind = _next_byte(descriptor)
        if kind == b"[":
            while (last := _next_byte(descriptor)) and not b"@" <= last <= b"~":
                pass
        elif kind == b"O":
            _next_byte(descriptor)
        elif kind > b"\xbf":
            _drop_character(descriptor, kind[0])
        return kind in (b"", _ESCAPE)
    finally:
        termios.tcsetattr(descriptor, termios.TCSANOW, lines)


def _drop_character(descriptor: int, first: int) -> None:
    """What follows the first byte of a character that has several."""
    for _ in range(1 + (first >= 0xE0) + (first >= 0xF0)):
        _next_byte(descriptor)


def _next_byte(descriptor: int) -> bytes:
    """The next byte of a key; empty when none comes at once."""
    return os.read(descriptor, 1) if select.select([descriptor], [], [], _KEY_SECONDS)[0] else b""
