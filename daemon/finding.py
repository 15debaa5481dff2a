"""Which conversation a person means by a name, an id, or a part of either."""

from collections.abc import Sequence

from resumed.daemon.storage.rows import ThreadRow
from resumed.daemon.surroundings import ELSEWHERE, Folders
from resumed.protocol.errors import ErrorCode, ResumedError


def one_of(rows: Sequence[ThreadRow], text: str, folders: Folders, reading: bool) -> ThreadRow:
    """The one that is meant of those that `text` fits: one of exactly that name, else one here, else the
    only one. `reading`: not everything has been read yet.

    Raises `ResumedError` `threadNotFound` when it fits none, `threadAmbiguous` when it fits several."""
    wanted = text.strip().casefold()
    exact = [row for row in rows if wanted in (row.thread_id, row.name.casefold())]
    here = [row for row in (exact or rows) if folders.group(row.root) != ELSEWHERE]
    for choice in (exact, here, list(rows)):
        if len(choice) == 1:
            return choice[0]
    if rows:
        raise ResumedError(
            ErrorCode.THREAD_AMBIGUOUS,
            f"“{text}” fits {len(rows)} conversations.",
            "Give more of the name, or the id.",
            candidates=tuple(f"{row.thread_id} {row.name}" for row in rows[:10]),
        )
    if reading:
        raise ResumedError(
            ErrorCode.THREAD_NOT_FOUND,
            f"There is no conversation “{text}” among those read so far.",
            "Not everything has been read yet; try again soon.",
        )
    raise ResumedError(
        ErrorCode.THREAD_NOT_FOUND,
        f"There is no conversation “{text}”.",
        "resumed threads --all lists them.",
    )
