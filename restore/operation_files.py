"""Files that are not as the agent left them: the questions, and what is said of them afterwards.

No file is ever written from here. An edit that is missing from a folder made new, or from a branch
that the person stays on, no longer counts; a file that the person keeps does. Neither a new folder nor
another branch does anything to a file that lies outside the folder. Where something else stands in a
file's place, such as a folder, that is said instead of anything about its text.
"""

import posixpath

import msgspec

from resumed.protocol.restore import Difference, Drift, DriftKind
from resumed.restore import touched
from resumed.restore.drift import Wording, asked, informed
from resumed.restore.operation_effects import left_by_agent
from resumed.restore.operation_state import OperationsState
from resumed.restore.probes import FileSeen, Seen
from resumed.restore.subsystem import Target
from resumed.restore.touched import Touched
from resumed.restore.wording import agent_name, capital, count, short_path

FILE_KINDS = {
    "changed": DriftKind.FILE_CHANGED,
    "unknown": DriftKind.FILE_CHANGED,
    "reverted": DriftKind.FILE_REVERTED,
    "gone": DriftKind.FILE_GONE,
}
INSTEAD = {
    "folder": "a folder is there now",
    "link": "a link is there now",
    "other": "something that is not a file is there now",
}
CHANGE_WORDS = {"add": "written", "update": "edited", "delete": "deleted"}
MADE_NEW = "missing from a folder made new"
MISSING = ("reverted", "gone")


class Differing(msgspec.Struct, frozen=True, kw_only=True):
    """One file that is not as the agent left it. `path` is relative to the recorded root (absolute
    outside it), `name` is that for people, `now` is changed, unknown, reverted or gone, `there` the
    kind of what was seen at its place (empty when nothing could be), `lost` whether its edit no longer
    counts, `given_up` why it did not already before (no agent has been told)."""

    file: Touched
    path: str
    name: str
    now: str
    there: str
    sha256: str | None
    lost: bool
    given_up: str = ""

    @property
    def instead(self) -> str:
        """What stands in the file's place, in words; empty where that is a file, or as it was before."""
        return INSTEAD.get(self.there, "") if self.now in ("changed", "unknown") else ""


def differing(state: OperationsState, seen: Seen, target: Target) -> tuple[Differing, ...]:
    """Every touched file that is not, or not certainly, as the agent left it."""
    left = left_by_agent(state, seen, target)
    found = []
    for file in left.files.values():
        probe = touched.probe_for(file.path, target)
        if probe is None or file.path in left.unclear:
            continue
        observation = seen.get(probe)
        now = touched.state_now(file, observation)
        if now == "present":
            continue
        path = touched.relative(file.path, target)
        given_up = _given_up(file.path, state, target)
        if given_up == MADE_NEW and now not in MISSING:
            # It was missing then; whoever put this there did it since.
            given_up = ""
        accepted = target.recreated or path in target.accepted_files or bool(given_up)
        found.append(
            Differing(
                file=file,
                path=path,
                name=short_path(path, *target.here.homes),
                now=now,
                there=observation.kind if isinstance(observation, FileSeen) else "",
                sha256=observation.sha256 if isinstance(observation, FileSeen) else None,
                lost=not posixpath.isabs(path) and accepted,
                given_up=given_up,
            )
        )
    return tuple(found)


def doubtful_paths(state: OperationsState, seen: Seen, target: Target) -> tuple[str, ...]:
    """The touched files in the folder that differ, and those that a cut-off call may have written;
    relative."""
    unclear = sorted(left_by_agent(state, seen, target).unclear)
    differ = [difference.path for difference in differing(state, seen, target)]
    doubtful = dict.fromkeys((*differ, *(touched.relative(path, target) for path in unclear)))
    return tuple(path for path in doubtful if not posixpath.isabs(path))


def file_drift(differs: Differing, target: Target) -> Drift:
    """Ask about the file, or only list it where its loss was accepted with the place."""
    name, agent = differs.name, agent_name(target.here.agent)
    title = _title(differs, agent)
    if differs.lost and (target.recreated or differs.given_up == MADE_NEW):
        reason = "The folder is made new, so an edit that was never committed is missing. The agent is told."
    elif differs.lost:
        reason = "You go on with the files as they are here. The agent is told."
    elif differs.now == "gone":
        reason = "It stays away, and the agent is told."
    else:
        reason = "It will be kept exactly as it is, and the agent is told."
    make = informed if differs.lost else asked
    return make(
        FILE_KINDS[differs.now],
        Wording(
            title=title,
            reason=reason,
            labels={"keep": "Leave it as it is and tell the agent"},
            details={"keep": "Nothing is written to it."},
        ),
        path=differs.path,
        differences=(Difference(what=name, recorded="as the agent left it", now=_now_words(differs)),),
        facts={"now": differs.now, "sha256": differs.sha256 or ""},
    )


