"""The questions about the place, in words for people."""

from resumed.protocol.restore import Difference, Drift, DriftKind
from resumed.restore.drift import CANCEL, Wording, asked
from resumed.restore.place import (
    Place,
    WorktreeState,
    branch_at,
    commit_drift,
    free_candidate,
    same_repository,
    switchable,
)
from resumed.restore.place_settle import chosen
from resumed.restore.probes import FolderProbe, FolderSeen, RepositoryProbe, RepositorySeen, Seen
from resumed.restore.subsystem import Choices, Target
from resumed.restore.wording import IN_PROGRESS_WORDS, agent_name, count, listed, short_path, short_sha

NOT_HERE = "not there"


def place_question(state: WorktreeState, place: Place, seen: Seen, target: Target) -> Drift:
    """The question about the place itself."""
    kind = place.kind or DriftKind.GONE
    wording = {
        DriftKind.OTHER_PROJECT: _other_project,
        DriftKind.MOVED: _moved,
        DriftKind.WORKTREE_REMOVED: _worktree_removed,
    }.get(kind, _lost)(state, place, seen, target)
    here = seen.get(RepositoryProbe(target.here.root))
    return asked(
        kind,
        wording,
        differences=_differences(state, place, here if isinstance(here, RepositorySeen) else None, target),
        facts={
            "root": state.root,
            "here": target.here.root,
            "base": place.base or "",
            "branch": (place.repository.branch or "") if place.repository else "",
        },
    )


def silent_switch(state: WorktreeState, place: Place, seen: Seen, target: Target) -> Drift:
    """The record itself contains a change of folder that nobody chose."""
    home, agent = target.here.home, agent_name(target.here.agent)
    root, last = short_path(state.root, home), short_path(state.last_folder, home)
    last_there = seen.get(FolderProbe(state.last_folder))
    missing = not (isinstance(last_there, FolderSeen) and last_there.kind == "folder")
    return asked(
        DriftKind.SILENT_SWITCH,
        Wording(
            title="It changed folders by itself.",
            reason=f"It began in {root}; later {agent} ran in {last} without anyone choosing that.",
            labels={"open": f"Go back to {root}", "last": f"Continue in {last}"},
            not_possible={"last": "that folder is gone"} if missing else {},
        ),
        differences=(Difference(what="folder", recorded=root, now=f"{last} (its last turns)"),),
        facts={"last": state.last_folder},
    )


def in_progress(place: Place, target: Target) -> Drift:
    """A merge, rebase or the like is half finished."""
    repository = place.repository
    name = IN_PROGRESS_WORDS.get(repository.in_progress or "", "git operation") if repository else ""
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
    title = {
        DriftKind.ADVANCED: f"{branch} has new commits since.",
        DriftKind.REWRITTEN: "The branch was rewritten since.",
        DriftKind.COMMIT_GONE: f"The commit {short_sha(state.sha)} is not in this repository any more.",
    }[kind]
    wording = Wording(
        title=title,
        reason=f"It was at {short_sha(state.sha)}{as_of}; now {short_sha(now)}.{_files_words(target)}",
        labels={
            "stay": "Continue and tell the agent what changed",
            "newWorktree": "Open the old commit in a new folder",
        },
        not_possible={}
        if free_candidate(place.base or state.root, state, seen)
        else {"newWorktree": "the names for a new folder are taken"},
    )
    differences = (Difference(what="commit", recorded=short_sha(state.sha), now=short_sha(now)),)
    return wording, differences, {"sha": now or "", "files": "\n".join(target.files_differ or ())}


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
        name = IN_PROGRESS_WORDS.get(place.repository.in_progress or "", "git operation")
        notes.append(f"A {name} is half finished here; do not disturb it.")
    return tuple(notes)


def _other_project(state: WorktreeState, place: Place, seen: Seen, target: Target) -> Wording:
    home = target.here.home
    there, here = short_path(place.base or state.root, home), short_path(target.here.root, home)
    same = same_repository(state, target.here.root, seen) == "same"
    what = "another checkout of the same repository" if same else "a different repository"
    return Wording(
        title="This conversation belongs to another checkout."
        if same
        else "This conversation belongs to another project.",
        reason=f"It ran in {there}; this is {here}, {what}.",
        labels={"open": f"Open {there} and continue there"},
        details={"open": f"{here} is not touched."},
    )


