"""Cursors by path and by thread."""

import msgspec

from resumed.daemon.file_cursors import FileCursors
from resumed.daemon.storage.rows import FileCursor

ONE, OTHER = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"


def _cursor(path: str, thread_id: str) -> FileCursor:
    return FileCursor(path=path, device=1, inode=1, size=1, mtime_ns=1, thread_id=thread_id, head=b"")


def test_each_path_has_one_cursor_and_each_thread_its_own() -> None:
    a, b, c = _cursor("/a", ONE), _cursor("/b", ONE), _cursor("/c", OTHER)
    files = FileCursors([a, b, c])
    assert files.of_thread(ONE) == (a, b)
    grown = msgspec.structs.replace(a, size=2)
    taken = msgspec.structs.replace(b, thread_id=OTHER)
    files.put([grown, taken])
    assert (files.of_thread(ONE), files.of_thread(OTHER)) == ((grown,), (c, taken))
    assert files.get("/a") == grown
    assert files.by_path() == {"/a": grown, "/b": taken, "/c": c}
    assert (len(files), grown in files, a in files) == (3, True, False)


def test_what_is_dropped_is_gone_from_both() -> None:
    files = FileCursors([_cursor("/a", ONE), _cursor("/b", OTHER)])
    files.drop(["/a", "/nowhere"])
    assert (files.of_thread(ONE), files.get("/a"), [*files]) == ((), None, [_cursor("/b", OTHER)])
