"""The story that most tests of the core tell: an agent edited two files on `fix/payment` and stopped.

`/home/dev/repo-a` is on `fix/payment` with both edits uncommitted, `/home/dev/repo-b` is another project.
"""

from dataclasses import dataclass

from resumed.restore.events.envelope import Payload
from resumed.restore.events.session import (
    AgentRef,
    CheckRecorded,
    EntryAdded,
    FilePatch,
    GitRef,
    Goal,
    Hunk,
    OperationBegun,
    OperationSettled,
    PermissionsSet,
    SessionMeta,
    TodoItem,
    TodosSet,
    UsageRecorded,
    WorktreeBound,
)
from resumed.restore.snapshot import Record
from tests.support.playbook import record_of
from tests.support.simulation import Repository, World, digest

REPO_A, REPO_B = "/home/dev/repo-a", "/home/dev/repo-b"
BESIDE = f"{REPO_A}.fix-payment"
BRANCH = "fix/payment"

README = b"# Payments\n"
ON_MAIN = b"def half_even(x):\n    return int(x)\n"
COMMITTED = b"import decimal\n\ndef half_even(x):\n    return x\n\ndef jpy(x):\n    return x\n"
EDITED = COMMITTED.replace(b"    return x\n\n", b"    return round(x)\n\n", 1)
NOTE = b"half_even done\n"

UPDATE = FilePatch(
    path=f"{REPO_A}/rounding.py",
    change="update",
    hunks=(
        Hunk(
            before=("import decimal", "", "def half_even(x):"),
            removed=("    return x",),
            added=("    return round(x)",),
            after=("", "def jpy(x):", "    return x"),
        ),
    ),
    lines_added=1,
    lines_removed=1,
)
ADD = FilePatch(path=f"{REPO_A}/note.txt", change="add", sha256=digest(NOTE), lines_added=1)
CHECKED = {"rounding.py": digest(EDITED)}


@dataclass
class Story:
    """A world and the events that were recorded in it."""

    world: World
    payments: Repository
    events: list[Payload]

    @property
    def record(self) -> Record:
        """The record, folded anew."""
        return record_of(self.events)

    def recorded_sha(self) -> str:
        """The commit that the record names."""
        meta = self.events[0]
        assert isinstance(meta, SessionMeta)
        assert meta.git.sha is not None
        return meta.git.sha

    def add(self, *events: Payload) -> "Story":
        """Record more."""
        self.events.extend(events)
        return self

    def commit(self, files: dict[str, bytes]) -> str:
        """A commit on the branch that is checked out, over what is there; other files stay."""
        repository = self.payments
        tree = repository.trees[REPO_A]
        assert tree.branch is not None
        before = dict(repository.commits[tree.sha or ""][0])
        tree.sha = repository.commit(tree.branch, before | files, tree.sha)
        for name, content in files.items():
            self.world.files.setdefault(f"{REPO_A}/{name}", content)
        return tree.sha

    def rewrite(self, files: dict[str, bytes]) -> str:
        """Another commit in place of the one that is checked out, with exactly these files."""
        repository = self.payments
        tree = repository.trees[REPO_A]
        assert tree.branch is not None
        tree.sha = repository.commit(tree.branch, files, repository.branches["main"])
        return tree.sha


def payments() -> Story:
    """Everything is as the agent left it."""
    world = World()
    repository = Repository("payments", origin="github.com/acme/payments")
    base = repository.commit("main", {"README.md": README, "rounding.py": ON_MAIN})
    sha = repository.commit(BRANCH, {"README.md": README, "rounding.py": COMMITTED}, base)
    storefront = Repository("storefront", origin="github.com/acme/storefront")
    storefront.commit("main", {"README.md": b"# Shop\n"})
    world.repositories += [repository, storefront]
    world.check_out(repository, REPO_A, BRANCH)
    world.check_out(storefront, REPO_B, "main")
    world.files[f"{REPO_A}/rounding.py"] = EDITED
    world.files[f"{REPO_A}/note.txt"] = NOTE
    return Story(world, repository, [*_began(REPO_A, sha), *_worked()])


