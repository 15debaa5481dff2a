"""Events of a worktree stream: files, HEAD, checkpoints, daemon runs."""

from resumed.restore.events.envelope import Payload


class WorktreeMeta(Payload):
    """First line of a worktree stream. `evidence` is what the identity was matched by:
    `common_dir` and `git_dir` as `device:inode`, `kind` main, linked or folder, `admin_name`,
    `roots` (root commits, comma-joined), `remotes` (normalised, comma-joined)."""

    schema_version: int
    worktree_id: str
    repo_id: str
    path: str
    evidence: dict[str, str]


class DaemonRun(Payload):
    """A daemon began or ended serving this worktree. `phase`: started, stopped."""

    boot_id: str
    phase: str
    clean: bool
    active_sessions: tuple[str, ...] = ()
    attempt: int = 0


class FileVersion(Payload):
    """One version of one file. `path` is bytes in the worktree, as surrogate-escaped text."""

    path: str
    kind: str
    origin: str
    mode: int = 0
    hash: str | None = None
    size: int = 0
    session: str | None = None
    grade: str | None = None
    moved_from: str | None = None
    skipped_reason: str | None = None


class EditPredicted(Payload):
    """What an announced edit should leave behind."""

    path: str
    pre_hash: str
    predicted_hash: str
    operation_id: str


class HumanSaved(Payload):
    """An editor saved a file for a person."""

    path: str
    hash: str
    client: str
    formatter: str | None = None


class CheckpointTaken(Payload):
    """A point that file history can go back to."""

    checkpoint_id: str
    session: str
    turn: str | None
    head: str | None
    dirty: tuple[str, ...] = ()
    complete: bool = True


class HeadMoved(Payload):
    """HEAD moved. `cause` says who: user, agent, restore or unknown."""

    before: str | None
    after: str | None
    cause: str
    branch: str | None = None
    in_progress: str | None = None
    commit_map: dict[str, str] = {}
