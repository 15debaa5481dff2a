"""What `archive`, `unarchive` and their like say when they are done."""

from resumed.daemon.cli.paper import DONE, QUIET, Line
from resumed.daemon.cli.words import Reader, typed
from resumed.protocol.keeping import ThreadArchiveResult


def moved_lines(result: ThreadArchiveResult, reader: Reader) -> list[Line]:
    """A conversation was put away or brought back."""
    name = f"“{result.name}”"
    if not result.changed:
        return [Line(f"{QUIET} ", f"{name} was {'put away' if result.archived else 'not put away'} before.")]
    if not result.archived:
        return [Line(f"{DONE} ", f"{name} is back in the list.")]
    lines = [
        Line(f"{DONE} ", f"{name} is put away. It can still be shown and resumed."),
        Line("  ", "resumed threads --archived lists it. To bring it back:"),
        Line("  ", typed("resumed", "unarchive", result.name), copied=True),
    ]
    if result.depends_on is not None:
        kept = f"The agent's own file {reader.path(result.depends_on)} stays where it is."
        lines.insert(1, Line("  ", kept))
    return lines
