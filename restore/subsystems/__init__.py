"""The registry of subsystems. Position means nothing: each declares what it comes `after`."""

from typing import Any

from resumed.restore.subsystem import Subsystem
from resumed.restore.subsystems.conversation import CONVERSATION
from resumed.restore.subsystems.cost import COST
from resumed.restore.subsystems.environment import ENVIRONMENT
from resumed.restore.subsystems.model import MODEL
from resumed.restore.subsystems.operations import OPERATIONS
from resumed.restore.subsystems.permissions import PERMISSIONS
from resumed.restore.subsystems.todos import TODOS
from resumed.restore.subsystems.untracked import untracked
from resumed.restore.subsystems.verifier import VERIFIER
from resumed.restore.subsystems.worktree import WORKTREE

SUBSYSTEMS: tuple[Subsystem[Any], ...] = (
    ENVIRONMENT,
    WORKTREE,
    PERMISSIONS,
    untracked("tools", ("permissions",)),
    MODEL,
    CONVERSATION,
    OPERATIONS,
    untracked("file_history", ("worktree", "operations")),
    untracked("attribution", ("file_history",)),
    TODOS,
    COST,
    VERIFIER,
    untracked("prompt", ("tools", "conversation")),
    untracked("extension", ("conversation",)),
)