def loss(differs: Differing) -> str:
    """What of the agent's work is missing, on one line."""
    file, path = differs.file, differs.name
    if differs.now == "unknown":
        return f"{path}: could not be compared{f', {differs.instead}' if differs.instead else ''}"
    if differs.instead:
        return f"{path}: {CHANGE_WORDS[file.change]} by the agent, {differs.instead}"
    if file.change == "delete":
        back = "is there again" if differs.now == "reverted" else "is there again, with other text"
        return f"{path}: deleted by the agent, {back}"
    if file.change == "add":
        return f"{path}: written by the agent, {'missing' if differs.now == 'gone' else 'other text now'}"
    if differs.now == "gone":
        return f"{path}: edited by the agent, the whole file is missing"
    parts = []
    if file.lines_added:
        verb = "is" if file.lines_added == 1 else "are"
        parts.append(f"{count(file.lines_added, 'line')} added by the agent {verb} missing")
    if file.lines_removed and not file.lines_added:
        verb = "is" if file.lines_removed == 1 else "are"
        parts.append(f"{count(file.lines_removed, 'line')} removed by the agent {verb} there again")
    if differs.now == "reverted" and parts:
        return f"{path}: {parts[0]}"
    return f"{path}: the agent's edit is missing" if differs.now == "reverted" else f"{path}: {_other(parts)}"


def kept(differs: Differing) -> str:
    """That a file stays as the person has it, on one line."""
    if differs.now == "unknown":
        there = f", {differs.instead}" if differs.instead else ""
        return f"{differs.name}: kept as it is{there}; whether it changed is not known"
    if differs.now == "gone":
        return f"{differs.name}: stays away"
    return f"{differs.name}: kept as it is, {_now_words(differs)}"


def note(differs: Differing) -> str:
    """What the agent must know of it."""
    name, again = differs.name, "Read it again before editing."
    if differs.instead:
        return f"{_replaced(differs, 'you')} {_before_editing(differs)}"
    if differs.now == "unknown":
        return f"Whether {name} is as you left it is not known. {again}"
    if differs.now == "gone":
        return f"{name} is gone."
    if differs.file.change == "delete":
        text = "" if differs.now == "reverted" else " with other text"
        return f"{name}, which you deleted, is there again{text}. {again}"
    now = "as before your edit" if differs.now == "reverted" else "other text"
    return f"{name} is not as you left it: {now}. {again}"


def _given_up(path: str, state: OperationsState, target: Target) -> str:
    """Why the person went on without the edit before, at the same place, while no agent took that up."""
    before = state.given_up
    same_place = (before.root, before.branch) == (target.root, target.branch) and not target.recreated
    return before.reasons.get(path, "") if same_place else ""


def _title(differs: Differing, agent: str) -> str:
    name, change = differs.name, differs.file.change
    if differs.instead:
        return _replaced(differs, agent)
    if differs.now == "unknown":
        return f"Whether {name} was changed after {agent} is not known."
    if change == "delete":
        text = "" if differs.now == "reverted" else " with other text"
        return f"{name}, which {agent} deleted, is there again{text}."
    if differs.now == "gone":
        return f"{name}, which {agent} {'wrote' if change == 'add' else 'edited'}, is gone."
    if differs.now == "reverted":
        return f"{agent}'s edit of {name} is not here any more."
    return f"{name} was changed after {agent}."


def _replaced(differs: Differing, agent: str) -> str:
    """That something else stands in the file's place, for whom the agent is `agent`."""
    name, instead = differs.name, differs.instead
    if differs.now == "unknown":
        return f"Whether {name} is as {agent} left it is not known: {instead}."
    if differs.file.change == "delete":
        return f"{capital(agent)} deleted {name}; {instead}."
    return f"{name} is not as {agent} left it: {instead}."


def _before_editing(differs: Differing) -> str:
    if differs.there == "link":
        return "Look where it leads before editing."
    return "It cannot be edited as a file."


def _other(parts: list[str]) -> str:
    return "not as the agent left it" if not parts else f"not as the agent left it; {parts[0]} or changed"


def _now_words(differs: Differing) -> str:
    if differs.instead:
        return differs.instead
    if differs.file.change == "delete" and differs.now != "unknown":
        return "there again" if differs.now == "reverted" else "there again, other text"
    return {
        "gone": "not there",
        "reverted": "as before the agent",
        "changed": "other text",
        "unknown": "not known",
    }[differs.now]
