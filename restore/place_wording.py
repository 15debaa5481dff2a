"""The questions about the place, in words for people."""

from resumed.protocol.restore import Difference, Drift, DriftKind
from resumed.restore.drift import CANCEL, Wording, asked
from resumed.restore.place import (
    Place,
    WorktreeState,
    branch_at,
    commit_drift,
    free_candidate,
    relation,
    switchable,
)
from resumed.restore.place_settle import chosen
from resumed.restore.probes import FolderProbe, FolderSeen, RepositoryProbe, RepositorySeen, Seen
from resumed.restore.subsystem import Choices, Target
from resumed.restore.wording import agent_name, count, listed, operation_name, short_path, short_sha

NO_NAME = "no free name for a new folder was found"


def silent_switch(state: WorktreeState, place: Place, seen: Seen, target: Target) -> Drift:
    """The record itself contains a change of folder that nobody chose."""
    home, agent = target.here.home, agent_name(target.here.agent)
    root, last = short_path(state.root, home), short_path(state.last_folder, home)
    last_there = seen.get(FolderProbe(state.last_folder))
    missing = not (isinstance(last_there, FolderSeen) and last_there.kind == "folder")
    repository = seen.get(RepositoryProbe(state.last_folder))
    obstacle = "that folder is gone" if missing else ""
    if isinstance(repository, RepositorySeen) and repository.in_progress:
        obstacle = f"a {operation_name(repository.in_progress)} is half finished there"
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
        done = f"{repository.done or 0} of {repository.total} commits. "
    return asked(
        DriftKind.IN_PROGRESS,
        Wording(
            title=f"A {name} is half finished here.",
            reason=f"{done}An agent editing now could damage it.",
            labels={CANCEL: "I'll finish it, then check again", "continueAnyway": "Continue anyway"},
            typed={"continueAnyway": name.split()[0]},
        ),
        differences=(Difference(what="under way", recorded="nothing", now=name),),
        facts={"inProgress": name, "done": str(repository.done if repository else "")},
    )


def branch_question(kind: DriftKind, state: WorktreeState, place: Place, seen: Seen, target: Target) -> Drift:
    """Another branch, no branch, or the branch is gone."""
    repository = place.repository
    now = repository.branch if repository else None
    now_words = now or f"no branch ({short_sha(repository.sha if repository else None)})"
    if repository is not None and repository.unborn:
        now_words = f"{now or 'a branch'} without commits"
    title = {
        DriftKind.BRANCH_DIFFERS: "You are on a different branch.",
        DriftKind.BRANCH_DELETED: f"The branch {state.branch} was deleted.",
        DriftKind.DETACHED: "This folder is on no branch.",
    }[kind]
    reason = f"It was on {state.branch}; this folder is on {now_words}.{_files_words(target)}"
    branch = branch_at(state, place, seen)
    return asked(
        kind,
        Wording(
            title=title,
            reason=reason,
            labels=_branch_labels(kind, state, place, seen, target, now_words),
            details=_branch_details(place, target),
            not_possible=_branch_obstacles(kind, state, place, seen, target),
        ),
        differences=(
            Difference(
                what="branch",
                recorded=f"{state.branch} ({short_sha(state.sha)})",
                now=f"{now_words} ({short_sha(repository.sha if repository else None)})"
                if now
                else now_words,
            ),
        ),
        facts={
            "branch": now or "",
            "sha": (repository.sha or "") if repository else "",
            "recorded": (branch.sha or "") if branch else "",
            "newFolder": _candidate(state, place, seen) or "",
            "files": "\n".join(target.files_differ or ()),
        },
    )


def commit(
    kind: DriftKind, state: WorktreeState, place: Place, seen: Seen, target: Target
) -> tuple[Wording, tuple[Difference, ...], dict[str, str]]:
    """Words, differences and facts of a commit that is not HEAD any more."""
    now = place.repository.sha if place.repository else None
    branch = state.branch or "this folder"
    as_of = " when it started" if state.sha_as_of == "start" else ""
    rewritten = {
        "diverged": "The branch was rewritten since.",
        "descendant": f"{branch} was set back to an older commit.",
    }
    title = {
        DriftKind.ADVANCED: f"{branch} has new commits since.",
        DriftKind.REWRITTEN: rewritten.get(relation(state, place, seen), f"{branch} is at another commit."),
        DriftKind.COMMIT_GONE: f"The commit {short_sha(state.sha)} is not in this repository any more.",
    }[kind]
    wording = Wording(
        title=title,
        reason=f"It was at {short_sha(state.sha)}{as_of}; now {short_sha(now)}.{_files_words(target)}",
        labels={
            "stay": "Continue and tell the agent what changed",
            "newWorktree": "Open the old commit in a new folder",
        },
        not_possible={} if _candidate(state, place, seen) else {"newWorktree": NO_NAME},
    )
    differences = (Difference(what="commit", recorded=short_sha(state.sha), now=short_sha(now)),)
    facts = {
        "sha": now or "",
        "newFolder": _candidate(state, place, seen) or "",
        "files": "\n".join(target.files_differ or ()),
    }
    return wording, differences, facts


