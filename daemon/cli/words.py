"""Small words for people: times as seen from now, commands to type, text that can't harm a terminal.

Whatever an agent wrote may hold escape sequences: nothing is printed that has not gone through `clean`.
"""

import os
import re
import shlex
from datetime import datetime, timedelta
from typing import NamedTuple

from resumed.restore.wording import short_path

STATE_WORDS = {"unfinished": "restore cut off"}
"""What a conversation's state is called where it is not called by its own name."""

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_NOT_KNOWN = "at a time not known"

# Escape sequences as a whole (CSI, then those that a bell or a string terminator ends, then two-byte ones).
_SEQUENCES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[PX\]^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]"
)
_BLANKS = re.compile(r"[\t\n\v\f\r\x85\u2028\u2029]+")
# Other controls, and the marks that make text read in another order than it is.
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_EASY_WORD = re.compile(r"[\w@%+=:,./-]+", re.ASCII)
_HARD_IN_DOUBLE_QUOTES = frozenset('"$`\\!')


class Reader(NamedTuple):
    """From where a person reads: `now` with their time zone, and their home folder; `real_home` is the
    same with its symbolic links resolved."""

    now: datetime
    home: str
    real_home: str = ""

    def when(self, timestamp: str) -> str:
        """A time as it looks from now."""
        return when(timestamp, self.now)

    def path(self, path: str) -> str:
        """A path with the home folder as `~`."""
        return short_path(path, self.home, self.real_home)


def clean(text: str) -> str:
    """Return the text on one line, without escape sequences, controls and marks that reorder it."""
    return _CONTROLS.sub("", _BLANKS.sub(" ", _SEQUENCES.sub("", text)))


def when(timestamp: str, now: datetime) -> str:
    """Say an RFC 3339 time as a person would now, in the zone of `now`: `5 min ago`, `yesterday 18:04`."""
    try:
        then = datetime.fromisoformat(timestamp).astimezone(now.tzinfo)
    except ValueError:
        return _NOT_KNOWN
    age = now - then
    days = (now.date() - then.date()).days
    clock = f"{then:%H:%M}"
    date = f"{then.day} {_MONTHS[then.month - 1]}"
    if timedelta() <= age < timedelta(minutes=1):
        return f"{int(age.total_seconds())} s ago"
    if timedelta() <= age < timedelta(hours=1):
        return f"{int(age.total_seconds()) // 60} min ago"
    if days == 0:
        return f"today {clock}"
    if days == 1:
        return f"yesterday {clock}"
    if 1 < days < 7:
        return f"{_DAYS[then.weekday()]} {clock}"
    return f"{date} {clock}" if then.year == now.year else f"{date} {then.year}"


def typed(*words: str) -> str:
    """Write a command as a person would type it into a shell: quoted only where it must be."""
    return " ".join(_quoted(word) for word in words)


def typed_folder(folder: str, home: str) -> str:
    """Write a folder for a shell, the home folder as `~`."""
    if home not in ("", "/") and folder == home:
        return "~"
    if home not in ("", "/") and folder.startswith(home + "/"):
        return "~/" + typed(folder[len(home) + 1 :])
    return typed(folder)


def _quoted(word: str) -> str:
    if _EASY_WORD.fullmatch(word):
        return word
    if _HARD_IN_DOUBLE_QUOTES.isdisjoint(word) and word.isprintable() and word:
        return f'"{word}"'
    if clean(word) != word or not word.isprintable():
        return _escaped(word)
    return shlex.quote(word)


def _escaped(word: str) -> str:
    """A form that shows and means the same: cleaned for showing, the word itself would name another."""
    shown = []
    for character in word:
        if character in "\\'":
            shown.append("\\" + character)
        elif character.isprintable() and clean(character) == character:
            shown.append(character)
        else:
            shown += [f"\\x{byte:02x}" for byte in os.fsencode(character)]
    return f"$'{''.join(shown)}'"
