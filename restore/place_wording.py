"""The questions about the place, in words for people."""

from resumed.protocol.restore import Difference, Drift, DriftKind
from resumed.restore.drift import CANCEL, Wording, asked
from resumed.restore.place import Place, WorktreeState, free_candidate
from resumed.restore.place_head import branch_at, commit_is_gone, relation, switchable
from resumed.restore.place_inner import lacks, lacks_after_switch, lacks_now
from resumed.restore.place_names import (
    branch_moved,
    branch_moved_row,
    folder_lacking,
    folder_words,
    head_now,
    head_then,
    is_elsewhere,
    where_words,
)
from resumed.restore.probes import FolderProbe, FolderSeen, RepositoryProbe, RepositorySeen, Seen
from resumed.restore.subsystem import Target
from resumed.restore.wording import (
    agent_name,
    capital,
    count,
    listed,
    operation_name,
    short_path,
    short_sha,
)

NO_NAME = "no free name for a new folder was found"


def silent_switch(state: WorktreeState, place: Place, seen: Seen, target: Target) -> Drift:
    """The record itself contains a change of folder that nobody chose."""
    homes, agent = target.here.homes, agent_name(target.here.agent)
    root, last = short_path(state.root, *homes), short_path(state.last_folder, *homes)
    repository = seen.get(RepositoryProbe(state.last_folder))
    obstacle = _last_obstacle(state, seen)
    return asked(
        DriftKind.SILENT_SWITCH,
        Wording(
            title="It changed folders by itself.",
            reason=f"It began in {root}; later {agent} ran in {last} without anyone choosing that.",
            labels={"open": f"Go back to {root}", "last": f"Continue in {last}"},
            not_possible={"last": obstacle} if obstacle else {},
        ),
        differences=(Difference(what="folder", recorded=root, now=f"{last} (its last turns)"),),
        facts={
            "last": state.last_folder,
            "branch": (repository.branch or "") if isinstance(repository, RepositorySeen) else "",
            "sha": (repository.sha or "") if isinstance(repository, RepositorySeen) else "",
        },
    )


def in_progress(place: Place, target: Target) -> Drift:
    """A merge, rebase or the like is half finished."""
    repository = place.repository
    name = operation_name(repository.in_progress) if repository else ""
    done = ""
    if repository is not None and repository.total:
        done = f"{repository.done or 0} of {count(repository.total, 'commit')}. "
    at = repository.done if repository is not None else None
    return asked(
        DriftKind.IN_PROGRESS,
        Wording(
            title=f"A {name} is half finished {where_words(place, target)}.",
            reason=f"{done}An agent editing now could damage it.",
            labels={CANCEL: "I'll finish it, then check again", "continueAnyway": "Continue anyway"},
            typed={"continueAnyway": name.split()[0]},
        ),
        differences=(Difference(what="under way", recorded="nothing", now=name),),
        facts={"inProgress": name, "done": "" if at is None else str(at)},
    )


def branch_question(kind: DriftKind, state: WorktreeState, place: Place, seen: Seen, target: Target) -> Drift:
    """Another branch, no branch, or the branch is gone."""
    repository = place.repository
    branch = branch_at(state, place, seen)
    return asked(
        kind,
        Wording(
            title=_branch_title(kind, state, place, target),
            reason=f"It was on {state.branch}; {folder_words(place, target)} is on "
            f"{_on_now(repository)}.{branch_moved(state, place, seen)}{_files_words(place, target)}",
            labels=_branch_labels(kind, state, place, seen, target),
            details=_branch_details(state, place, seen, target),
            not_possible=_branch_obstacles(kind, state, place, seen, target),
        ),
        differences=_branch_differences(state, place, seen),
        facts={
            "branch": (repository.branch or "") if repository else "",
            "sha": (repository.sha or "") if repository else "",
            "recorded": (branch.sha or "") if branch else "",
            "newFolder": free_candidate(state, place, seen) or "",
            "files": "\n".join(target.files_differ or ()),
            "lacking": " ".join(choice for choice, inside in _lacking(state, place, seen).items() if inside),
        },
    )


