"""The place: folder, repository, work tree, branch and commit, and how to get back there.

The recorded root is the last folder that someone chose; a folder that the agent drifted into by
itself is never it. HEAD moves only by a recorded choice.
"""

from typing import ClassVar

import msgspec

from resumed.protocol.restore import Drift, DriftKind, Status
from resumed.protocol.threads import PlaceView
from resumed.restore import place_branch, place_outcome, place_question, place_settle, place_wording
from resumed.restore.drift import informed
from resumed.restore.events.envelope import Event, Payload
from resumed.restore.events.journal import RestoreClosed
from resumed.restore.events.session import SessionMeta, WorktreeBound
from resumed.restore.events.worktree import WorktreeMeta
from resumed.restore.lifecycle import RESUME
from resumed.restore.place import Left, Place, WorktreeState, judge, strayed
from resumed.restore.place_head import branch_drift, commit_drift, tree_equal
from resumed.restore.place_looks import place_probes
from resumed.restore.place_submodules import empty_submodules, submodule_probes
from resumed.restore.probes import AnyProbe, Seen
from resumed.restore.steps import RecordState, Step
from resumed.restore.subsystem import Choices, Restoration, Target
from resumed.restore.unknowns import place_unknowns


class Worktree:
    """See the module."""

    name: ClassVar[str] = "worktree"
    version: ClassVar[int] = 3
    after: ClassVar[tuple[str, ...]] = ("environment",)
    handles: ClassVar[tuple[type[Payload], ...]] = (SessionMeta, WorktreeBound, WorktreeMeta, RestoreClosed)
    state_type: ClassVar[type[WorktreeState]] = WorktreeState

    def initial(self) -> WorktreeState:
        """Nowhere."""
        return WorktreeState()

    def apply(self, state: WorktreeState, event: Event) -> WorktreeState:
        """Fold one event in."""
        match event.payload:
            case SessionMeta() as meta:
                _begin(state, meta)
            case WorktreeBound() as bound:
                _bind(state, bound)
            case WorktreeMeta() as meta:
                state.kinds[meta.worktree_id] = meta.evidence.get("kind", "")
                state.kind = state.kinds.get(state.worktree_id or "", "")
            case RestoreClosed():
                # It is read only of a run that an agent took up: now the agent has been told.
                state.restoring, state.left = False, None
        return state

    def probes(self, state: WorktreeState, target: Target) -> tuple[AnyProbe, ...]:
        """Both places, the branch and the commit in each, and names for a new folder; of one that is made
        new, its submodules."""
        return (*place_probes(state, target), *submodule_probes(target))

    def drift(self, state: WorktreeState, seen: Seen, target: Target) -> tuple[Drift, ...]:
        """The place itself, then what is half finished there, then its branch or its commit."""
        place = judge(state, seen, target)
        found: list[Drift] = []
        if strayed(state, seen):
            found.append(place_wording.silent_switch(state, place, seen, target))
        if place.kind is not None:
            found.append(place_question.place_question(state, place, seen, target))
        if place.base is None or place.repository is None:
            return tuple(found)
        if place.repository.in_progress:
            found.append(place_wording.in_progress(place, target))
        branch = branch_drift(state, place, seen)
        if branch is not None:
            found.append(place_branch.branch_question(branch, state, place, seen, target))
        else:
            found += _commit(state, place, seen, target)
        return tuple(found)

    def steps(self, state: WorktreeState, seen: Seen, choices: Choices, target: Target) -> Restoration:
        """Get to the place that was chosen, and record that the new run is there."""
        place = judge(state, seen, target)
        move = place_settle.move(state, place, seen, choices, target)
        own = {key: answer for key, answer in choices.items() if key.startswith(f"{self.name}.")}
        record = Step(
            subsystem=self.name,
            title="Record where it runs",
            do=RecordState(events=(("worktree_bound", _bound(target, own)),)),
        )
        steps = (record,) if move is None else (move, record)
        return Restoration(
            status=Status.RESTORED,
            reason="as you chose" if own else "as recorded",
            summary=place_outcome.summary(state, place, choices, target),
            steps=steps,
            details=empty_submodules(seen, target),
            told=(*place_outcome.told(state, place, seen, choices, target), *empty_submodules(seen, target)),
            unknown=place_unknowns(state, seen, target),
            now=place_outcome.settled(state, seen, choices, target),
        )

    def view(self, state: WorktreeState) -> PlaceView:
        """Where the thread ran."""
        return PlaceView(
            root=state.root,
            last_folder=state.last_folder,
            silent_switches=tuple(state.silent),
            branch=state.branch,
            sha=state.sha,
            sha_as_of=state.sha_as_of,
            origin=state.origin,
            repo_id=state.repo_id,
            worktree_id=state.worktree_id,
        )