def _moved(state: WorktreeState, place: Place, seen: Seen, target: Target) -> Wording:
    here = short_path(target.here.root, target.here.home)
    sure = "is the same repository" if place.certain else "looks like the same repository"
    return Wording(
        title="The project folder has moved.",
        reason=f"Was {short_path(state.root, target.here.home)}; {here} {sure}.",
        labels={"relink": f"Use {here} from now on"},
    )


def _worktree_removed(state: WorktreeState, place: Place, seen: Seen, target: Target) -> Wording:
    home = target.here.home
    branch = branch_at(state, place, seen)
    where = short_path(state.root, home)
    if branch is not None:
        kept = f"Branch {state.branch} still exists. "
    elif state.branch:
        kept = f"Branch {state.branch} is gone too. "
    else:
        kept = ""
    candidate = free_candidate(state.root, state, seen)
    labels = {"recreate": "Recreate it at the same place"}
    if candidate is not None:
        labels["newWorktree"] = f"Make it at {short_path(candidate, home)}"
    obstacle = {}
    if branch is not None and branch.checked_out_at is not None and branch.checked_out_at != state.root:
        taken = f"{state.branch} is checked out in {short_path(branch.checked_out_at, home)}"
        obstacle = {"recreate": taken, "newWorktree": taken}
    elif branch is None and state.sha is None:
        obstacle = dict.fromkeys(labels, "neither its branch nor its commit is known")
    return Wording(
        title="The worktree it ran in was deleted."
        if place.certain
        else "The folder it ran in is gone; it looks like a deleted worktree.",
        reason=f"It was {where}. {kept}Your checkout {short_path(target.here.root, home)} is not touched.",
        labels=labels,
        details={"recreate": "Ignored files (.env, node_modules) and uncommitted edits will be missing."},
        not_possible=obstacle,
    )


def _lost(state: WorktreeState, place: Place, seen: Seen, target: Target) -> Wording:
    home = target.here.home
    where, here = short_path(state.root, home), short_path(target.here.root, home)
    title, reason = {
        DriftKind.STUB: (
            "The folder is not the worktree it was.",
            f"{where} is there, but it is only a plain folder now.",
        ),
        DriftKind.OTHER_REPOSITORY: (
            "Another repository is at that place now.",
            f"{where} holds a different repository than the one it ran in.",
        ),
    }.get(
        place.kind or DriftKind.GONE,
        ("The folder it ran in is gone.", f"{where} is {NOT_HERE if place.certain else 'not readable'}."),
    )
    labels = {}
    if place.source is not None and target.here.root != state.root:
        labels["relink"] = f"Use {here} from now on"
        reason += f" {here} is a checkout of the same repository."
    return Wording(title=title, reason=reason, labels=labels)


def _differences(
    state: WorktreeState, place: Place, here: RepositorySeen | None, target: Target
) -> tuple[Difference, ...]:
    home = target.here.home
    rows = [
        Difference(
            what="folder", recorded=short_path(state.root, home), now=short_path(target.here.root, home)
        )
    ]
    if state.origin or (here and here.origin):
        rows.append(
            Difference(
                what="repository",
                recorded=state.origin or "not known",
                now=(here.origin if here else None) or "none",
            )
        )
    if state.branch or (here and here.branch):
        now = f"{here.branch or 'no branch'} ({short_sha(here.sha)})" if here else "none"
        rows.append(
            Difference(
                what="branch", recorded=f"{state.branch or 'no branch'} ({short_sha(state.sha)})", now=now
            )
        )
    return tuple(rows)


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
    candidate = free_candidate(place.base or state.root, state, seen)
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
    if free_candidate(place.base or state.root, state, seen) is None:
        obstacles["newWorktree"] = "the names for a new folder are taken"
    if branch is not None and branch.checked_out_at is not None:
        where = short_path(branch.checked_out_at, target.here.home)
        obstacles["newWorktree"] = f"{state.branch} is checked out in {where}"
    if kind is DriftKind.BRANCH_DELETED:
        if commit_drift(state, place, seen) is DriftKind.COMMIT_GONE or state.sha is None:
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
