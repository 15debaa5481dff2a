"""The folder or the repository is not what it was."""

import shutil

from resumed.protocol.restore import DriftKind
from tests.support.repository import Repository, make_repository, run_git
from tests.support.scenario import NOTHING, After, Scenario
from tests.support.world import World


async def _other_project(world: World) -> str:
    world.payments()
    storefront = make_repository(world.home / "storefront")
    storefront.git("remote", "add", "origin", "https://github.com/acme/storefront.git")
    storefront.commit({"index.html": "<h1>Shop</h1>\n"}, "first")
    return await world.work("payments")


async def _other_checkout(world: World) -> str:
    world.payments().worktree(world.home / "payments-main", "main")
    return await world.work("payments")


async def _gone(world: World) -> str:
    thread = await _other_project(world)
    world.let_go()
    shutil.rmtree(world.home / "payments")
    return thread


async def _moved(world: World) -> str:
    world.payments("old")
    thread = await world.work("old")
    world.let_go()
    (world.home / "old").rename(world.home / "payments")
    return thread


async def _moved_codex(world: World) -> str:
    repository, linked = world.scratch()
    repository.git("worktree", "remove", "--force", str(linked.root))
    thread = world.codex("v171_on_request_two_turns")
    repository.root.rename(world.home / "scratch")
    return thread


async def _worktree_removed(world: World) -> str:
    repository, linked = world.scratch()
    repository.git("worktree", "remove", "--force", str(linked.root))
    return world.codex("v171_worktree_workspace_write")


async def _worktree_removed_registered(world: World) -> str:
    _, linked = world.scratch()
    shutil.rmtree(linked.root)
    return world.codex("v171_worktree_workspace_write")


async def _worktree_removed_with_branch(world: World) -> str:
    repository = world.payments()
    repository.git("switch", "--quiet", "main")
    repository.worktree(world.home / "payments-fix", "fix/payment")
    thread = await world.work("payments-fix")
    world.let_go()
    repository.git("worktree", "remove", str(world.home / "payments-fix"))
    repository.git("branch", "-D", "fix/payment")
    return thread


async def _worktree_removed_locked(world: World) -> str:
    repository = world.payments()
    repository.git("switch", "--quiet", "main")
    linked = repository.worktree(world.home / "payments-fix", "fix/payment")
    repository.git("worktree", "lock", "--reason", "on a removable disk", str(linked.root))
    thread = await world.work("payments-fix")
    world.let_go()
    shutil.rmtree(linked.root)
    return thread


async def _linked_at_work(world: World) -> tuple[str, Repository, Repository]:
    repository = world.payments()
    repository.git("switch", "--quiet", "main")
    linked = repository.worktree(world.home / "payments-fix", "fix/payment")
    thread = await world.work("payments-fix")
    world.let_go()
    return thread, repository, linked


async def _moved_by_hand(world: World) -> str:
    thread, _, linked = await _linked_at_work(world)
    linked.write({"staged.txt": "by the user\n"})
    linked.git("add", "staged.txt")
    linked.root.rename(world.home / "payments-moved")
    return thread


async def _moved_together(world: World) -> str:
    thread, _, _ = await _linked_at_work(world)
    (world.home / "away").mkdir()
    for name in ("payments", "payments-fix"):
        (world.home / name).rename(world.home / "away" / name)
    return thread


async def _moved_together_and_repaired(world: World) -> str:
    thread = await _moved_together(world)
    away = world.home / "away"
    run_git(away / "payments", "worktree", "repair", str(away / "payments-fix"))
    return thread


async def _moved_by_git(world: World) -> str:
    thread, repository, linked = await _linked_at_work(world)
    repository.git("worktree", "move", str(linked.root), str(world.home / "payments-moved"))
    return thread


async def _worktree_removed_kept(world: World) -> str:
    thread, _, linked = await _linked_at_work(world)
    linked.git("switch", "--quiet", "--detach")
    linked.commit({"README.md": "# By the user\n"}, "by the user")
    shutil.rmtree(linked.root)
    return thread


async def _worktree_removed_held(world: World) -> str:
    thread, repository, linked = await _linked_at_work(world)
    repository.git("worktree", "remove", str(linked.root))
    repository.git("switch", "--quiet", "fix/payment")
    return thread


async def _stub(world: World) -> str:
    repository = world.payments()
    repository.git("switch", "--quiet", "main")
    repository.worktree(world.home / "payments-fix", "fix/payment")
    thread = await world.work("payments-fix")
    world.let_go()
    (world.home / "payments-fix" / ".git").unlink()
    return thread


async def _stub_inside(world: World) -> str:
    repository = world.payments()
    repository.git("switch", "--quiet", "main")
    repository.worktree(repository.root / "fix", "fix/payment")
    thread = await world.work("payments/fix")
    world.let_go()
    (repository.root / "fix" / ".git").unlink()
    return thread


async def _other_repository(world: World) -> str:
    world.payments("old")
    thread = await world.work("old")
    world.let_go()
    (world.home / "old").rename(world.home / "payments")
    make_repository(world.home / "old").commit({"notes.txt": "something else\n"}, "first")
    return thread


