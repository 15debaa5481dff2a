"""The main job, shown: Resume on real recordings and real repositories, as a person sees it.

Run as `python -m tests.e2e.demo`. All output between the headings is the program's own. The exit status
is 1 when anything is not as promised. `--alter-sha` alters one recorded commit, to see that it matters.
"""

import shutil
import sys

from resumed.daemon.connect import find_or_start
from tests.support import payments
from tests.support.recorded_places import RecordedPlace, stand_in
from tests.support.repository import every_byte
from tests.support.stage import PROGRAM, Pick, Stage, stage

ALTERED = "5" * 40
FULL_ACCESS = Pick("Last time it could change anything on this computer")
NEVER_ASKED = Pick("Last time it ran without asking you")
GOAL = Pick("goal")
CUT_OFF = Pick("One command may or may not have finished")


def main(arguments: list[str]) -> int:
    """Show every case; returns the exit status."""
    altered = ALTERED if "--alter-sha" in arguments else None
    with stage() as here:
        place = RecordedPlace(here.dev)
        as_left(here, place, altered)
        full_access(here)
        deleted_worktree(here, place)
        cut_off(here)
        payments_story(here)
        closing(here)
    return 1 if here.broken else 0


def as_left(here: Stage, place: RecordedPlace, sha: str | None) -> None:
    """Nothing has changed since."""
    place.install("v171_on_request_two_turns", sha)
    here.title("(a) Everything is as the agent left it", "Codex fixed a rounding in ~/dev/repo and stopped.")
    seen = here.resumed(place.repo, "resume", "fix the rounding", status=0)
    here.shows(
        seen,
        "✓ Ready to continue",
        "✓ ~/dev/repo, fix/payment",
        "✓ asks on request, writes only in this folder: as before, nothing wider",
        "redone none",
        "Start codex resume 01a22dbd-6721-7b02-8d3d-d77a010ed4f3",
        "-s workspace-write -a on-request",
    )


def full_access(here: Stage) -> None:
    """It ran without asking, might change anything, and pursues a goal by itself."""
    root = here.dev / "goal"
    stand_in("v171_resumed", root)
    here.title(
        "(b) Last time it ran with full access, without asking, and with a goal of its own",
        "Codex worked on ~/dev/goal like that. Nothing of it is turned on again unasked.",
    )
    picks = (FULL_ACCESS, NEVER_ASKED, GOAL)
    seen = here.resumed(root, "resume", "first task", picks=picks, status=0)
    here.shows(seen, "✓ Ready to continue", "less than before", "-s workspace-write -a on-request", "First")


def deleted_worktree(here: Stage, place: RecordedPlace) -> None:
    """Its work tree was deleted; the main checkout must not be touched."""
    place.install("v171_worktree_workspace_write")
    shutil.rmtree(place.linked)
    before = every_byte(place.repo)
    here.title(
        "(c) The worktree it ran in was deleted",
        "Codex ran in ~/dev/repo-wt, a worktree of ~/dev/repo, and committed nothing.",
        "The folder ~/dev/repo-wt was deleted. Resume is pressed in ~/dev/repo.",
    )
    picks = (Pick("The worktree it ran in was deleted", "Recreate it"), NEVER_ASKED)
    seen = here.resumed(place.repo, "resume", "in the worktree", picks=picks, status=4)
    here.shows(
        seen,
        "The worktree it ran in was deleted",
        "✓ ~/dev/repo-wt, wt/export",
        "README.md: 1 line added by the agent is missing",
        "note_12.txt: written by the agent, missing",
        "asks on request",
    )
    here.promise((place.linked / "README.md").is_file(), "the worktree is there again")
    own, after = ".git/worktrees/repo-wt", every_byte(place.repo)
    changed = sorted(
        name
        for name in before.keys() | after.keys()
        if before.get(name) != after.get(name) and not f"{name}/".startswith(f"{own}/")
    )
    here.promise(not changed, f"the main checkout is untouched: {', '.join(changed[:5])}")
    print()
    if not changed:
        here.say(f"Compared: all {len(before)} files and folders of ~/dev/repo, its .git too (without")
        here.say(f"{own}, the worktree's own entry), are byte for byte as before.")


