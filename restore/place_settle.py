"""From the answers about the place to the target, and the one step that gets there."""

import msgspec

from resumed.protocol.restore import DriftKind
from resumed.restore.drift import LAST, drift_id
from resumed.restore.place import (
    Place,
    WorktreeState,
    as_recorded,
    canonical,
    free_candidate,
    judge,
    recorded_tops,
    within,
)
from resumed.restore.place_head import (
    branch_at,
    branch_drift,
    branch_is_gone,
    commit_drift,
    holder,
    switchable,
)
from resumed.restore.place_inner import folder_at, folder_now, lacks, lacks_after_switch
from resumed.restore.probes import RepositoryProbe, RepositorySeen, Seen, SwitchSeen
from resumed.restore.steps import (
    AddWorktree,
    HeadAt,
    PathAbsent,
    RegisteredAt,
    RemoveWorktree,
    Step,
    SwitchBranch,
)
from resumed.restore.subsystem import Choices, Target
from resumed.restore.wording import short_path, short_sha

HELD_KINDS = (DriftKind.BRANCH_DIFFERS, DriftKind.DETACHED, DriftKind.WORKTREE_REMOVED)
PLACE_KINDS = (
    DriftKind.BRANCH_DIFFERS,
    DriftKind.BRANCH_DELETED,
    DriftKind.DETACHED,
    DriftKind.ADVANCED,
    DriftKind.REWRITTEN,
    DriftKind.COMMIT_GONE,
    DriftKind.WORKTREE_REMOVED,
)


def tentative(state: WorktreeState, seen: Seen, target: Target) -> Target:
    """The place as it stands, before anything is chosen: for comparing touched files there."""
    place = judge(state, seen, target)
    return msgspec.structs.replace(_based(target, state, place), root=place.base, cwd=place.base)


def settle(state: WorktreeState, seen: Seen, choices: Choices, target: Target) -> Target | None:
    """The target that the answers fix; `None` when they leave no place to run in."""
    place = judge(state, seen, target)
    target = _based(target, state, place)
    if chosen(choices, DriftKind.SILENT_SWITCH) == LAST:
        return _last(state, seen, target)
    new = _new_folder(state, place, seen, choices, target)
    if new is not None:
        return msgspec.structs.replace(
            target,
            root=new.path,
            cwd=folder_at(new.path, lacks(new.sha, state, place, seen), state, target),
            branch=new.branch,
            sha=new.sha,
            repository=new.repository,
            commit=new.sha,
            recreated=True,
            branch_made=new.create_branch,
        )
    if _answer(choices, *HELD_KINDS) == "relink":
        other = holder(state, place, seen)
        return _at(target, other.top_level, state, seen, other.top_level) if other is not None else None
    if place.base is None:
        relinked = chosen(choices, place.kind) == "relink" if place.kind else False
        return _at(target, target.here.root, state, seen, target.here.root) if relinked else None
    if switches(choices):
        branch = branch_at(state, place, seen)
        switch = switchable(state, place, seen)
        if branch is None or not isinstance(switch, SwitchSeen):
            return None
        return msgspec.structs.replace(
            target,
            root=place.base,
            cwd=folder_at(place.base, lacks_after_switch(state, place, seen), state, target),
            branch=state.branch,
            sha=branch.sha,
            worktree_id=place.repository.worktree_id if place.repository else None,
            repository=place.base,
            commit=branch.sha,
            carried=switch.carried,
        )
    settled = _at(target, place.base, state, seen, place.anchor)
    stayed = _answer(choices, *PLACE_KINDS) == "stay"
    accepted = (target.files_differ or ()) if stayed else ()
    return msgspec.structs.replace(settled, accepted_files=accepted)


def move(state: WorktreeState, place: Place, seen: Seen, choices: Choices, target: Target) -> Step | None:
    """The step that changes the repository, if the answers need one."""
    if chosen(choices, DriftKind.SILENT_SWITCH) == LAST:
        return None
    new = _new_folder(state, place, seen, choices, target)
    if new is not None:
        return _making(new, seen, target)
    repository = place.repository
    if (
        not switches(choices)
        or repository is None
        or place.base is None
        or repository.sha is None
        or target.sha is None
    ):
        return None
    verb = SwitchBranch(
        restore_id=target.restore_id,
        root=place.base,
        from_branch=repository.branch,
        from_sha=repository.sha,
        to_branch=target.branch,
        to_sha=target.sha,
    )
    back = SwitchBranch(
        restore_id=target.restore_id,
        root=place.base,
        from_branch=target.branch,
        from_sha=target.sha,
        to_branch=repository.branch,
        to_sha=repository.sha,
        moved_by=target.restore_id,
    )
    return Step(
        subsystem="worktree",
        title=f"Switch {short_path(place.base, *target.here.homes)} back to {target.branch}",
        do=verb,
        undo=back,
        expects=(HeadAt(path=place.base, branch=repository.branch, sha=repository.sha),),
        ensures=(HeadAt(path=place.base, branch=target.branch, sha=target.sha),),
    )


