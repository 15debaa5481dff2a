"""`resumed status --privacy`: what is kept here, for whom it is, and what leaves the machine."""

from collections.abc import Iterable

import msgspec

from resumed.daemon.cli.paper import DONE, QUIET, Line
from resumed.daemon.cli.words import Reader
from resumed.daemon.keeping.privacy import Inventory

_UNITS = ("bytes", "kB", "MB", "GB", "TB")


def privacy_lines(kept: Inventory, reader: Reader) -> Iterable[Line]:
    """The inventory for a person."""
    left = "; ".join(kept.leaves) or "nothing. It talks to programs of yours on this machine alone"
    yield Line(f"{DONE} ", f"Leaves this machine: {left}.", "bold")
    yield Line(f"{DONE} ", f"Kept here for you alone, in {reader.path(kept.state_folder)}:")
    for each in kept.kept:
        size = f"{each.files:,} file{'s' if each.files != 1 else ''}, {in_units(each.bytes)}"
        yield Line("    ", f"{each.what}: {size}; {each.how_long}")
    yield Line(f"{DONE} ", "Never kept:")
    for sentence in kept.never_kept:
        yield Line("    ", sentence)
    yield Line(f"{QUIET} ", "Agents' own files are only read. To remove a conversation: resumed purge NAME")


def privacy_text(kept: Inventory) -> str:
    """The inventory as JSON."""
    return msgspec.json.format(msgspec.json.encode(kept), indent=2).decode()


def in_units(size: int) -> str:
    """A size as people say it: 4.7 kB."""
    value = float(size)
    for unit in _UNITS:
        if value < 1000 or unit == _UNITS[-1]:
            return f"{value:.0f} {unit}" if unit == _UNITS[0] else f"{value:.1f} {unit}"
        value /= 1000
    raise AssertionError("unreachable")
