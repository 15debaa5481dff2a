"""What became of calls that have no end: judged by the files they announced, else by a person.

Only a file that was seen decides. A command that announced no edit is never judged by files, since it
may have done other things.
"""

import copy

import msgspec

from resumed.protocol.restore import Difference, Drift, DriftKind
from resumed.restore import patches, touched
from resumed.restore.drift import Wording, asked, drift_id
from resumed.restore.events.session import FilePatch
from resumed.restore.operation_state import Open, OperationsState
from resumed.restore.probes import FileSeen, Seen
from resumed.restore.subsystem import Choices, Target
from resumed.restore.touched import Touched
from resumed.restore.wording import agent_name, capital

LANDED, NOT_LANDED, UNCLEAR = "landed", "notLanded", "unclear"

VERDICT_WORDS = {
    "landed": "its edit is in the files",
    "notLanded": "its edit is not in the files",
    "finished": "you said that it finished",
    "notRun": "you said that it did not run",
    "agentChecks": "the agent will check first",
}
VERDICT_NOTES = {
    "landed": "its edit is in the files, do not repeat it.",
    "notLanded": "its edit is not in the files.",
    "finished": "the user says that it finished, do not run it again.",
    "notRun": "the user says that it did not run.",
    "agentChecks": "check whether it took effect before going on; do not simply run it again.",
}
EDIT_WORDS = {"finished": "you said that it was made", "notRun": "you said that it was not made"}
EDIT_NOTES = {
    "finished": "the user says that it was made, do not make it again.",
    "notRun": "the user says that it was not made.",
}
READ_WORDS = "it only reads"
READ_NOTE = "it only reads, its result is missing."


class Left(msgspec.Struct, frozen=True, kw_only=True):
    """The files as the agent left them, counting the edits of cut-off calls that did land, and the
    paths of which that can't be said because a call's effect on them is not clear."""

    files: dict[str, Touched]
    unclear: frozenset[str]


def effect(operation: Open, seen: Seen, target: Target) -> str:
    """What the files say of an open call: `landed`, `notLanded` or `unclear`."""
    if operation.operation_class == "read":
        return NOT_LANDED
    if operation.patches:
        verdicts = {_patch_effect(patch, seen, target) for patch in operation.patches}
    elif operation.operation_class == "write" and operation.pre_hashes:
        verdicts = {
            NOT_LANDED if _hash_now(path, seen, target) == before else UNCLEAR
            for path, before in operation.pre_hashes.items()
        }
    else:
        return UNCLEAR
    return verdicts.pop() if len(verdicts) == 1 else UNCLEAR


def verdict(operation: Open, seen: Seen, choices: Choices, target: Target) -> tuple[str, str]:
    """What to record of an open call, and by whom: evidence, person or unattended."""
    by_files = effect(operation, seen, target)
    if by_files != UNCLEAR:
        return by_files, "evidence"
    answer = choices.get(drift_id(DriftKind.DANGLING_OPERATION, operation.operation_id))
    return (answer.choice, "person") if answer else ("agentChecks", "unattended")


def verdict_words(operation: Open, found: str) -> str:
    """What became of a call, for a person."""
    if operation.operation_class == "read":
        return READ_WORDS
    words = VERDICT_WORDS if operation.operation_class == "external" else VERDICT_WORDS | EDIT_WORDS
    return words[found]


def verdict_note(operation: Open, found: str) -> str:
    """What became of a call, for the agent."""
    if operation.operation_class == "read":
        return READ_NOTE
    notes = VERDICT_NOTES if operation.operation_class == "external" else VERDICT_NOTES | EDIT_NOTES
    return notes[found]


def left_by_agent(state: OperationsState, seen: Seen, target: Target) -> Left:
    """What to compare the files with."""
    files, unclear = state.files, set[str]()
    for operation in state.open.values():
        if operation.operation_class == "read":
            continue
        match effect(operation, seen, target):
            case "landed":
                files = copy.deepcopy(files) if files is state.files else files
                for patch in operation.patches:
                    touched.touch(files, patch)
            case "unclear":
                unclear.update(announced_paths(operation))
    return Left(files=files, unclear=frozenset(unclear))


def announced_paths(operation: Open) -> tuple[str, ...]:
    """Every file that the call said it would touch, in order."""
    paths = dict.fromkeys(operation.pre_hashes)
    for patch in operation.patches:
        paths.update(dict.fromkeys((patch.moved_from, patch.path) if patch.moved_from else (patch.path,)))
    return tuple(paths)


def dangling(operation: Open, target: Target) -> Drift:
    """Ask what became of a call."""
    command = operation.operation_class == "external"
    agent = agent_name(target.here.agent)
    cannot_see = "We cannot see databases or servers, and will not run it again."
    cannot_tell = f"{_its_files(operation)} whether it was made; it will not be made again."
    wording = Wording(
        title="One command may or may not have finished."
        if command
        else "One edit may or may not have been made.",
        reason=f"{capital(operation.title)} was cut off. " + (cannot_see if command else cannot_tell),
        labels={
            "agentChecks": f"Tell {agent} to check first",
            "finished": "It finished" if command else "It was made",
            "notRun": "It did not run" if command else "It was not made",
        },
    )
    return asked(
        DriftKind.DANGLING_OPERATION,
        wording,
        path=operation.operation_id,
        differences=(Difference(what=operation.title, recorded="begun", now="end not known"),),
        facts={"begun": operation.at},
    )


def _its_files(operation: Open) -> str:
    if not (operation.paths or announced_paths(operation)):
        return "We do not know of a file that shows"
    return "Its file does not show" if len(operation.paths) == 1 else "Its files do not show"


def _hash_now(path: str, seen: Seen, target: Target) -> str | None:
    probe = touched.probe_for(path, target)
    observation = seen.get(probe) if probe is not None else None
    if not isinstance(observation, FileSeen):
        return None
    return touched.ABSENT if observation.kind == "absent" else observation.sha256


def _patch_effect(patch: FilePatch, seen: Seen, target: Target) -> str:
    probe = touched.probe_for(patch.path, target)
    observation = seen.get(probe) if probe is not None else None
    if not isinstance(observation, FileSeen):
        return UNCLEAR
    absent = observation.kind == "absent"
    # An edit, unlike a deletion, goes through a link.
    through_link = observation.kind == "link" and patch.change != "delete"
    if observation.kind in ("folder", "other", "link") and not through_link:
        # Who put that there, and whether before or after the edit, is not known.
        return UNCLEAR
    if patch.change == "delete":
        return LANDED if absent else NOT_LANDED
    if absent:
        return NOT_LANDED if patch.change == "add" or patch.moved_from else UNCLEAR
    if patch.sha256 is not None:
        return LANDED if observation.sha256 == patch.sha256 else UNCLEAR
    if observation.content is None or not patch.hunks:
        return UNCLEAR
    state = patches.patch_state(patch.hunks, patches.lines_of(observation.content))
    return {patches.PRESENT: LANDED, patches.ABSENT: NOT_LANDED}.get(state, UNCLEAR)