def _begin(state: WorktreeState, meta: SessionMeta) -> None:
    """A later run of the same thread begins where it was bound; only the first sets the place."""
    state.restoring = meta.reason == RESUME
    if state.root:
        return
    state.root = state.cwd = state.last_folder = meta.cwd
    state.branch, state.sha, state.origin = meta.git.branch, meta.git.sha, meta.git.origin
    state.repo_id, state.worktree_id = meta.repo_id, meta.worktree_id


def _bind(state: WorktreeState, bound: WorktreeBound) -> None:
    if bound.cause == "observed":
        state.branch, state.sha, state.sha_as_of = bound.branch, bound.sha, "last"
        return
    if bound.cause == "agentSilent":
        if bound.cwd != state.last_folder:
            state.last_folder = bound.cwd
            if bound.cwd != state.cwd and bound.cwd not in state.silent:
                state.silent.append(bound.cwd)
        return
    _leave(state, bound)
    state.root, state.root_recorded = bound.root or bound.cwd, bound.root is not None
    state.cwd = state.last_folder = bound.cwd
    state.silent = []
    state.branch = bound.branch
    state.sha = bound.sha
    state.sha_as_of = "last" if bound.root is not None else "start"


def _leave(state: WorktreeState, bound: WorktreeBound) -> None:
    """What a new place does to what is known of the old one. Another work tree never inherits an id."""
    if not state.restoring:
        state.left = None
    else:
        left = state.left or Left(root=state.root, branch=state.branch, sha=state.sha)
        state.left = msgspec.structs.replace(
            left,
            made=(bound.root or bound.cwd) if bound.made else left.made,
            branch_made=(bound.branch or "") if bound.branch_made else left.branch_made,
            inside=left.inside or _worked_without(state, bound),
        )
    if bound.worktree_id is not None or bound.made or bound.moved_from:
        state.worktree_id = bound.worktree_id
        state.kind = "linked" if bound.made else state.kinds.get(bound.worktree_id or "", "")


def _worked_without(state: WorktreeState, bound: WorktreeBound) -> str:
    """The folder inside the root where it worked, relative, if it now goes on at the top level."""
    inside = state.cwd.removeprefix(state.root.rstrip("/") + "/")
    return inside if inside != state.cwd and bound.cwd == bound.root else ""


def _bound(target: Target, choices: Choices) -> dict[str, object]:
    names = dict.fromkeys((target.recorded_root, target.canonical_root))
    return {
        "cwd": target.cwd or target.root or "",
        "cause": "userChoice" if choices else "start",
        "root": target.root,
        "worktree_id": target.worktree_id,
        "branch": target.branch,
        "sha": target.sha,
        "moved_from": [name for name in names if name not in ("", target.root)],
        "made": target.recreated,
        "branch_made": target.branch_made,
    }


def _commit(state: WorktreeState, place: Place, seen: Seen, target: Target) -> list[Drift]:
    """A moved commit is a question only where the touched files differ by it."""
    kind = commit_drift(state, place, seen)
    if kind is None:
        return []
    wording, differences, facts = place_wording.commit(kind, state, place, seen, target)
    harmless = kind is not DriftKind.COMMIT_GONE and (
        tree_equal(state, place, seen) or target.files_differ == ()
    )
    if harmless:
        return [informed(kind, wording, differences=differences, facts=facts)]
    return [place_wording.commit_question(kind, state, place, seen, target)]


WORKTREE = Worktree()
