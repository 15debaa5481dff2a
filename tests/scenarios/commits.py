"""The folder is there, but its branch or its commit is not what it was."""

from resumed.protocol.restore import DriftKind, Outcome
from tests.support.repository import Repository
from tests.support.scenario import NOTHING, After, Scenario
from tests.support.world import Work, World

NEW = "payments.fix-payment"
NO_BRANCH = "payments.9285f17"


async def _worked(world: World) -> tuple[str, Repository]:
    repository = world.payments()
    return await world.work("payments"), repository


async def _branch_differs(world: World) -> str:
    thread, repository = await _worked(world)
    repository.git("switch", "--quiet", "main")
    return thread


async def _branch_differs_uncommitted(world: World) -> str:
    thread = await _branch_differs(world)
    Repository(world.home / "payments").write({"rounding.py": "half = 0.25\n"})
    return thread


async def _branch_differs_rewritten(world: World) -> str:
    thread, repository = await _worked(world)
    repository.git("commit", "--quiet", "--amend", "--message", "better words")
    repository.git("switch", "--quiet", "main")
    return thread


async def _branch_differs_inside(world: World) -> str:
    repository = world.payments()
    repository.commit({"packages/api/app.py": "print()\n"}, "an api")
    thread = await world.work("payments", Work(inside="packages/api"))
    repository.git("switch", "--quiet", "main")
    return thread


async def _no_branch(world: World) -> str:
    repository = world.payments()
    repository.git("switch", "--quiet", "--detach")
    thread = await world.work("payments")
    repository.git("switch", "--quiet", "fix/payment")
    return thread


async def _branch_differs_held(world: World) -> str:
    thread, repository = await _worked(world)
    repository.git("switch", "--quiet", "main")
    repository.worktree(world.home / "payments-fix", "fix/payment")
    return thread


async def _detached_loose(world: World) -> str:
    thread, repository = await _worked(world)
    repository.git("switch", "--quiet", "--detach", "main")
    repository.commit({"README.md": "# By the user\n"}, "by the user")
    return thread


async def _branch_deleted(world: World) -> str:
    thread, repository = await _worked(world)
    repository.git("switch", "--quiet", "main")
    repository.git("branch", "-D", "fix/payment")
    return thread


async def _detached(world: World) -> str:
    thread, repository = await _worked(world)
    repository.git("checkout", "--quiet", "--detach", "main")
    return thread


async def _unborn(world: World) -> str:
    thread, repository = await _worked(world)
    repository.git("switch", "--quiet", "--orphan", "fresh")
    return thread


async def _advanced_elsewhere(world: World) -> str:
    thread, repository = await _worked(world)
    repository.commit({"README.md": "# Payments\n\nRounded.\n"}, "read me")
    return thread


async def _advanced(world: World) -> str:
    thread, repository = await _worked(world)
    repository.commit({"rounding.py": "half = 0.5\nstep = 0.05\n"}, "coarser")
    return thread


async def _rewritten_message(world: World) -> str:
    thread, repository = await _worked(world)
    repository.git("commit", "--quiet", "--amend", "--message", "better words")
    return thread


async def _rewritten_elsewhere(world: World) -> str:
    thread, repository = await _worked(world)
    repository.write({"README.md": "# Payments\n\nRounded.\n"})
    repository.git("commit", "--quiet", "--all", "--amend", "--message", "with read me")
    return thread


async def _rewritten(world: World) -> str:
    thread, repository = await _worked(world)
    repository.write({"rounding.py": "half = 0.5\nstep = 0.05\n"})
    repository.git("commit", "--quiet", "--all", "--amend", "--message", "coarser")
    return thread


async def _set_back(world: World) -> str:
    thread, repository = await _worked(world)
    repository.git("reset", "--quiet", "--hard", "HEAD~1")
    return thread


async def _commit_gone(world: World) -> str:
    thread, repository = await _worked(world)
    repository.git("reset", "--quiet", "--hard", "HEAD~1")
    repository.git("reflog", "expire", "--expire=now", "--all")
    repository.git("gc", "--quiet", "--prune=now")
    return thread


async def _conflicting(world: World) -> tuple[str, Repository]:
    thread, repository = await _worked(world)
    repository.git("switch", "--quiet", "main")
    repository.commit({"rounding.py": "half = 0.25\n"}, "quarter")
    repository.git("switch", "--quiet", "fix/payment")
    return thread, repository


