"""How it is said that edits of the agent do not count any more: no more than is known of each file.

An edit is missing only where it was seen not to stand there; a file that was changed since may still
hold it.
"""

from collections.abc import Sequence

import msgspec

from resumed.protocol.restore import DriftKind
from resumed.restore.drift import drift_id
from resumed.restore.operation_files import MADE_NEW, MISSING, Differing
from resumed.restore.subsystem import Choices, Target
from resumed.restore.wording import count

OTHER_BRANCH = (DriftKind.BRANCH_DIFFERS, DriftKind.BRANCH_DELETED, DriftKind.DETACHED)
STAYED, CHANGED_SINCE = "other branch", "changed since"
FROM = {
    MADE_NEW: "the folder that was made new",
    STAYED: "the branch you stay on",
    CHANGED_SINCE: "this folder",
}


class Losses(msgspec.Struct, frozen=True, kw_only=True):
    """The reason, and how many files, on one line each."""

    reason: str
    summary: str


def losses(lost: Sequence[Differing], choices: Choices, target: Target) -> Losses:
    """What of the agent's work does not count in the folder where the work goes on."""
    reasons, parts = [], []
    for why, files in by_reason(lost, choices, target).items():
        missing = sum(each.now in MISSING for each in files)
        changed = sum(each.now == "changed" for each in files)
        if missing:
            reasons.append(f"edits of the agent are missing from {FROM[why]}")
            parts.append(f"its edits of {count(missing, 'file')} are missing here")
        if changed and why == CHANGED_SINCE:
            reasons.append("files that the agent edited were changed since")
            parts.append(f"{count(changed, 'file')} that it edited {_was(changed)} changed since")
        elif changed:
            at = "on" if why == STAYED else "in"
            reasons.append(f"files {at} {FROM[why]} are not as the agent left them")
            parts.append(f"{count(changed, 'file')} {_is(changed)} not as it left {_them(changed)}")
    unknown = sum(each.now == "unknown" for each in lost)
    if unknown:
        reasons.append("files that the agent edited could not be compared")
        parts.append(f"{count(unknown, 'file')} that it edited could not be compared")
    return Losses(reason="; ".join(reasons), summary=", ".join(parts))


def by_reason(lost: Sequence[Differing], choices: Choices, target: Target) -> dict[str, list[Differing]]:
    """The files by why their edits do not count, for the record: as of this restore, or as of the one
    before it that no agent took up."""
    grouped: dict[str, list[Differing]] = {}
    for each in lost:
        grouped.setdefault(each.given_up or _why(choices, target), []).append(each)
    return grouped


def _why(choices: Choices, target: Target) -> str:
    if target.recreated:
        return MADE_NEW
    answers = (choices.get(drift_id(kind)) for kind in OTHER_BRANCH)
    return STAYED if any(answer and answer.choice == "stay" for answer in answers) else CHANGED_SINCE


def _was(number: int) -> str:
    return "was" if number == 1 else "were"


def _is(number: int) -> str:
    return "is" if number == 1 else "are"


def _them(number: int) -> str:
    return "it" if number == 1 else "them"
