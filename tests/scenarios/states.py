"""The place is as it was, but a file, a permission or an action is in question."""

from resumed.protocol.restore import DriftKind, Outcome
from tests.support.scenario import NOTHING, Scenario
from tests.support.world import Work, World


async def _recorded(world: World) -> str:
    world.scratch()
    return world.codex("v171_on_request_two_turns")


async def _file_changed(world: World) -> str:
    thread = await _recorded(world)
    (world.home / "repo" / "note_20.txt").write_text("mine now\n")
    return thread


async def _file_reverted(world: World) -> str:
    repository = world.payments()
    thread = await world.work("payments", Work(commits=False))
    repository.git("stash", "push", "--quiet", "--", "rounding.py")
    return thread


async def _file_gone(world: World) -> str:
    thread = await _recorded(world)
    (world.home / "repo" / "note_20.txt").unlink()
    return thread


async def _policy_looser(world: World) -> str:
    world.payments()
    world.allow(approval="on-request", sandbox="read-only")
    thread = await world.work("payments", Work(edits={}, sandbox="read-only"))
    world.allow(approval="on-request", sandbox="workspace-write")
    return thread


async def _policy_stricter(world: World) -> str:
    world.payments()
    thread = await world.work("payments")
    world.allow(sandbox="read-only")
    return thread


async def _full_access(world: World) -> str:
    world.payments()
    return await world.work("payments", Work(sandbox="danger-full-access"))


async def _never_ask(world: World) -> str:
    world.scratch()
    return world.codex("v171_worktree_workspace_write")


async def _plan_mode(world: World) -> str:
    world.payments()
    return await world.work("payments", Work(edits={}, mode="plan"))


async def _active_goal(world: World) -> str:
    repository, _ = world.scratch()
    repository.git("stash", "--quiet", "--all")
    repository.git("switch", "--quiet", "main")
    return world.codex("v171_resumed", repository.head())


async def _command_cut_off(world: World) -> str:
    repository, _ = world.scratch()
    repository.git("switch", "--quiet", "--create", "feature/x")
    return world.codex("v171_sigkill_midturn", repository.head())


async def _edit_cut_off(world: World) -> str:
    repository = world.payments()
    thread = await world.work("payments", Work(commits=False, cut_off=("edit", "write", "rounding.py")))
    repository.write({"rounding.py": "half = 0.5\nstep = 0.01\nro"})
    return thread


SCENARIOS = (
    Scenario(
        "file_changed",
        DriftKind.FILE_CHANGED,
        _file_changed,
        pressed="repo",
        choices={"keep": NOTHING},
        unattended=Outcome.RESTORED,
    ),
    Scenario(
        "file_reverted",
        DriftKind.FILE_REVERTED,
        _file_reverted,
        choices={"keep": NOTHING},
        unattended=Outcome.RESTORED,
    ),
    Scenario(
        "file_gone",
        DriftKind.FILE_GONE,
        _file_gone,
        pressed="repo",
        choices={"keep": NOTHING},
        unattended=Outcome.RESTORED,
    ),
    Scenario(
        "policy_looser",
        DriftKind.POLICY_LOOSER,
        _policy_looser,
        choices={"keep": NOTHING, "adopt": NOTHING},
        grants={"adopt": ("on-request", "workspace-write")},
        unattended=Outcome.RESTORED,
    ),
    Scenario("policy_stricter", DriftKind.POLICY_STRICTER, _policy_stricter, unattended=Outcome.RESTORED),
    Scenario(
        "full_access",
        DriftKind.FULL_ACCESS,
        _full_access,
        choices={"workspaceWrite": NOTHING, "fullAccess": NOTHING},
        grants={"fullAccess": ("on-request", "danger-full-access")},
        unattended=Outcome.RESTORED,
    ),
    Scenario(
        "never_ask",
        DriftKind.NEVER_ASK,
        _never_ask,
        pressed="repo-wt",
        choices={"onRequest": NOTHING, "never": NOTHING},
        grants={"never": ("never", "workspace-write")},
        unattended=Outcome.RESTORED,
    ),
    Scenario(
        "plan_mode",
        DriftKind.PLAN_MODE,
        _plan_mode,
        choices={"plan": NOTHING, "normal": NOTHING},
        grants={"normal": ("on-request", "workspace-write")},
        unattended=Outcome.RESTORED,
    ),
    Scenario(
        "active_goal",
        DriftKind.ACTIVE_GOAL,
        _active_goal,
        pressed="repo",
        choices={"pause": NOTHING, "continue": NOTHING},
        grants={"continue": ("on-request", "workspace-write")},
        unattended=Outcome.RESTORED,
    ),
    Scenario(
        "dangling_command",
        DriftKind.DANGLING_OPERATION,
        _command_cut_off,
        pressed="repo",
        choices={"agentChecks": NOTHING, "finished": NOTHING, "notRun": NOTHING},
        unattended=Outcome.RESTORED,
    ),
    Scenario(
        "dangling_edit",
        DriftKind.DANGLING_OPERATION,
        _edit_cut_off,
        choices={"agentChecks": NOTHING, "finished": NOTHING, "notRun": NOTHING},
        unattended=Outcome.RESTORED,
    ),
)
