"""One situation for each kind of drift: the story, what happened since, and where Resume is pressed."""

from collections.abc import Callable

from resumed.protocol.restore import DriftKind
from resumed.restore.events.session import WorktreeBound
from resumed.restore.probes import CeilingSeen
from tests.support.story import (
    BRANCH,
    COMMITTED,
    EDITED,
    README,
    REPO_A,
    REPO_B,
    Story,
    cut_off,
    linked,
    linked_path,
    payments,
    permitted,
)

MOVED_TO = "/home/dev/src/repo-a"
BY_USER = EDITED.replace(b"round(x)", b"round(x, 2)")

Situation = tuple[Story, str]


def other_project() -> Situation:
    """Resume is pressed in another project."""
    return payments(), REPO_B


def gone() -> Situation:
    """The folder is gone, and nothing here knows of it."""
    story = payments()
    story.world.remove_folder(REPO_A)
    return story, REPO_B


def moved() -> Situation:
    """The folder was renamed."""
    story = payments()
    story.world.rename(REPO_A, MOVED_TO)
    return story, MOVED_TO


def worktree_removed() -> Situation:
    """The linked work tree was deleted, but is still registered."""
    story = linked()
    story.world.remove_folder(linked_path())
    return story, REPO_A


def stub() -> Situation:
    """The linked work tree is only a plain folder now."""
    story = linked()
    story.world.remove_folder(linked_path())
    story.world.folders.add(linked_path())
    return story, REPO_A


def other_repository() -> Situation:
    """Another repository was cloned to the same place."""
    story = payments()
    story.world.remove_folder(REPO_A)
    del story.payments.trees[REPO_A]
    story.world.check_out(story.world.repositories[1], REPO_A, "main")
    return story, REPO_A


def branch_differs() -> Situation:
    """The folder is on main, the edits are gone with it."""
    story = payments()
    story.world.files[f"{REPO_A}/rounding.py"] = COMMITTED
    story.world.move_head(REPO_A, "main")
    return story, REPO_A


def branch_deleted() -> Situation:
    """As before, and the branch is deleted."""
    story, root = branch_differs()
    del story.payments.branches[BRANCH]
    return story, root


def detached() -> Situation:
    """HEAD is detached."""
    story = payments()
    story.payments.trees[REPO_A].branch = None
    return story, REPO_A


def advanced() -> Situation:
    """A new commit changed a file that the agent had edited."""
    story = payments()
    story.commit({"rounding.py": BY_USER})
    story.world.files[f"{REPO_A}/rounding.py"] = BY_USER
    return story, REPO_A


def rewritten() -> Situation:
    """Another commit stands in its place, and changed a file that the agent had edited."""
    story = payments()
    story.rewrite({"README.md": README, "rounding.py": BY_USER})
    story.world.files[f"{REPO_A}/rounding.py"] = BY_USER
    return story, REPO_A


def commit_gone() -> Situation:
    """The recorded commit is not in the repository any more."""
    story = payments()
    sha = story.recorded_sha()
    story.rewrite({"README.md": README, "rounding.py": COMMITTED, "extra": b""})
    del story.payments.commits[sha]
    return story, REPO_A


def in_progress() -> Situation:
    """A rebase is half finished."""
    story = payments()
    story.payments.trees[REPO_A].in_progress = "rebase"
    return story, REPO_A


def silent_switch() -> Situation:
    """The agent went to another folder by itself."""
    return payments().add(WorktreeBound(cwd=REPO_B, cause="agentSilent")), REPO_A


def file_changed() -> Situation:
    """The person edited the line that the agent had edited."""
    story = payments()
    story.world.files[f"{REPO_A}/rounding.py"] = BY_USER
    return story, REPO_A


def file_reverted() -> Situation:
    """The file is as before the agent."""
    story = payments()
    story.world.files[f"{REPO_A}/rounding.py"] = COMMITTED
    return story, REPO_A


def file_gone() -> Situation:
    """The file that the agent wrote is gone."""
    story = payments()
    del story.world.files[f"{REPO_A}/note.txt"]
    return story, REPO_A


def policy_looser() -> Situation:
    """The policy held it to questions, and now allows more."""
    story = payments().add(permitted(ceiling=("on-request", None)))
    story.world.ceiling = CeilingSeen(approval="on-failure", source="settings")
    return story, REPO_A


def policy_stricter() -> Situation:
    """The policy only allows reading now."""
    story = payments()
    story.world.ceiling = CeilingSeen(sandbox="read-only", source="settings")
    return story, REPO_A


def full_access() -> Situation:
    """It might change anything."""
    return payments().add(permitted(sandbox="danger-full-access")), REPO_A


def never_ask() -> Situation:
    """It asked nothing."""
    return payments().add(permitted("never")), REPO_A


def plan_mode() -> Situation:
    """It was planning."""
    return payments().add(permitted(mode="plan")), REPO_A


def active_goal() -> Situation:
    """It had a goal that it pursues by itself."""
    return payments().add(permitted(goal="active")), REPO_A


def dangling_operation() -> Situation:
    """A command was cut off."""
    return payments().add(cut_off("op-9", command="npm run migrate")), REPO_A


SITUATIONS: dict[DriftKind, Callable[[], Situation]] = {
    DriftKind.OTHER_PROJECT: other_project,
    DriftKind.GONE: gone,
    DriftKind.MOVED: moved,
    DriftKind.WORKTREE_REMOVED: worktree_removed,
    DriftKind.STUB: stub,
    DriftKind.OTHER_REPOSITORY: other_repository,
    DriftKind.BRANCH_DIFFERS: branch_differs,
    DriftKind.BRANCH_DELETED: branch_deleted,
    DriftKind.DETACHED: detached,
    DriftKind.ADVANCED: advanced,
    DriftKind.REWRITTEN: rewritten,
    DriftKind.COMMIT_GONE: commit_gone,
    DriftKind.IN_PROGRESS: in_progress,
    DriftKind.SILENT_SWITCH: silent_switch,
    DriftKind.FILE_CHANGED: file_changed,
    DriftKind.FILE_REVERTED: file_reverted,
    DriftKind.FILE_GONE: file_gone,
    DriftKind.POLICY_LOOSER: policy_looser,
    DriftKind.POLICY_STRICTER: policy_stricter,
    DriftKind.FULL_ACCESS: full_access,
    DriftKind.NEVER_ASK: never_ask,
    DriftKind.PLAN_MODE: plan_mode,
    DriftKind.ACTIVE_GOAL: active_goal,
    DriftKind.DANGLING_OPERATION: dangling_operation,
}
