"""The contract of a subsystem: a part of the state with its own fold, drift check and steps."""

from typing import Protocol, TypeVar

import msgspec

from resumed.protocol.restore import Answer, Drift, Status
from resumed.restore.events.envelope import Event, Payload
from resumed.restore.probes import AnyProbe, Seen
from resumed.restore.steps import Step

State = TypeVar("State")


class Here(msgspec.Struct, frozen=True, kw_only=True):
    """Where Resume was pressed. `root` is the daemon's workspace, its symbolic links resolved; `home`
    is only for wording, `real_home` the same with its links resolved. `approvals` are those that the
    agent can be started with (`None`: no command starts it, so that it can be told any)."""

    root: str
    home: str
    agent: str
    real_home: str = ""
    approvals: tuple[str, ...] | None = None

    @property
    def homes(self) -> tuple[str, str]:
        """Both ways to write the home folder."""
        return self.home, self.real_home


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """Where the work will go on, once the place is settled.

    `root` is the work tree's top level and `cwd` the folder in it. While the folder does not exist
    yet, or is not yet switched, its files are those of `commit` in the repository at `repository`.
    `recorded_root` is the folder that recorded paths are relative to, as the record writes it;
    `canonical_root` is the same with its symbolic links resolved, where that is known. Before the
    place is settled `root` is `None`. `worktree_id` is ours, where the place is known to us.

    `recreated`: the folder is made new; `branch_made`: its branch, which is gone, is made again.

    With a switch, `carried` are uncommitted files (relative) that stay as they are in the folder.
    `files_differ` are touched files that differ in the folder as it is (`None`: not compared);
    `accepted_files` are those of them that the person has already been told of and accepted.
    `restore_id` is the restore's, which names what it puts aside.
    """

    here: Here
    recorded_root: str
    canonical_root: str = ""
    root: str | None = None
    cwd: str | None = None
    branch: str | None = None
    sha: str | None = None
    worktree_id: str | None = None
    repository: str | None = None
    commit: str | None = None
    carried: tuple[str, ...] = ()
    recreated: bool = False
    branch_made: bool = False
    files_differ: tuple[str, ...] | None = None
    accepted_files: tuple[str, ...] = ()
    restore_id: str = ""


class Restoration(msgspec.Struct, frozen=True, kw_only=True):
    """What one subsystem restores: its status if the steps succeed, why, one line for people, and
    the steps. `told` are sentences for the handover note; `handed` are things left to a person;
    `unknown` is what we cannot know; `keys` names what was invalidated; `rerun` are commands; `now`
    says what became of a difference, by its name."""

    status: Status
    reason: str
    summary: str
    details: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()
    told: tuple[str, ...] = ()
    handed: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    rerun: tuple[str, ...] = ()
    now: dict[str, str] = {}


Choices = dict[str, Answer]


class Subsystem(Protocol[State]):
    """Seven members and four constants. `apply` takes over the state it is given: the caller must
    not use the old one again, so that a fold need not copy. Nothing here does input or output."""

    @property
    def name(self) -> str:
        """The noun, as in the registry, the report and the file's name."""
        ...

    @property
    def version(self) -> int:
        """Goes up when the fold changes, so that stored states of the old fold are not used."""
        ...

    @property
    def after(self) -> tuple[str, ...]:
        """The subsystems that must be restored first."""
        ...

    @property
    def handles(self) -> tuple[type[Payload], ...]:
        """The events that `apply` is given."""
        ...

    @property
    def state_type(self) -> type[State]:
        """The state's type, for storing it."""
        ...

    def initial(self) -> State:
        """The state of a thread with no events."""
        ...

    def apply(self, state: State, event: Event) -> State:
        """Fold one event in."""
        ...

    def probes(self, state: State, target: Target) -> tuple[AnyProbe, ...]:
        """What to look at before restoring."""
        ...

    def drift(self, state: State, seen: Seen, target: Target) -> tuple[Drift, ...]:
        """What was recorded and no longer holds."""
        ...

    def steps(self, state: State, seen: Seen, choices: Choices, target: Target) -> Restoration:
        """What restoring it does."""
        ...
