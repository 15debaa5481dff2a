"""How far each file was read when it was last looked at, by its path and by its thread."""

from collections.abc import Collection, Iterable, Iterator

from resumed.daemon.storage.rows import FileCursor


class FileCursors(Collection[FileCursor]):
    """The cursors of files, one for each path. Asking for those of one thread costs their number alone."""

    def __init__(self, cursors: Iterable[FileCursor] = ()) -> None:
        self._by_path: dict[str, FileCursor] = {}
        self._of_thread: dict[str, dict[str, FileCursor]] = {}
        self.put(cursors)

    def __len__(self) -> int:
        return len(self._by_path)

    def __iter__(self) -> Iterator[FileCursor]:
        return iter(self._by_path.values())

    def __contains__(self, cursor: object) -> bool:
        return isinstance(cursor, FileCursor) and self._by_path.get(cursor.path) == cursor

    def by_path(self) -> dict[str, FileCursor]:
        """All of them as they are now, by path."""
        return dict(self._by_path)

    def get(self, path: str) -> FileCursor | None:
        """The cursor of the file at this path."""
        return self._by_path.get(path)

    def of_thread(self, thread_id: str) -> tuple[FileCursor, ...]:
        """The cursors of the files of one thread."""
        return tuple(self._of_thread.get(thread_id, {}).values())

    def put(self, cursors: Iterable[FileCursor]) -> None:
        """Add cursors; each replaces that of its path."""
        for cursor in cursors:
            self.drop([cursor.path])
            self._by_path[cursor.path] = cursor
            self._of_thread.setdefault(cursor.thread_id, {})[cursor.path] = cursor

    def drop(self, paths: Iterable[str]) -> None:
        """Remove the cursors of these paths; unknown ones do nothing."""
        for path in paths:
            before = self._by_path.pop(path, None)
            if before is None:
                continue
            of_thread = self._of_thread[before.thread_id]
            del of_thread[path]
            if not of_thread:
                del self._of_thread[before.thread_id]