async def _silent_switch(world: World) -> str:
    repository, linked = world.scratch()
    sha = repository.head()
    repository.git("branch", "wt/feature", sha)
    repository.git("worktree", "remove", "--force", str(linked.root))
    return world.codex("v171_worktree_removed_then_resumed_in_main", sha)


async def _silent_switch_back(world: World) -> str:
    thread = await _silent_switch(world)
    Repository(world.home / "repo").worktree(world.home / "wt-feature", "wt/feature")
    return thread


SCENARIOS = (
    Scenario(
        "other_project",
        DriftKind.OTHER_PROJECT,
        _other_project,
        pressed="storefront",
        choices={"open": NOTHING},
        starts={"open": "payments"},
    ),
    Scenario(
        "other_project_other_checkout",
        DriftKind.OTHER_PROJECT,
        _other_checkout,
        pressed="payments-main",
        choices={"open": NOTHING},
        starts={"open": "payments"},
    ),
    Scenario("gone", DriftKind.GONE, _gone, pressed="storefront"),
    Scenario("moved", DriftKind.MOVED, _moved, choices={"relink": NOTHING}),
    Scenario(
        "moved_not_certain",
        DriftKind.MOVED,
        _moved_codex,
        pressed="scratch",
        home="scratch",
        choices={"relink": NOTHING},
    ),
    Scenario(
        "worktree_removed",
        DriftKind.WORKTREE_REMOVED,
        _worktree_removed,
        pressed="repo",
        home="repo",
        choices={
            "recreate": After(made={"repo-wt": "wt/export"}),
            "newWorktree": After(made={"repo-wt.wt-export": "wt/export"}),
        },
        starts={"recreate": "repo-wt", "newWorktree": "repo-wt.wt-export"},
    ),
    Scenario(
        "worktree_removed_registered",
        DriftKind.WORKTREE_REMOVED,
        _worktree_removed_registered,
        pressed="repo",
        home="repo",
        choices={"recreate": After(made={"repo-wt": "wt/export"})},
        blocked=("newWorktree",),
        starts={"recreate": "repo-wt"},
    ),
    Scenario(
        "worktree_removed_with_branch",
        DriftKind.WORKTREE_REMOVED,
        _worktree_removed_with_branch,
        choices={
            "recreate": After(made={"payments-fix": "fix/payment"}, branches=("fix/payment",)),
            "newWorktree": After(made={"payments-fix.fix-payment": "fix/payment"}, branches=("fix/payment",)),
        },
        starts={"recreate": "payments-fix", "newWorktree": "payments-fix.fix-payment"},
    ),
    Scenario(
        "worktree_removed_locked",
        DriftKind.WORKTREE_REMOVED,
        _worktree_removed_locked,
        blocked=("recreate", "newWorktree"),
    ),
    Scenario(
        "moved_by_hand",
        DriftKind.MOVED,
        _moved_by_hand,
        pressed="payments-moved",
        choices={"relink": NOTHING},
    ),
    Scenario(
        "moved_by_hand_elsewhere",
        DriftKind.WORKTREE_REMOVED,
        _moved_by_hand,
        blocked=("recreate", "newWorktree"),
    ),
    Scenario(
        "moved_together",
        DriftKind.WORKTREE_REMOVED,
        _moved_together,
        pressed="away/payments",
        home="away/payments",
        blocked=("recreate", "newWorktree"),
    ),
    Scenario(
        "moved_together_and_repaired",
        DriftKind.MOVED,
        _moved_together_and_repaired,
        pressed="away/payments-fix",
        home="away/payments",
        choices={"relink": NOTHING},
    ),
    Scenario(
        "moved_by_git",
        DriftKind.MOVED,
        _moved_by_git,
        choices={"relink": NOTHING},
        starts={"relink": "payments-moved"},
    ),
    Scenario(
        "worktree_removed_kept",
        DriftKind.WORKTREE_REMOVED,
        _worktree_removed_kept,
        choices={"newWorktree": After(made={"payments-fix.fix-payment": "fix/payment"})},
        blocked=("recreate",),
        starts={"newWorktree": "payments-fix.fix-payment"},
    ),
    Scenario(
        "worktree_removed_held",
        DriftKind.WORKTREE_REMOVED,
        _worktree_removed_held,
        choices={"relink": NOTHING},
        blocked=("recreate", "newWorktree"),
    ),
    Scenario("stub", DriftKind.STUB, _stub, choices={"relink": NOTHING}),
    Scenario("stub_inside", DriftKind.STUB, _stub_inside, choices={"relink": NOTHING}),
    Scenario("other_repository", DriftKind.OTHER_REPOSITORY, _other_repository, choices={"relink": NOTHING}),
    Scenario(
        "silent_switch",
        DriftKind.SILENT_SWITCH,
        _silent_switch,
        pressed="repo",
        home="repo",
        choices={"open": After(made={"wt-feature": "wt/feature"}), "last": NOTHING},
        starts={"open": "wt-feature"},
    ),
    Scenario(
        "silent_switch_back",
        DriftKind.SILENT_SWITCH,
        _silent_switch_back,
        pressed="repo",
        home="repo",
        choices={"open": NOTHING, "last": NOTHING},
        starts={"open": "wt-feature"},
    ),
)
