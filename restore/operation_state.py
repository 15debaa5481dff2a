"""What is on record of the tool calls: which were begun and settled, and the files they left behind.

Each call counts once, however often it is told. The first end that is told counts, except that an
end told after somebody only judged the call takes the judgement's place.
"""

import msgspec

from resumed.restore import touched
from resumed.restore.events.envelope import Event
from resumed.restore.events.session import (
    FilePatch,
    OperationBegun,
    OperationResolved,
    OperationSettled,
    SessionMeta,
    StateInvalidated,
    WorktreeBound,
)
from resumed.restore.lifecycle import RESUME
from resumed.restore.touched import Touched
from resumed.restore.wording import listed, one_line

DONE_VERDICTS = ("landed", "finished")
RESOLVED = "resolved"


class Open(msgspec.Struct, kw_only=True):
    """A call that was begun and has no end in the record."""

    operation_id: str
    tool: str
    title: str
    operation_class: str
    at: str
    turn: str | None
    paths: tuple[str, ...]
    pre_hashes: dict[str, str]
    patches: tuple[FilePatch, ...]


class GivenUp(msgspec.Struct, kw_only=True):
    """Edits that a person went on without, at this root on this branch: why, by the file's path. While
    `restoring`, a restore has begun that no agent is known to have been told of."""

    root: str = ""
    branch: str | None = None
    reasons: dict[str, str] = {}
    restoring: bool = False


class OperationsState(msgspec.Struct, kw_only=True):
    """`known` maps an operation to `state digest`, so that a redelivery is answered from it."""

    known: dict[str, str] = {}
    counts: dict[str, int] = {}
    open: dict[str, Open] = {}
    results: dict[str, str] = {}
    files: dict[str, Touched] = {}
    resolved: dict[str, str] = {}
    last_effect_at: str = ""
    given_up: GivenUp = msgspec.field(default_factory=GivenUp)


def begin(state: OperationsState, begun: OperationBegun, event: Event) -> None:
    """Fold the announcement of a call."""
    before, _, digest = state.known.get(begun.operation_id, "").partition(" ")
    if before:
        if not digest:
            # Its end was told first.
            state.known[begun.operation_id] = f"{before} {begun.args_digest}"
        return
    state.known[begun.operation_id] = f"begun {begun.args_digest}"
    state.counts["begun"] = state.counts.get("begun", 0) + 1
    state.open[begun.operation_id] = Open(
        operation_id=begun.operation_id,
        tool=begun.tool,
        title=_title(begun),
        operation_class=begun.operation_class,
        at=event.at or event.ts,
        turn=event.turn,
        paths=begun.paths,
        pre_hashes=begun.pre_hashes,
        patches=begun.patches,
    )


def settle(state: OperationsState, settled: OperationSettled, event: Event) -> None:
    """Fold the end of a call, and what it did to files."""
    operation = state.open.pop(settled.operation_id, None)
    before = state.known.get(settled.operation_id, "").partition(" ")[0]
    if operation is None and before not in ("", RESOLVED):
        return
    counted = state.resolved.pop(settled.operation_id, None) in DONE_VERDICTS
    _recount(state, settled.operation_id, settled.state)
    if settled.state != "committed" and not settled.post_hashes and not settled.patches:
        return
    state.last_effect_at = event.at or event.ts
    announced = operation.patches if operation and settled.state == "committed" else ()
    for patch in () if counted else settled.patches or announced:
        touched.touch(state.files, patch)
    pre_hashes = operation.pre_hashes if operation else {}
    for path, after in settled.post_hashes.items():
        touched.hashed(state.files, path, pre_hashes.get(path), after)


def resolve(state: OperationsState, resolved: OperationResolved) -> None:
    """Fold a judgement of a call that has no end; an edit that was made is the agent's from then on."""
    operation = state.open.pop(resolved.operation_id, None)
    if operation is None:
        return
    state.resolved[resolved.operation_id] = resolved.verdict
    _recount(state, resolved.operation_id, RESOLVED)
    if resolved.verdict in DONE_VERDICTS:
        for patch in operation.patches:
            touched.touch(state.files, patch)


def begin_run(state: OperationsState, meta: SessionMeta) -> None:
    """Fold that a run begins. A restore records anew what is still given up; in any other run the agent
    finds the files as they are."""
    state.given_up.reasons, state.given_up.restoring = {}, meta.reason == RESUME


def give_up(state: OperationsState, invalidated: StateInvalidated) -> None:
    """Fold that edits do not count where the work goes on."""
    for path in invalidated.keys or tuple(state.files):
        state.given_up.reasons[path] = invalidated.reason
    if not state.given_up.restoring:
        forget(state)


def forget(state: OperationsState) -> None:
    """Fold that the agent knows which edits do not count: those files are not compared again until
    touched."""
    for path in state.given_up.reasons:
        state.files.pop(path, None)
    state.given_up.reasons, state.given_up.restoring = {}, False


def move(state: OperationsState, bound: WorktreeBound) -> None:
    """Fold that the work goes on in another root: what the agent left in the old one is compared there."""
    if (bound.root, bound.branch) != (state.given_up.root, state.given_up.branch):
        restoring = state.given_up.restoring
        state.given_up = GivenUp(root=bound.root or "", branch=bound.branch, restoring=restoring)
    root, before = bound.root, bound.moved_from
    if root is None or not before:
        return
    files = {}
    for file in state.files.values():
        file.path = touched.moved(file.path, before, root)
        files[file.path] = file
    state.files = files
    for operation in state.open.values():
        operation.paths = tuple(touched.moved(path, before, root) for path in operation.paths)
        operation.pre_hashes = {
            touched.moved(path, before, root): value for path, value in operation.pre_hashes.items()
        }
        operation.patches = tuple(_moved_patch(patch, before, root) for patch in operation.patches)


def _moved_patch(patch: FilePatch, before: tuple[str, ...], root: str) -> FilePatch:
    source = patch.moved_from and touched.moved(patch.moved_from, before, root)
    return msgspec.structs.replace(
        patch, path=touched.moved(patch.path, before, root), moved_from=source or None
    )


def _title(begun: OperationBegun) -> str:
    """The call in a sentence: its command, what it edits or reads, else the tool's name."""
    command = begun.args.get("cmd") or begun.args.get("command")
    name = " ".join(map(str, command)) if isinstance(command, (list, tuple)) else command
    if name:
        return f"`{one_line(str(name))}`"
    if begun.paths:
        names = listed([path.rsplit("/", 1)[-1] for path in begun.paths])
        what = {"write": "the edit of", "read": "the reading of"}.get(begun.operation_class)
        return f"{what or f'`{one_line(begun.tool)}` on'} {names}"
    return f"`{one_line(begun.tool)}`"


def _recount(state: OperationsState, operation_id: str, now: str) -> None:
    before, _, digest = state.known.get(operation_id, "").partition(" ")
    if before:
        state.counts[before] -= 1
        if not state.counts[before]:
            del state.counts[before]
    state.known[operation_id] = f"{now} {digest}"
    state.counts[now] = state.counts.get(now, 0) + 1
