"""Exact edits of files, from the two forms in which Codex tells them.

A hunk keeps its context, so that it can be found again in a file that moved on.
"""

import hashlib
import posixpath

from resumed.daemon.agents.codex.lines import Change
from resumed.restore.events.session import FilePatch, Hunk

_ADD, _UPDATE, _DELETE, _MOVE = "*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "


def changed_files(changes: dict[str, Change], cwd: str) -> tuple[FilePatch, ...]:
    """The edits of a completed file change, by path."""
    return tuple(_changed_file(_absolute(cwd, path), changes[path], cwd) for path in sorted(changes))


def patched_files(text: str, cwd: str) -> tuple[FilePatch, ...]:
    """The edits that the input of `apply_patch` asks for; an input of another form asks for none."""
    sections: list[tuple[str, str, list[str]]] = []
    for line in text.split("\n"):
        if line.startswith("*** End Patch"):
            break
        for change, mark in (("add", _ADD), ("update", _UPDATE), ("delete", _DELETE)):
            if line.startswith(mark):
                sections.append((change, _absolute(cwd, line[len(mark) :]), []))
                break
        else:
            if sections:
                sections[-1][2].append(line)
    return tuple(_patched_file(change, path, body, cwd) for change, path, body in sections)


def hunks_of(lines: list[str]) -> tuple[Hunk, ...]:
    """The places of an edit: runs of changed lines, each with the context around it.

    Context between two runs belongs to both.
    """
    hunks: list[Hunk] = []
    for block in _blocks(lines):
        hunks.extend(_runs(block))
    return tuple(hunks)


def _changed_file(path: str, change: Change, cwd: str) -> FilePatch:
    if change.type == "add":
        content = change.content or ""
        return FilePatch(
            path=path, change="add", sha256=_sha256(content), lines_added=len(content.splitlines())
        )
    if change.type == "update":
        target = _absolute(cwd, change.move_path) if change.move_path else path
        hunks = hunks_of(_diff_lines(change.unified_diff or ""))
        return _updated(target, hunks, path if change.move_path else None)
    return FilePatch(path=path, change="delete", lines_removed=len((change.content or "").splitlines()))


def _patched_file(change: str, path: str, body: list[str], cwd: str) -> FilePatch:
    if change == "add":
        added = [line[1:] for line in body if line[:1] == "+"]
        content = "".join(f"{line}\n" for line in added)
        return FilePatch(path=path, change="add", sha256=_sha256(content), lines_added=len(added))
    if change == "delete":
        return FilePatch(path=path, change="delete")
    moved = next((line[len(_MOVE) :] for line in body if line.startswith(_MOVE)), None)
    hunks = hunks_of(body)
    return _updated(_absolute(cwd, moved) if moved else path, hunks, path if moved else None)


def _updated(path: str, hunks: tuple[Hunk, ...], moved_from: str | None) -> FilePatch:
    return FilePatch(
        path=path,
        change="update",
        hunks=hunks,
        moved_from=moved_from,
        lines_added=sum(len(hunk.added) for hunk in hunks),
        lines_removed=sum(len(hunk.removed) for hunk in hunks),
    )


def _diff_lines(diff: str) -> list[str]:
    """Its lines from the first hunk on. Only a newline ends a line: a form feed is part of it."""
    lines = diff.removesuffix("\n").split("\n")
    first = next((number for number, line in enumerate(lines) if line.startswith("@@")), 0)
    return lines[first:]


def _blocks(lines: list[str]) -> list[list[str]]:
    blocks: list[list[str]] = []
    for line in lines:
        if line.startswith("@@"):
            blocks.append([])
        elif line.startswith(("***", "\\")):
            continue
        elif blocks:
            blocks[-1].append(line)
        else:
            blocks.append([line])
    return blocks


def _runs(block: list[str]) -> list[Hunk]:
    pieces: list[tuple[bool, list[str]]] = []
    for line in block:
        changed = line[:1] in ("+", "-")
        if not pieces or pieces[-1][0] != changed:
            pieces.append((changed, []))
        pieces[-1][1].append(line)
    hunks: list[Hunk] = []
    for position, (changed, piece) in enumerate(pieces):
        if changed:
            before = pieces[position - 1][1] if position else []
            after = pieces[position + 1][1] if position + 1 < len(pieces) else []
            hunks.append(
                Hunk(
                    before=tuple(line[1:] for line in before),
                    removed=tuple(line[1:] for line in piece if line[0] == "-"),
                    added=tuple(line[1:] for line in piece if line[0] == "+"),
                    after=tuple(line[1:] for line in after),
                )
            )
    return hunks


def _absolute(cwd: str, path: str) -> str:
    return posixpath.normpath(posixpath.join(cwd, path.strip()))


def _sha256(content: str) -> str:
    return hashlib.sha256(content.encode()).hexdigest()