def commit_question(kind: DriftKind, state: WorktreeState, place: Place, seen: Seen, target: Target) -> Drift:
    """Ask about the commit."""
    wording, differences, facts = commit(kind, state, place, seen, target)
    return asked(kind, wording, differences=differences, facts=facts)


def summary(state: WorktreeState, place: Place, target: Target) -> str:
    """Where the new run is, on one line."""
    parts = [short_path(target.root or state.root, target.here.home)]
    if target.branch or target.sha:
        parts.append(target.branch or "no branch")
    if target.sha:
        parts.append(short_sha(target.sha))
    line = ", ".join(parts)
    repository = place.repository
    if target.recreated:
        return f"{line} (made new)"
    if repository is not None and repository.branch != target.branch:
        return f"{line} (was on {repository.branch or 'no branch'})"
    return line


def told(state: WorktreeState, place: Place, choices: Choices, target: Target) -> tuple[str, ...]:
    """What the agent must know about its place."""
    home = target.here.home
    notes = []
    if target.root and target.root != target.recorded_root:
        now, before = short_path(target.root, home), short_path(target.recorded_root, home)
        notes.append(f"Your folder is now {now}; it was {before}.")
    if target.recreated:
        notes.append("This folder was made new; edits that were never committed are missing from it.")
    if state.branch and target.branch != state.branch:
        notes.append(f"This folder is on {target.branch or 'no branch'}, not on {state.branch}.")
    elif place.repository is not None and place.repository.branch != target.branch:
        notes.append(f"Back on {target.branch}.")
    if state.sha and target.sha and target.sha != state.sha:
        notes.append(f"HEAD is {short_sha(target.sha)}; it was {short_sha(state.sha)}.")
    if chosen(choices, DriftKind.IN_PROGRESS) == "continueAnyway" and place.repository is not None:
        name = operation_name(place.repository.in_progress)
        notes.append(f"A {name} is half finished here; do not disturb it.")
    return tuple(notes)


def _candidate(state: WorktreeState, place: Place, seen: Seen) -> str | None:
    return free_candidate(place.base or state.root, state, seen)


def _files_words(target: Target) -> str:
    if target.files_differ is None:
        return ""
    if not target.files_differ:
        return " The files it edited are the same here."
    differ = "differs" if len(target.files_differ) == 1 else "differ"
    files = f"{count(len(target.files_differ), 'file')} it edited {differ} here"
    return f" {files}: {listed(target.files_differ)}."


def _branch_labels(
    kind: DriftKind, state: WorktreeState, place: Place, seen: Seen, target: Target, now: str
) -> dict[str, str]:
    home = target.here.home
    labels = {"stay": f"Stay on {now} and tell the agent"}
    candidate = _candidate(state, place, seen)
    where = f" {short_path(candidate, home)}" if candidate else ""
    if kind is DriftKind.BRANCH_DELETED:
        labels["newWorktree"] = f"Make {state.branch} again at {short_sha(state.sha)}, in a new folder{where}"
        return labels
    labels["newWorktree"] = f"Continue on {state.branch} in a new folder{where}"
    labels["switch"] = f"Switch this folder back to {state.branch}"
    return labels


def _branch_details(place: Place, target: Target) -> dict[str, str]:
    here = short_path(place.base or target.here.root, target.here.home)
    differ = target.files_differ
    stay = f"{count(len(differ), 'file')} it edited will differ." if differ else ""
    return {"newWorktree": f"{here} stays as it is; undo removes the new folder.", "stay": stay}


def _branch_obstacles(
    kind: DriftKind, state: WorktreeState, place: Place, seen: Seen, target: Target
) -> dict[str, str]:
    obstacles: dict[str, str] = {}
    branch = branch_at(state, place, seen)
    if _candidate(state, place, seen) is None:
        obstacles["newWorktree"] = NO_NAME
    elif branch is not None and branch.checked_out_at is not None:
        where = short_path(branch.checked_out_at, target.here.home)
        obstacles["newWorktree"] = f"{state.branch} is checked out in {where}"
    elif branch is None and kind is not DriftKind.BRANCH_DELETED:
        obstacles["newWorktree"] = f"{state.branch} could not be looked at"
    if kind is DriftKind.BRANCH_DELETED:
        if state.sha is None:
            obstacles["newWorktree"] = "the commit it was at is not known"
        elif commit_drift(state, place, seen) is DriftKind.COMMIT_GONE:
            obstacles["newWorktree"] = f"the commit {short_sha(state.sha)} is gone too"
        return obstacles
    switch = switchable(state, place, seen)
    if isinstance(switch, str):
        obstacles["switch"] = switch
    elif switch.overwritten:
        obstacles["switch"] = (
            f"would overwrite {count(len(switch.overwritten), 'uncommitted file')}: "
            f"{listed(switch.overwritten)}. Commit or stash it first"
        )
    return obstacles
