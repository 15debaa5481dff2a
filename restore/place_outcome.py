"""Where the new run is, for a person, and what the agent must know of it.

An agent knows only of places that it was told of: what a restore settled without an agent taking it
up is told again.
"""

from resumed.protocol.restore import DriftKind
from resumed.restore.drift import LAST
from resumed.restore.place import Left, Place, WorktreeState, canonical
from resumed.restore.place_inner import missing
from resumed.restore.place_settle import chosen, switches
from resumed.restore.probes import RepositoryProbe, RepositorySeen, Seen
from resumed.restore.subsystem import Choices, Target
from resumed.restore.wording import operation_name, short_path, short_sha


def summary(state: WorktreeState, place: Place, choices: Choices, target: Target) -> str:
    """Where the new run is, on one line."""
    parts = [short_path(target.cwd or target.root or state.root, *target.here.homes)]
    if target.branch or target.sha:
        parts.append(target.branch or "no branch")
    if target.sha:
        parts.append(short_sha(target.sha))
    line = ", ".join(parts)
    if target.branch_made:
        return f"{line} (made new, as is the branch)"
    if target.recreated:
        return f"{line} (made new)"
    if switches(choices) and place.repository is not None:
        return f"{line} (was on {place.repository.branch or 'no branch'})"
    return line


def settled(state: WorktreeState, seen: Seen, choices: Choices, target: Target) -> dict[str, str]:
    """What became of each difference, by its name: where the new run is. Only the last folder of an
    agent that strayed may be in another repository."""
    repository = state.origin or "not known"
    if chosen(choices, DriftKind.SILENT_SWITCH) == LAST:
        there = seen.get(RepositoryProbe(state.last_folder))
        repository = (there.origin if isinstance(there, RepositorySeen) else None) or "none"
    now = {"folder": short_path(target.root or "", *target.here.homes), "repository": repository}
    if target.branch or target.sha:
        at = short_sha(target.sha) if target.sha else "no commits yet"
        now["branch"] = f"{target.branch or 'no branch'} ({at})"
    if target.sha:
        now["commit"] = short_sha(target.sha)
    return now


def told(state: WorktreeState, place: Place, seen: Seen, choices: Choices, target: Target) -> tuple[str, ...]:
    """What the agent must know about its place."""
    left = state.left or Left(root=target.recorded_root, branch=state.branch, sha=state.sha)
    before = canonical(left.root, seen) if state.left else target.canonical_root
    notes = []
    if target.root and target.root not in (left.root, before):
        now, then = (short_path(path, *target.here.homes) for path in (target.root, left.root))
        notes.append(f"Your folder is now {now}; it was {then}.")
    inside = missing(state, target)
    if inside and chosen(choices, DriftKind.SILENT_SWITCH) != LAST:
        notes.append(f"This folder has no {inside}, where you worked.")
    if target.recreated or (left.made and left.made == target.root):
        notes.append("This folder was made new.")
    if target.branch_made or (left.branch_made and left.branch_made == target.branch):
        notes.append(f"The branch {target.branch} was gone and was made again at {short_sha(target.sha)}.")
    if left.branch and target.branch != left.branch:
        notes.append(f"This folder is on {target.branch or 'no branch'}, not on {left.branch}.")
    elif left.branch is None and left.sha and target.branch:
        notes.append(f"This folder is on {target.branch}; you worked on no branch.")
    elif switches(choices):
        notes.append(f"Back on {target.branch}.")
    if left.sha and target.sha and target.sha != left.sha:
        notes.append(f"HEAD is {short_sha(target.sha)}; it was {short_sha(left.sha)}.")
    if chosen(choices, DriftKind.IN_PROGRESS) == "continueAnyway" and place.repository is not None:
        name = operation_name(place.repository.in_progress)
        notes.append(f"A {name} is half finished here; do not disturb it.")
    return tuple(notes)