def linked() -> Story:
    """The same, but it ran in a linked work tree `/home/dev/repo-a.wt`, and `repo-a` is on main."""
    story = payments()
    place = linked_path()
    del story.world.files[f"{REPO_A}/note.txt"]
    story.world.files[f"{REPO_A}/rounding.py"] = COMMITTED
    story.world.move_head(REPO_A, "main")
    story.world.check_out(story.payments, place, BRANCH, "linked")
    story.world.files[f"{place}/rounding.py"] = EDITED
    story.world.files[f"{place}/note.txt"] = NOTE
    sha = story.payments.branches[BRANCH]
    story.events = [*_began(place, sha), *_worked(place)]
    return story


def linked_path() -> str:
    """Where the linked work tree is."""
    return f"{REPO_A}.wt"


def permitted(
    approval: str | None = "on-request",
    sandbox: str | None = "workspace-write",
    *,
    mode: str | None = None,
    goal: str | None = None,
    ceiling: tuple[str | None, str | None] = (None, None),
) -> PermissionsSet:
    """What it was allowed from the start; `goal` is the status of a goal."""
    return PermissionsSet(
        cause="start",
        approval=approval,
        sandbox=sandbox,
        mode=mode,
        goal=Goal(objective="make all tests pass", status=goal) if goal else None,
        ceiling_approval=ceiling[0],
        ceiling_sandbox=ceiling[1],
    )


def cut_off(
    operation_id: str, *, patch: FilePatch | None = None, command: str | None = None
) -> OperationBegun:
    """A call that was begun and has no end: an edit, or a command."""
    return OperationBegun(
        operation_id=operation_id,
        tool="apply_patch" if patch else "exec",
        args_digest="d",
        args={"cmd": command} if command else {},
        operation_class="write" if patch else "external",
        paths=(patch.path,) if patch else (),
        patches=(patch,) if patch else (),
    )


def done(operation_id: str, patch: FilePatch) -> tuple[OperationBegun, OperationSettled]:
    """An edit that was made."""
    return (
        cut_off(operation_id, patch=patch),
        OperationSettled(operation_id=operation_id, state="committed", patches=(patch,)),
    )


def _began(root: str, sha: str) -> list[Payload]:
    return [
        SessionMeta(
            schema_version=1,
            thread_id="11111111-1111-4111-8111-111111111111",
            session_id="22222222-2222-4222-8222-222222222222",
            agent=AgentRef(name="codex", version="0.171.0"),
            source="cli",
            cwd=root,
            created_at="2026-11-29T08:00:00Z",
            reason="startup",
            git=GitRef(sha=sha, branch=BRANCH, origin="github.com/acme/payments"),
            model="gpt-5.6-sol",
        ),
        WorktreeBound(cwd=root, cause="start", branch=BRANCH, sha=sha),
        permitted(),
    ]


def _worked(root: str = REPO_A) -> list[Payload]:
    update = FilePatch(
        path=f"{root}/rounding.py", change="update", hunks=UPDATE.hunks, lines_added=1, lines_removed=1
    )
    add = FilePatch(path=f"{root}/note.txt", change="add", sha256=digest(NOTE), lines_added=1)
    return [
        EntryAdded(kind="message", role="user", text="Fix the rounding"),
        *done("op-1", update),
        *done("op-2", add),
        TodosSet(
            items=(
                TodoItem(id="1", text="Round half even", status="completed"),
                TodoItem(id="2", text="Round JPY to whole yen", status="pending"),
            ),
            origin="agent",
        ),
        UsageRecorded(usage_id="u1", input_tokens=1000, cached_tokens=10, output_tokens=50),
        CheckRecorded(
            check_id="tests", command="pytest tests", result="failed", passed=7, total=9, inputs=CHECKED
        ),
    ]
