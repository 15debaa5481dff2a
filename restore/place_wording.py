"""The questions about the place, in words for people."""

from resumed.protocol.restore import Difference, Drift, DriftKind
from resumed.restore.drift import CANCEL, Wording, asked
from resumed.restore.place import Place, WorktreeState, free_candidate
from resumed.restore.place_head import relation
from resumed.restore.place_inner import lacks
from resumed.restore.place_names import (
    NO_NAME,
    files_words,
    folder_lacking,
    folder_words,
    is_elsewhere,
    where_words,
)
from resumed.restore.probes import FolderProbe, FolderSeen, RepositoryProbe, RepositorySeen, Seen
from resumed.restore.subsystem import Target
from resumed.restore.wording import (
    agent_name,
    capital,
    count,
    operation_name,
    short_path,
    short_sha,
)


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
        reason=f"It was at {then_words}{as_of}; now {now_words}.{unrelated}{files_words(place, target)}",
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
