"""What `archive`, `unarchive`, `export` and `import` say when they are done."""

from collections.abc import Iterable

from resumed.daemon.cli.paper import CARE, DONE, QUIET, Line
from resumed.daemon.cli.words import Reader, typed
from resumed.protocol.keeping import (
    ThreadArchiveResult,
    ThreadExportResult,
    ThreadImportResult,
    ThreadReleaseResult,
)


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


def exported_lines(result: ThreadExportResult, reader: Reader) -> Iterable[Line]:
    """A conversation was written into a file."""
    yield Line(f"{DONE} ", f"“{result.name}” is in {reader.path(result.path)}: {result.bytes:,} bytes.")
    yield Line("  ", f"It holds {_held(result.runs, result.contents)}. To take it in elsewhere:")
    yield Line("  ", typed("resumed", "import", result.path), copied=True)
    if result.missing:
        yield Line(f"{CARE} ", f"{result.missing} contents that it names are not kept any more.")
    if result.depends_on is not None:
        path = reader.path(result.depends_on)
        yield Line(f"{CARE} ", f"What was said is in the agent's own file {path}: take that along, too.")


def imported_lines(result: ThreadImportResult) -> Iterable[Line]:
    """A conversation was taken in from a file, or was here already."""
    if result.status == "present":
        yield Line(f"{QUIET} ", f"“{result.name}” is here already, with all that the file holds.")
        return
    yield Line(f"{DONE} ", f"“{result.name}” is here now: {_held(result.runs, result.contents)}.")
    yield Line("  ", "resumed threads --all lists it, wherever it ran. To look at it:")
    yield Line("  ", typed("resumed", "show", result.name), copied=True)
    if result.missing:
        yield Line(f"{CARE} ", f"{result.missing} contents that it names were not kept where it comes from.")
    if result.depends_on is not None:
        yield Line(f"{CARE} ", f"What was said was in the agent's own file there: {result.depends_on}.")


def not_released(result: ThreadReleaseResult) -> tuple[str, str]:
    """A conversation that its holder keeps: the sentence and the hint."""
    holder = result.holder or "another program"
    if result.asked:
        return (
            f"{holder} was asked to let this conversation go, and is in the middle of something.",
            "Nothing was changed. It lets go when that has ended; try again then.",
        )
    return (
        f"{holder} has this conversation, and could not be asked to let it go.",
        "Nothing was changed. Close it there first.",
    )


def _held(runs: int, contents: int) -> str:
    of_runs = f"{runs} run{'s' if runs != 1 else ''}"
    return f"{of_runs}, {contents} kept contents" if contents else of_runs