def cut_off(here: Stage) -> None:
    """It was killed with a command open."""
    root = here.dev / "killed"
    stand_in("v171_sigkill_midturn", root)
    here.title(
        "(d) It was killed in the middle of a command",
        "Codex was running `sleep 40; echo slept` in ~/dev/killed when the machine died.",
    )
    picks = (FULL_ACCESS, NEVER_ASKED, GOAL, CUT_OFF)
    seen = here.resumed(root, "resume", "kill me", picks=picks, status=0)
    here.shows(seen, "`sleep 40; echo slept` was cut off", "none repeated", "redone none", "handed to you 1")


def payments_story(here: Stage) -> None:
    """An agent that speaks to the daemon; another project, another branch, a file that changed."""
    projects = payments.build_projects(here.dev)
    root = projects.payments.root
    payments.play_until_killed(here.home, find_or_start(root), payments.story(root))
    projects.payments.git("switch", "--quiet", "main")
    here.title(
        "(e) An agent that speaks to the daemon, another project, another branch",
        "On fix/payment in ~/dev/repo-a the agent “mender” edited rounding.py and test_rounding.py,",
        "saw 7 of 9 tests pass, and was killed (SIGKILL) with `pytest -x tests` open.",
        "Then somebody went to branch main. First, Resume is pressed in the wrong project.",
    )
    name, before = "fix payment", [every_byte(project.root) for project in projects]
    seen = here.resumed(projects.storefront.root, "resume", name, "--defaults", status=3)
    here.shows(
        seen,
        "This conversation belongs to another project. Nothing was changed or started.",
        "example.invalid/acme/payments example.invalid/acme/storefront",
        "fix/payment",
    )
    here.promise(before == [every_byte(project.root) for project in projects], "both are untouched")
    print()
    here.say("Both are untouched. Now in the right one.")
    picks = (Pick("You are on a different branch", "Switch this folder back"), CUT_OFF)
    seen = here.resumed(root, "resume", name, picks=picks, status=0)
    here.shows(
        seen,
        "✓ ~/dev/repo-a, fix/payment",
        f"`{payments.CUT_OFF}` was cut off",
        "tests 7/9 still count: same command, same files. Failing: half_even, jpy",
        f'3 of 5, next "{payments.NEXT}"',
        "about $1.84 so far, continues",
    )
    here.promise(projects.payments.git("branch", "--show-current") == "fix/payment", "it is on fix/payment")
    with (root / "rounding.py").open("a") as source:
        source.write("# half to even, says the bank\n")
    print()
    here.say("Somebody adds a line to rounding.py, and presses Resume once more.")
    seen = here.resumed(root, "resume", name, picks=(Pick("rounding.py was changed"), CUT_OFF), status=4)
    here.shows(seen, "7/9 no longer counts, rounding.py differs", f"rerun: {payments.CHECK}", "$1.84")


def closing(here: Stage) -> None:
    """How to go on, and what was not as promised."""
    here.title("On your own workspace, in any folder where you worked with Codex")
    commands = {
        "threads": "the conversations, the interrupted ones first",
        "check NAME": "what changed since; touches nothing",
        "resume NAME": "asks, restores, reports; --exec then starts the agent",
    }
    print(f"  alias resumed={PROGRAM}\n")
    for command, purpose in commands.items():
        print(f"  resumed {command:<14}{purpose}")
    print(f"\n{len(here.broken) or 'All'} promises {'are broken' if here.broken else 'were kept'}.")
    for sentence in here.broken:
        print(f"  ✗ NOT AS PROMISED: {sentence}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