def commit(
    kind: DriftKind, state: WorktreeState, place: Place, seen: Seen, target: Target
) -> tuple[Wording, tuple[Difference, ...], dict[str, str]]:
    """Words, differences and facts of a commit that is not HEAD any more."""
    now = place.repository.sha if place.repository else None
    then_words, now_words = short_sha(state.sha), short_sha(now) if now else "no commit"
    as_of = " when it started" if state.sha_as_of == "start" else ""
    candidate = free_candidate(state, place, seen)
    beside = f" {short_path(candidate, *target.here.homes)}" if candidate else ""
    here = short_path(place.base or target.here.root, *target.here.homes)
    unrelated = ""
    if kind is DriftKind.REWRITTEN and now is not None and not relation(state, place, seen):
        unrelated = " How the two relate could not be looked at."
    wording = Wording(
        title=_commit_title(kind, state, place, seen, target),
        reason=f"It was at {then_words}{as_of}; now {now_words}.{unrelated}{_files_words(place, target)}",
        labels={
            "stay": "Continue and tell the agent what changed",
            "newWorktree": f"Open the recorded commit {then_words} in a new folder{beside}",
        },
        details={
            "newWorktree": f"On no branch. {here} stays as it is."
            f"{folder_lacking(lacks(state.sha, state, place, seen))}"
        },
        not_possible={} if candidate else {"newWorktree": NO_NAME},
    )
    differences = (Difference(what="commit", recorded=then_words, now=now_words),)
    facts = {
        "sha": now or "",
        "newFolder": candidate or "",
        "lacking": lacks(state.sha, state, place, seen),
        "files": "\n".join(target.files_differ or ()),
    }
    return wording, differences, facts


def commit_question(kind: DriftKind, state: WorktreeState, place: Place, seen: Seen, target: Target) -> Drift:
    """Ask about the commit."""
    wording, differences, facts = commit(kind, state, place, seen, target)
    return asked(kind, wording, differences=differences, facts=facts)


def _last_obstacle(state: WorktreeState, seen: Seen) -> str:
    there = seen.get(FolderProbe(state.last_folder))
    if not isinstance(there, FolderSeen) or there.kind == "unreadable":
        return "that folder could not be looked at"
    if there.kind != "folder":
        return "that folder is gone"
    repository = seen.get(RepositoryProbe(state.last_folder))
    if isinstance(repository, RepositorySeen) and repository.in_progress:
        return f"a {operation_name(repository.in_progress)} is half finished there"
    return ""


def _commit_title(kind: DriftKind, state: WorktreeState, place: Place, seen: Seen, target: Target) -> str:
    folder = folder_words(place, target)
    if kind is DriftKind.COMMIT_GONE:
        where = folder if is_elsewhere(place) else "this repository"
        return f"The commit {short_sha(state.sha)} is not in {where} any more."
    # A branch is written as it is, also at the beginning of a sentence.
    subject = state.branch or capital(folder)
    if kind is DriftKind.ADVANCED:
        return f"{subject} has new commits since."
    if place.repository is not None and place.repository.unborn:
        return f"{subject} has no commits any more."
    became = {
        "diverged": f"{'The branch' if state.branch else 'The history'} was rewritten since.",
        "descendant": f"{subject} was set back to an older commit.",
    }
    return became.get(relation(state, place, seen), f"{subject} is at another commit.")


def _branch_title(kind: DriftKind, state: WorktreeState, place: Place, target: Target) -> str:
    folder = folder_words(place, target)
    if kind is DriftKind.BRANCH_DELETED:
        return f"The branch {state.branch} was deleted."
    if place.repository is not None and place.repository.unborn:
        return f"{capital(folder)} is on a branch without commits."
    if kind is DriftKind.DETACHED:
        return f"{capital(folder)} is on no branch."
    if is_elsewhere(place):
        return f"{folder} is on a different branch."
    return "You are on a different branch."


def _on_now(repository: RepositorySeen | None) -> str:
    if repository is None:
        return "a branch that is not known"
    if repository.unborn:
        return f"{repository.branch or 'a branch'}, which has no commits yet"
    return repository.branch or head_now(repository)