def _making(new: AddWorktree, seen: Seen, target: Target) -> Step:
    source = seen.get(RepositoryProbe(new.repository))
    entries = source.worktrees if isinstance(source, RepositorySeen) else ()
    head = next((entry.head for entry in entries if entry.path == new.path and entry.gone), None)
    registered = () if head is None else (RegisteredAt(repository=new.repository, path=new.path, head=head),)
    where = short_path(new.path, *target.here.homes)
    return Step(
        subsystem="worktree",
        title=f"Make {where} on {new.branch or short_sha(new.sha)}",
        do=msgspec.structs.replace(new, registered_at=head),
        undo=RemoveWorktree(
            restore_id=new.restore_id,
            repository=new.repository,
            path=new.path,
            sha=new.sha,
            branch=new.branch,
            delete_branch=new.create_branch,
            registered_at=head,
        ),
        expects=(PathAbsent(new.path), *registered),
        ensures=(HeadAt(path=new.path, branch=new.branch, sha=new.sha),),
    )


def chosen(choices: Choices, kind: DriftKind) -> str | None:
    """The choice taken for a kind of the place."""
    answer = choices.get(drift_id(kind))
    return answer.choice if answer else None


def switches(choices: Choices) -> bool:
    """Whether HEAD is to be moved back."""
    went_on = chosen(choices, DriftKind.SILENT_SWITCH) == LAST
    return not went_on and _answer(choices, DriftKind.BRANCH_DIFFERS, DriftKind.DETACHED) == "switch"


def _answer(choices: Choices, *kinds: DriftKind) -> str | None:
    return next((choice for kind in kinds if (choice := chosen(choices, kind)) is not None), None)


def _new_folder(
    state: WorktreeState, place: Place, seen: Seen, choices: Choices, target: Target
) -> AddWorktree | None:
    choice = _answer(choices, *PLACE_KINDS)
    if choice not in ("recreate", "newWorktree") or place.source is None:
        return None
    branch = branch_at(state, place, seen)
    path = place.top if choice == "recreate" else free_candidate(state, place, seen)
    if path is None:
        return None
    old_commit = place.base is not None and branch_drift(state, place, seen) is None
    made = AddWorktree(restore_id=target.restore_id, repository=place.source, path=path, sha=state.sha or "")
    if old_commit and commit_drift(state, place, seen) is not None:
        return made if state.sha else None
    if branch is not None and branch.sha is not None:
        return msgspec.structs.replace(made, sha=branch.sha, branch=state.branch)
    if state.sha is None or (state.branch is not None and not branch_is_gone(state, place, seen)):
        return None
    return msgspec.structs.replace(made, branch=state.branch, create_branch=state.branch is not None)


def _last(state: WorktreeState, seen: Seen, target: Target) -> Target | None:
    there = seen.get(RepositoryProbe(state.last_folder))
    folder = canonical(state.last_folder, seen)
    root = (
        there.top_level if isinstance(there, RepositorySeen) and within(folder, there.top_level) else folder
    )
    recorded = as_recorded(state.last_folder, folder[len(root) :]) or root
    at = msgspec.structs.replace(target, recorded_root=recorded, canonical_root=root)
    return msgspec.structs.replace(_at(at, root, state, seen, state.last_folder), cwd=folder)


def _at(target: Target, root: str, state: WorktreeState, seen: Seen, anchor: str) -> Target:
    there = seen.get(RepositoryProbe(anchor))
    repository = there if isinstance(there, RepositorySeen) else None
    return msgspec.structs.replace(
        target,
        root=root,
        cwd=folder_now(root, state, seen, target),
        branch=repository.branch if repository else None,
        sha=repository.sha if repository else None,
        worktree_id=repository.worktree_id if repository else None,
    )


def _based(target: Target, state: WorktreeState, place: Place) -> Target:
    recorded, resolved = recorded_tops(state, place)
    return msgspec.structs.replace(target, recorded_root=recorded, canonical_root=resolved)
