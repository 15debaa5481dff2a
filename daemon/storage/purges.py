"""The journal of removing threads for good.

A thread whose removal was begun is shown by nobody, whatever of it is still there, and whoever takes its
lease finishes that first. Each workspace's index is told to forget it by a marker of its own.
"""

import contextlib
import os
from pathlib import Path

import msgspec

from resumed.daemon.ports.regular import open_regular
from resumed.daemon.storage import disk
from resumed.daemon.storage.errors import StorageFailed
from resumed.daemon.storage.layout import Layout
from resumed.protocol.ids import InvalidId, parse_uuid


class Purge(msgspec.Struct, frozen=True, kw_only=True):
    """What is being removed: the ids of the thread and of its runs, and the contents that they named."""

    thread_id: str
    sessions: tuple[str, ...]
    contents: tuple[str, ...] = ()


def begin(layout: Layout, purge: Purge) -> None:
    """Decide, durably, that the thread is gone. Raises `OSError`."""
    disk.replace(_begun_path(layout, purge.thread_id), msgspec.json.encode(purge) + b"\n")


def begun(layout: Layout, thread_id: str) -> Purge | None:
    """The removal of this thread that was begun and not finished.

    Raises `StorageFailed` when it is there and can't be read: what it names is then not known."""
    path = _begun_path(layout, thread_id)
    try:
        return _read(path)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise StorageFailed(f"{path.name} of the removals that were begun can't be read: {error}.") from error


def is_begun(layout: Layout, thread_id: str) -> bool:
    """Whether the removal of this thread was begun and not finished."""
    return _begun_path(layout, thread_id).exists()


def all_begun(layout: Layout) -> frozenset[str]:
    """The threads whose removal was begun and not finished."""
    return _ids(layout.purges, ".json")


def staged(layout: Layout) -> frozenset[str]:
    """The threads of which a killed process has left something here that counts for nothing."""
    names = (path.name[1:] for path in layout.purges.glob(".*.staged"))
    return frozenset(thread_id for name in names if (thread_id := _id(name.partition(".")[0])))


def drop_staged(layout: Layout, thread_id: str) -> None:
    """Remove what a killed process has left of this thread; the lease of the thread is held."""
    for path in layout.purges.glob(f".{parse_uuid(thread_id)}.*.staged"):
        _unlink(path)


def end(layout: Layout, thread_id: str) -> None:
    """Everything of the thread is removed. Raises `OSError`."""
    _unlink(_begun_path(layout, thread_id))


def leave_contents(layout: Layout, purge: Purge) -> None:
    """Note which contents are still to be removed, once it is safe, besides those of an earlier removal of a
    thread of this id. Raises `OSError`."""
    before = (left.contents for left in contents_left(layout) if left.thread_id == purge.thread_id)
    contents = tuple(sorted({*purge.contents, *(name for names in before for name in names)}))
    noted = msgspec.structs.replace(purge, contents=contents)
    disk.replace(_contents_path(layout, purge.thread_id), msgspec.json.encode(noted) + b"\n")


def contents_left(layout: Layout) -> tuple[Purge, ...]:
    """The notes of contents still to be removed, those that can be read."""
    found = []
    for thread_id in sorted(_ids(layout.purges, ".contents")):
        with contextlib.suppress(OSError, msgspec.MsgspecError, UnicodeDecodeError):
            found.append(_read(_contents_path(layout, thread_id)))
    return tuple(found)


def contents_done(layout: Layout, thread_id: str) -> None:
    """Nothing of its contents is still to be removed. Raises `OSError`."""
    _unlink(_contents_path(layout, thread_id))


def tell_workspace(layout: Layout, workspace_id: str, thread_id: str) -> None:
    """Let the process that serves this workspace forget the thread. Raises `OSError`."""
    disk.make_folder(layout.forget_folder(workspace_id))
    path = layout.forget_folder(workspace_id) / parse_uuid(thread_id)
    with contextlib.suppress(FileExistsError):
        os.close(disk.create(path))


def to_forget(layout: Layout, workspace_id: str) -> frozenset[str]:
    """The threads that this workspace was told to forget."""
    return _ids(layout.forget_folder(workspace_id), "")


def forgotten(layout: Layout, workspace_id: str, thread_id: str) -> None:
    """The workspace has forgotten the thread. Raises `OSError`."""
    _unlink(layout.forget_folder(workspace_id) / parse_uuid(thread_id))


def _begun_path(layout: Layout, thread_id: str) -> Path:
    return layout.purges / f"{parse_uuid(thread_id)}.json"


def _contents_path(layout: Layout, thread_id: str) -> Path:
    return layout.purges / f"{parse_uuid(thread_id)}.contents"


def _read(path: Path) -> Purge:
    with open_regular(path) as file:
        return msgspec.json.decode(file.read(), type=Purge)


def _ids(folder: Path, suffix: str) -> frozenset[str]:
    found = set()
    with contextlib.suppress(FileNotFoundError):
        for name in os.listdir(folder):
            stem, dot, extension = name.partition(".")
            if dot + extension == suffix and (thread_id := _id(stem)):
                found.add(thread_id)
    return frozenset(found)


def _id(text: str) -> str:
    try:
        return parse_uuid(text)
    except InvalidId:
        return ""


def _unlink(path: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        path.unlink()
        disk.sync_folder(path.parent)
