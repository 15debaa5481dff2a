"""What is kept on this machine, where, how large it is and how long it stays. Read-only. Blocks."""

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec


class Kept(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One kind of thing that is kept: so many files below `path`, with so many bytes."""

    what: str
    path: str
    files: int
    bytes: int
    how_long: str


class Inventory(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Everything that is kept, and what leaves the machine."""

    state_folder: str
    kept: tuple[Kept, ...]
    leaves: tuple[str, ...] = ()
    never_kept: tuple[str, ...] = (
        "Contents of files that hold secrets (.env, keys, tokens, what git ignores): a keyed hash is kept.",
        "Tokens and passwords of known shapes in what agents say and run: they are masked before.",
        "The environment that a client sends.",
    )


_FOR_EVER = "until you purge the conversation"
_KINDS: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("what was said and done in conversations", ("sessions", "archived_sessions", "threads"), _FOR_EVER),
    ("records of folders that all their conversations share", ("worktrees",), "until you remove them"),
    ("contents of files", ("blobs.db",), "until no record names them, and a day more"),
    ("lists made of the records", ("workspaces",), "made anew when missing; they forget what is purged"),
    ("copies of damaged bytes", ("quarantine",), "until you remove them; purge removes a conversation's"),
    ("logs of the background process", ("logs",), "the last two megabytes for each workspace"),
    ("what is under way", ("importing", "purges"), "until it is finished"),
    ("locks, and who holds a conversation", ("locks", "leases"), "empty but for the last holder's name"),
)


def inventory(home: Path, runtime: Path) -> Inventory:
    """Look at the state folder and the folder of sockets."""
    kept = [_kept(home, what, names, how_long) for what, names, how_long in _KINDS]
    known = {name for _, names, _ in _KINDS for name in names}
    others = tuple(sorted({path.name for path in _entries(home)} - known - _journals(home)))
    kept.append(_kept(home, "this installation's id, key and your settings", others, "as long as you like"))
    kept.append(
        _measured("sockets of running processes", runtime / "r", _files(runtime / "r"), "while they run")
    )
    return Inventory(state_folder=str(home), kept=tuple(kept))


def _kept(home: Path, what: str, names: tuple[str, ...], how_long: str) -> Kept:
    files = [path for name in names for path in _files(home / name)]
    if "blobs.db" in names:
        files += [home / name for name in sorted(_journals(home))]
    return _measured(what, home / names[0] if len(names) == 1 else home, files, how_long)


def _measured(what: str, path: Path, files: list[Path], how_long: str) -> Kept:
    sizes = [file.lstat().st_size for file in files if os.path.lexists(file)]
    return Kept(what=what, path=str(path), files=len(sizes), bytes=sum(sizes), how_long=how_long)


def _entries(home: Path) -> Iterator[Path]:
    if home.is_dir():
        yield from home.iterdir()


def _journals(home: Path) -> set[str]:
    return {path.name for path in home.glob("blobs.db-*")}


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        return [each for each in sorted(path.rglob("*")) if not each.is_dir()]
    return [path] if os.path.lexists(path) else []
