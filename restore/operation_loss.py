"""How it is said that edits of the agent do not count any more: no more than is known of each file.

An edit is missing only where it was seen not to stand there; a file that was changed since may still
hold it.
"""

from collections.abc import Sequence

import msgspec

from resumed.protocol.restore import DriftKind
from resumed.restore.drift import drift_id
from resumed.restore.operation_files import Differing
from resumed.restore.subsystem import Choices, Target
from resumed.restore.wording import count

OTHER_BRANCH = (DriftKind.BRANCH_DIFFERS, DriftKind.BRANCH_DELETED, DriftKind.DETACHED)
MISSING = ("reverted", "gone")


class Losses(msgspec.Struct, frozen=True, kw_only=True):
    """The reason, and how many files, on one line each."""

    reason: str
    summary: str


def losses(lost: Sequence[Differing], choices: Choices, target: Target) -> Losses:
    """What of the agent's work does not count in the folder where the work goes on."""
    missing = sum(each.now in MISSING for each in lost)
    changed = sum(each.now == "changed" for each in lost)
    unknown = sum(each.now == "unknown" for each in lost)
    reasons, parts = [], []
    if missing:
        reasons.append(f"edits of the agent are missing from {_where(choices, target)}")
        parts.append(f"its edits of {count(missing, 'file')} are missing here")
    if changed and _same_branch(choices, target):
        reasons.append("files that the agent edited were changed since")
        parts.append(f"{count(changed, 'file')} that it edited {_was(changed)} changed since")
    elif changed:
        reasons.append(f"files {_at(choices, target)} are not as the agent left them")
        parts.append(f"{count(changed, 'file')} {_is(changed)} not as it left {_them(changed)}")
    if unknown:
        reasons.append("files that the agent edited could not be compared")
        parts.append(f"{count(unknown, 'file')} that it edited could not be compared")
    return Losses(reason="; ".join(reasons), summary=", ".join(parts))


def loss_record(choices: Choices, target: Target) -> str:
    """Why the edits do not count, for the record."""
    if target.recreated:
        return "missing from a folder made new"
    return "changed since" if _same_branch(choices, target) else "other branch"


def _same_branch(choices: Choices, target: Target) -> bool:
    answers = (choices.get(drift_id(kind)) for kind in OTHER_BRANCH)
    return not target.recreated and not any(answer and answer.choice == "stay" for answer in answers)


def _where(choices: Choices, target: Target) -> str:
    if target.recreated:
        return "the folder that was made new"
    return "this folder" if _same_branch(choices, target) else "the branch you stay on"


def _at(choices: Choices, target: Target) -> str:
    where = _where(choices, target)
    return f"on {where}" if where.startswith("the branch") else f"in {where}"


def _was(number: int) -> str:
    return "was" if number == 1 else "were"


def _is(number: int) -> str:
    return "is" if number == 1 else "are"


def _them(number: int) -> str:
    return "it" if number == 1 else "them"
