"""Whether an edit still stands in a file, judged from the file's lines.

A hunk is *present* when its added lines stand consecutively with the nearest context line on at
least one side; *absent* when the old side stands there; else *unknown*. Where both seem to stand, the
one with more of its context does; a tie is unknown. Unknown is never "unchanged".
"""

from collections.abc import Sequence

from resumed.restore.events.session import Hunk

PRESENT = "present"
ABSENT = "absent"
UNKNOWN = "unknown"

NOWHERE, ONE_SIDE, BOTH_SIDES, WHOLE = range(4)


def lines_of(content: bytes) -> list[str]:
    """The file's lines without their ends; undecodable bytes survive as escapes.

    Only a newline ends a line, with or without a carriage return before it: a form feed is text."""
    if not content:
        return []
    text = content.decode("utf-8", "surrogateescape").removesuffix("\n")
    return [line.removesuffix("\r") for line in text.split("\n")]


def hunk_state(hunk: Hunk, lines: Sequence[str]) -> str:
    """`present`, `absent` or `unknown`."""
    if not hunk.added and not hunk.removed:
        return UNKNOWN
    before, after = _ends_off(hunk.before), _ends_off(hunk.after)
    new = _stands(before, _ends_off(hunk.added), after, lines)
    old = _stands(before, _ends_off(hunk.removed), after, lines)
    if new == old:
        return UNKNOWN
    return PRESENT if new > old else ABSENT


def patch_state(hunks: Sequence[Hunk], lines: Sequence[str]) -> str:
    """All hunks present, all absent, or unknown when they disagree."""
    states = {hunk_state(hunk, lines) for hunk in hunks}
    return states.pop() if len(states) == 1 else UNKNOWN


def still_expected(earlier: Sequence[Hunk], later: Sequence[Hunk]) -> tuple[Hunk, ...]:
    """The places of an earlier edit that a later one did not take back or write over: only those
    can be looked for afterwards."""
    removed = {line for hunk in later for line in hunk.removed}
    added = {line for hunk in later for line in hunk.added}
    return tuple(
        hunk
        for hunk in earlier
        if not (removed.intersection(hunk.added) if hunk.added else added.intersection(hunk.removed))
    )


def _stands(before: list[str], middle: list[str], after: list[str], lines: Sequence[str]) -> int:
    """How well `middle` stands anywhere in the file. A side without context is the file's edge."""
    best = NOWHERE
    for start in range(len(lines) - len(middle) + 1):
        end = start + len(middle)
        if list(lines[start:end]) != middle:
            continue
        above = lines[start - 1] == before[-1] if before and start else not before and not start
        below = lines[end] == after[0] if after and end < len(lines) else not after and end == len(lines)
        if above and below:
            whole_above = list(lines[max(start - len(before), 0) : start]) == before
            whole_below = list(lines[end : end + len(after)]) == after
            best = max(best, WHOLE if whole_above and whole_below else BOTH_SIDES)
        elif (above or below) and middle:
            best = max(best, ONE_SIDE)
        if best == WHOLE:
            break
    return best


def _ends_off(lines: Sequence[str]) -> list[str]:
    return [line.removesuffix("\r") for line in lines]
