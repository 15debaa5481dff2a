"""How it is said that edits of the agent do not count any more: no more than is known of each file.

An edit is missing only where it was seen not to stand there; a file that was changed since may still
hold it.
"""

from collections.abc import Sequence

import msgspec

from resumed.protocol.restore import DriftKind
from resumed.restore.drift import drift_id
from resumed.restore.operation_files import MADE_NEW, Differing
from resumed.restore.subsystem import Choices, Target
from resumed.restore.wording import count

OTHER_BRANCH = (DriftKind.BRANCH_DIFFERS, DriftKind.BRANCH_DELETED, DriftKind.DETACHED)
MISSING = ("reverted", "gone")
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
    missing = sum(each.now in MISSING for each in lost)
    changed = sum(each.now == "changed" for each in lost)
    unknown = sum(each.now == "unknown" for each in lost)
    why = loss_record(lost, choices, target)
    reasons, parts = [], []
    if missing:
        reasons.append(f"edits of the agent are missing from {FROM[why]}")
        parts.append(f"its edits of {count(missing, 'file')} are missing here")
    if changed and why == CHANGED_SINCE:
        reasons.append("files that the agent edited were changed since")
        parts.append(f"{count(changed, 'file')} that it edited {_was(changed)} changed since")
    elif changed:
        reasons.append(f"files {'on' if why == STAYED else 'in'} {FROM[why]} are not as the agent left them")
        parts.append(f"{count(changed, 'file')} {_is(changed)} not as it left {_them(changed)}")
    if unknown:
        reasons.append("files that the agent edited could not be compared")
        parts.append(f"{count(unknown, 'file')} that it edited could not be compared")
    return Losses(reason="; ".join(reasons), summary=", ".join(parts))


def loss_record(lost: Sequence[Differing], choices: Choices, target: Target) -> str:
    """Why the edits do not count, for the record: as of this restore, else as of the one before it
    that no agent took up."""
    if target.recreated:
        return MADE_NEW
    answers = (choices.get(drift_id(kind)) for kind in OTHER_BRANCH)
    if any(answer and answer.choice == "stay" for answer in answers):
        return STAYED
    return next((each.given_up for each in lost if each.given_up), CHANGED_SINCE)


def _was(number: int) -> str:
    return "was" if number == 1 else "were"


def _is(number: int) -> str:
    return "is" if number == 1 else "are"


def _them(number: int) -> str:
    return "it" if number == 1 else "them"
