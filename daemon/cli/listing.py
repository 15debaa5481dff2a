"""`resumed threads`: conversations by where they belong, interrupted ones first."""

from collections.abc import Iterable

from resumed.daemon.cli.paper import CARE, QUIET, Line
from resumed.daemon.cli.words import STATE_WORDS, Reader, clean
from resumed.protocol.threads import ThreadListResult, ThreadSummary
from resumed.restore.wording import agent_name

GROUPS = (("project", "This project"), ("worktree", "Its worktrees"), ("elsewhere", "Elsewhere"))
_STATES = ("running", "unfinished", "interrupted", "idle")
_GAP = "   "
_LEAST_NAME = 16
_MOST_BRANCH = 24


def list_lines(listed: ThreadListResult, root: str, reader: Reader, width: int) -> list[Line]:
    """The whole list for a workspace `root`, fitted to `width` cells, with its notes."""
    lines: list[Line] = []
    columns = _Columns(listed.threads, reader, width)
    for group, title in GROUPS:
        threads = sorted(
            (thread for thread in listed.threads if thread.group == group),
            key=lambda thread: _STATES.index(thread.state) if thread.state in _STATES else len(_STATES),
        )
        if threads:
            lines += [Line("", title, "bold"), *_group(threads, root, reader, columns)]
    if not listed.threads:
        lines.append(Line(f"{QUIET} ", "No conversations here. resumed threads --all looks elsewhere too."))
    if listed.next_cursor is not None:
        lines.append(Line(f"{QUIET} ", "There are more: --limit shows up to 200."))
    lines += [Line(f"{CARE} ", note) for note in listed.notes]
    return lines


def _group(threads: list[ThreadSummary], root: str, reader: Reader, columns: "_Columns") -> Iterable[Line]:
    """The rows of one group; those of another folder than the workspace's stand below its name."""
    folders = dict.fromkeys(thread.root for thread in threads)
    for folder in sorted(folders, key=lambda folder: folder != root):
        if folder != root:
            yield Line("  ", reader.path(folder) if folder else "a folder not known", "dim")
        for thread in threads:
            if thread.root == folder:
                yield columns.line(thread)


class _Columns:
    """Column widths that fit all rows."""

    def __init__(self, threads: Iterable[ThreadSummary], reader: Reader, width: int) -> None:
        self._reader = reader
        rows = [self._cells(thread) for thread in threads]
        self._widths = [max((_cells(row[n]) for row in rows), default=0) for n in range(4)]
        self._widths[2] = min(self._widths[2], _MOST_BRANCH)
        others = sum(self._widths[1:]) + 3 * len(_GAP) + 4
        self._widths[0] = max(_LEAST_NAME, min(self._widths[0], width - others))

    def line(self, thread: ThreadSummary) -> Line:
        """One row."""
        cells = [_fit(cell, width) for cell, width in zip(self._cells(thread), self._widths, strict=True)]
        mark = CARE if thread.state in ("interrupted", "unfinished") else " "
        return Line(f"  {mark} ", _GAP.join(cells).rstrip(), copied=True)

    def _cells(self, thread: ThreadSummary) -> tuple[str, str, str, str]:
        state = self._reader.when(thread.last_active_at)
        if thread.state != "idle":
            state = f"{STATE_WORDS.get(thread.state, thread.state)}, {state}"
        if thread.damaged:
            state = f"{state}, damaged"
        agent = agent_name(thread.agent)
        return clean(thread.name), clean(state), clean(thread.branch or ""), clean(agent)


def _cells(text: str) -> int:
    from rich.cells import cell_len

    return cell_len(text)


def _fit(text: str, width: int) -> str:
    """Pad or cut the text to exactly this many cells."""
    from rich.cells import cell_len, set_cell_size

    if cell_len(text) <= width:
        return set_cell_size(text, width)
    return set_cell_size(text, width - 1) + "…"