def _files_words(place: Place, target: Target) -> str:
    where = "there" if is_elsewhere(place) else "here"
    if target.files_differ is None:
        return ""
    if not target.files_differ:
        return f" The files it edited are the same {where}."
    differ = "differs" if len(target.files_differ) == 1 else "differ"
    files = f"{count(len(target.files_differ), 'file')} it edited {differ} {where}"
    return f" {files}: {listed(target.files_differ)}."


def _branch_labels(
    kind: DriftKind, state: WorktreeState, place: Place, seen: Seen, target: Target
) -> dict[str, str]:
    repository = place.repository
    now = (repository.branch or head_now(repository)) if repository is not None else "it"
    there = " there" if is_elsewhere(place) else ""
    labels = {"stay": f"Stay on {now}{there} and tell the agent"}
    candidate = free_candidate(state, place, seen)
    beside = f" {short_path(candidate, *target.here.homes)}" if candidate else ""
    if kind is DriftKind.BRANCH_DELETED:
        labels["newWorktree"] = (
            f"Make {state.branch} again at {short_sha(state.sha)}, in a new folder{beside}"
        )
        return labels
    labels["newWorktree"] = f"Continue on {state.branch} in a new folder{beside}"
    labels["switch"] = f"Switch {folder_words(place, target)} back to {state.branch}"
    return labels


def _branch_details(state: WorktreeState, place: Place, seen: Seen, target: Target) -> dict[str, str]:
    here = short_path(place.base or target.here.root, *target.here.homes)
    differ = target.files_differ
    stay = f"{count(len(differ), 'file')} it edited will differ." if differ else ""
    lacking = {choice: folder_lacking(inside) for choice, inside in _lacking(state, place, seen).items()}
    return {
        "newWorktree": f"{here} stays as it is.{lacking['newWorktree']}",
        "switch": lacking["switch"].strip(),
        "stay": f"{stay}{lacking['stay']}".strip(),
    }


def _lacking(state: WorktreeState, place: Place, seen: Seen) -> dict[str, str]:
    """The folder inside where it worked, by the choices that leave it out; empty by the others."""
    branch = branch_at(state, place, seen)
    return {
        "newWorktree": lacks(branch.sha if branch else state.sha, state, place, seen),
        "switch": lacks_after_switch(state, place, seen),
        "stay": lacks_now(state, place, seen),
    }


def _branch_differences(state: WorktreeState, place: Place, seen: Seen) -> tuple[Difference, ...]:
    now = head_now(place.repository) if place.repository is not None else "not known"
    row = Difference(what="branch", recorded=head_then(state), now=now)
    return (row, *branch_moved_row(state, place, seen))


def _branch_obstacles(
    kind: DriftKind, state: WorktreeState, place: Place, seen: Seen, target: Target
) -> dict[str, str]:
    obstacles: dict[str, str] = {}
    branch = branch_at(state, place, seen)
    taken = ""
    if branch is not None and branch.checked_out_at is not None:
        where = short_path(branch.checked_out_at, *target.here.homes)
        taken = f"{state.branch} is checked out in {where}"
    if free_candidate(state, place, seen) is None:
        obstacles["newWorktree"] = NO_NAME
    elif taken:
        obstacles["newWorktree"] = taken
    elif branch is None and kind is not DriftKind.BRANCH_DELETED:
        obstacles["newWorktree"] = f"{state.branch} could not be looked at"
    if kind is DriftKind.BRANCH_DELETED:
        if state.sha is None:
            obstacles["newWorktree"] = "the commit it was at is not known"
        elif commit_is_gone(state, place.anchor, seen):
            obstacles["newWorktree"] = f"the commit {short_sha(state.sha)} is gone too"
        return obstacles
    switch = switchable(state, place, seen)
    if taken:
        obstacles["switch"] = taken
    elif isinstance(switch, str):
        obstacles["switch"] = switch
    elif switch.overwritten:
        obstacles["switch"] = (
            f"would overwrite {count(len(switch.overwritten), 'uncommitted file')}: "
            f"{listed(switch.overwritten)}. Commit or stash it first"
        )
    return obstacles
