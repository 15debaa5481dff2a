"""What the agent left in each file it touched, and whether it is still there.

The exact hash is used where it is known; a file known only by edits is judged by `patches`.
"""

import posixpath

import msgspec

from resumed.restore import patches
from resumed.restore.events.session import FilePatch, Hunk
from resumed.restore.probes import AnyObservation, AnyProbe, FileProbe, FileSeen, TreeFileProbe
from resumed.restore.subsystem import Target

ABSENT = "absent"
EDITS_KEPT = 64


class Touched(msgspec.Struct, kw_only=True):
    """One file as the agent last left it. `sha256` is `absent` for a deleted file and `None` where
    only `edits` are known: one tuple of hunks per update since then, the last `EDITS_KEPT` of them.
    `before` is the hash before the first touch, `absent`, or `None` when not known."""

    path: str
    change: str
    sha256: str | None = None
    before: str | None = None
    edits: list[tuple[Hunk, ...]] = []
    lines_added: int = 0
    lines_removed: int = 0


def touch(files: dict[str, Touched], patch: FilePatch) -> None:
    """Fold one patch into what is known of its file."""
    if patch.moved_from is not None and patch.moved_from != patch.path:
        _move(files, patch.moved_from, patch.path)
    known = files.get(patch.path)
    if known is None:
        known = files[patch.path] = Touched(path=patch.path, change=patch.change)
        if patch.change == "add":
            known.before = ABSENT
    known.lines_added += patch.lines_added
    known.lines_removed += patch.lines_removed
    if patch.change == "delete":
        known.change, known.sha256, known.edits = "delete", ABSENT, []
        return
    known.change = "add" if known.before == ABSENT else "update"
    if patch.sha256 is not None:
        known.sha256, known.edits = patch.sha256, []
    elif patch.hunks or patch.moved_from is None:
        known.sha256 = None
        # An edit without hunks is one that is not known: it stays so.
        known.edits = [
            left for edit in known.edits if (left := patches.still_expected(edit, patch.hunks)) or not edit
        ]
        known.edits.append(patch.hunks)
        # Each edit is held against those before it: without a bound, a long thread would cost its square.
        del known.edits[:-EDITS_KEPT]


def hashed(files: dict[str, Touched], path: str, before: str | None, after: str) -> None:
    """Fold an observed pair of hashes around an operation; equal hashes touched nothing."""
    if before == after:
        return
    known = files.get(path)
    if known is None:
        known = files[path] = Touched(path=path, change="update", before=before)
    known.sha256, known.edits = after, []
    if after == ABSENT:
        known.change = "delete"
    else:
        known.change = "add" if known.before == ABSENT else "update"


def relative(path: str, target: Target) -> str:
    """The path relative to the recorded root by whichever of its names it has, or absolute when it
    lies outside."""
    root = target.recorded_root.rstrip("/")
    if not root:
        return posixpath.normpath(path)
    whole = posixpath.normpath(posixpath.join(root, path))
    for name in (root, *_other_names(target)):
        if whole.startswith(name + "/"):
            return whole[len(name) + 1 :]
    return whole


def moved(path: str, before: tuple[str, ...], after: str) -> str:
    """The path after the root that it is in, by one of the names in `before`, went to `after`."""
    if path.startswith(after.rstrip("/") + "/"):
        return path
    for name in before:
        inside = name.rstrip("/") + "/"
        if path.startswith(inside):
            return posixpath.join(after, path[len(inside) :])
    return path


def probe_for(path: str, target: Target) -> AnyProbe | None:
    """Where to look for the file now; `None` while the place is not settled."""
    inside = relative(path, target)
    if posixpath.isabs(inside):
        return FileProbe(inside)
    if target.commit is not None and target.repository is not None and not _carried(inside, target):
        return TreeFileProbe(target.repository, target.commit, inside)
    if target.root is None:
        return None
    return FileProbe(posixpath.join(target.root, inside))


def state_now(touched: Touched, seen: AnyObservation | None) -> str:
    """`present` (as the agent left it), `reverted`, `gone`, `changed` or `unknown`."""
    if not isinstance(seen, FileSeen):
        return "unknown"
    if touched.change == "delete":
        if seen.kind == "absent":
            return "present"
        if seen.sha256 is not None and seen.sha256 == touched.before:
            return "reverted"
        # Of a file that was not seen before it was deleted, it is only known that it was one.
        return "reverted" if touched.before is None and seen.kind == "regular" else "changed"
    if seen.kind == "absent":
        return "gone"
    if touched.sha256 is not None and seen.sha256 == touched.sha256:
        return "present"
    if seen.sha256 is not None and seen.sha256 == touched.before:
        return "reverted"
    if seen.kind == "link":
        # What was edited through a link lies elsewhere.
        return "unknown"
    if touched.sha256 is not None or seen.kind != "regular":
        return "changed"
    if seen.content is None:
        return "unknown"
    return _by_edits(touched, patches.lines_of(seen.content))


def _by_edits(touched: Touched, lines: list[str]) -> str:
    if not touched.edits or not all(touched.edits):
        return "unknown"
    states = {patches.patch_state(edit, lines) for edit in touched.edits}
    if states == {patches.PRESENT}:
        return "present"
    if states == {patches.ABSENT}:
        return "reverted"
    return "changed"


def _move(files: dict[str, Touched], source: str, destination: str) -> None:
    """What was known of the file goes with it; the old place is left without one."""
    known, there = files.pop(source, None), files.get(destination)
    moved = files[destination] = Touched(
        path=destination, change="add", before=there.before if there else ABSENT
    )
    if known is not None:
        moved.sha256, moved.edits = known.sha256, known.edits
        moved.lines_added, moved.lines_removed = known.lines_added, known.lines_removed
    if known is None or known.before != ABSENT:
        before = known.before if known is not None else None
        files[source] = Touched(path=source, change="delete", sha256=ABSENT, before=before)


def _other_names(target: Target) -> tuple[str, ...]:
    """The recorded root with its symbolic links resolved, and with the home folder as people write it."""
    root, (home, real_home) = target.canonical_root.rstrip("/"), target.here.homes
    if not root:
        return ()
    if home and real_home and root.startswith(real_home + "/"):
        return root, home + root[len(real_home) :]
    return (root,)


def _carried(inside: str, target: Target) -> bool:
    """A carried folder ends with `/`: everything in it stays."""
    return any(inside == path or (path.endswith("/") and inside.startswith(path)) for path in target.carried)