async def _rebase(world: World) -> str:
    thread, repository = await _conflicting(world)
    repository.git("rebase", "main", ends_with=1)
    return thread


async def _merge(world: World) -> str:
    thread, repository = await _conflicting(world)
    repository.git("merge", "main", ends_with=1)
    return thread


_ON_NEW = {"newWorktree": NEW}
_ON_ITS_BRANCH = {
    "newWorktree": After(made={NEW: "fix/payment"}),
    "switch": After(switched={"payments": "fix/payment"}),
    "stay": NOTHING,
}
_OLD_COMMIT = {"stay": NOTHING, "newWorktree": After(made={NEW: None})}

SCENARIOS = (
    Scenario(
        "branch_differs",
        DriftKind.BRANCH_DIFFERS,
        _branch_differs,
        choices=_ON_ITS_BRANCH,
        starts=_ON_NEW,
    ),
    Scenario(
        "branch_differs_uncommitted",
        DriftKind.BRANCH_DIFFERS,
        _branch_differs_uncommitted,
        choices={"newWorktree": After(made={NEW: "fix/payment"}), "stay": NOTHING},
        blocked=("switch",),
        starts=_ON_NEW,
    ),
    Scenario(
        "branch_differs_rewritten",
        DriftKind.BRANCH_DIFFERS,
        _branch_differs_rewritten,
        choices=_ON_ITS_BRANCH,
        starts=_ON_NEW,
    ),
    Scenario(
        "branch_differs_inside",
        DriftKind.BRANCH_DIFFERS,
        _branch_differs_inside,
        choices=_ON_ITS_BRANCH,
        starts=_ON_NEW,
    ),
    Scenario(
        "no_branch",
        DriftKind.BRANCH_DIFFERS,
        _no_branch,
        choices={"newWorktree": After(made={NO_BRANCH: None}), "stay": NOTHING},
        starts={"newWorktree": NO_BRANCH},
    ),
    Scenario(
        "branch_differs_held",
        DriftKind.BRANCH_DIFFERS,
        _branch_differs_held,
        choices={"relink": NOTHING, "stay": NOTHING},
        blocked=("newWorktree", "switch"),
        starts={"relink": "payments-fix"},
    ),
    Scenario(
        "detached_loose",
        DriftKind.DETACHED,
        _detached_loose,
        choices=_ON_ITS_BRANCH,
        starts=_ON_NEW,
    ),
    Scenario(
        "branch_deleted",
        DriftKind.BRANCH_DELETED,
        _branch_deleted,
        choices={
            "newWorktree": After(made={NEW: "fix/payment"}, branches=("fix/payment",)),
            "stay": NOTHING,
        },
        starts=_ON_NEW,
    ),
    Scenario(
        "detached",
        DriftKind.DETACHED,
        _detached,
        choices={
            "switch": After(switched={"payments": "fix/payment"}),
            "newWorktree": After(made={NEW: "fix/payment"}),
            "stay": NOTHING,
        },
        starts=_ON_NEW,
    ),
    Scenario(
        "detached_unborn",
        DriftKind.DETACHED,
        _unborn,
        choices={
            "newWorktree": After(made={NEW: "fix/payment"}),
            "stay": NOTHING,
        },
        blocked=("switch",),
        starts=_ON_NEW,
    ),
    Scenario("advanced_elsewhere", DriftKind.ADVANCED, _advanced_elsewhere, unattended=Outcome.RESTORED),
    Scenario("advanced", DriftKind.ADVANCED, _advanced, choices=_OLD_COMMIT, starts=_ON_NEW),
    Scenario("rewritten_message", DriftKind.REWRITTEN, _rewritten_message, unattended=Outcome.RESTORED),
    Scenario("rewritten_elsewhere", DriftKind.REWRITTEN, _rewritten_elsewhere, unattended=Outcome.RESTORED),
    Scenario("rewritten", DriftKind.REWRITTEN, _rewritten, choices=_OLD_COMMIT, starts=_ON_NEW),
    Scenario("set_back", DriftKind.REWRITTEN, _set_back, choices=_OLD_COMMIT, starts=_ON_NEW),
    Scenario("commit_gone", DriftKind.COMMIT_GONE, _commit_gone, choices={"stay": NOTHING}),
    Scenario("in_progress_rebase", DriftKind.IN_PROGRESS, _rebase, choices={"continueAnyway": NOTHING}),
    Scenario("in_progress_merge", DriftKind.IN_PROGRESS, _merge, choices={"continueAnyway": NOTHING}),
)
