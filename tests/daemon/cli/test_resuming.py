import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from resumed.daemon.cli.answers import parse
from resumed.daemon.cli.failures import Exit, Failure
from resumed.daemon.cli.paper import Paper
from resumed.daemon.cli.resuming import Console, Wanted, resume
from resumed.protocol.restore import RestoreReport
from tests.support.command_line import AS_LEFT, CUT_OFF, recorded_workspace, stopping_daemons
from tests.support.reports import READER
from tests.support.repository import every_byte

ALL_ANSWERS = (
    "worktree.branchDeleted=stay",
    "permissions.fullAccess=workspaceWrite",
    "permissions.neverAsk=never:skip",
    "permissions.activeGoal=pause",
    "operations.danglingOperation=agentChecks",
)


@pytest.fixture
def workspace(hermetic_home: Path) -> Iterator[Path]:
    with stopping_daemons():
        yield recorded_workspace(hermetic_home, ("v171_on_request_two_turns", "v171_sigkill_midturn"))


class Run:
    """One call of the command's function, without a terminal, and what it printed."""

    def __init__(
        self, root: Path, thread: str, *answers: str, defaults: bool = False, start: bool = False
    ) -> None:
        self._out, self._talk = io.StringIO(), io.StringIO()
        wanted = Wanted(thread, parse(answers), defaults, start, json=not start)
        console = Console(Paper(self._out, 80), Paper(self._talk, 80))
        self.exit_code = resume(root, wanted, console, READER)

    @property
    def out(self) -> str:
        return self._out.getvalue()

    @property
    def talk(self) -> str:
        return self._talk.getvalue()

    @property
    def report(self) -> dict[str, object]:
        value: dict[str, object] = json.loads(self.out)
        return value


def test_as_left_is_restored(workspace: Path) -> None:
    run = Run(workspace, AS_LEFT)
    assert (run.exit_code, run.report["outcome"], run.talk) == (Exit.DONE, "restored", "")
    assert set(run.report) == {_camel(name) for name in RestoreReport.__struct_fields__}


def test_without_answers_it_stops_at_the_first_round(workspace: Path) -> None:
    before = every_byte(workspace)
    run = Run(workspace, CUT_OFF)
    assert (run.exit_code, run.report["outcome"]) == (Exit.NEEDS_ANSWER, "needsAnswer")
    assert every_byte(workspace) == before


def test_answers_of_one_round_stop_at_the_next(workspace: Path) -> None:
    run = Run(workspace, CUT_OFF, ALL_ANSWERS[0], ALL_ANSWERS[1])
    question = run.report["question"]
    assert run.exit_code is Exit.NEEDS_ANSWER
    assert isinstance(question, dict)
    assert question["round"] == 2


def test_answers_to_every_round_restore(workspace: Path) -> None:
    run = Run(workspace, CUT_OFF, *ALL_ANSWERS)
    assert (run.exit_code, run.report["outcome"]) == (Exit.NOT_WHOLE, "partial")
    assert run.report["answers"] == {
        "worktree.branchDeleted": {"choice": "stay", "typed": None},
        "permissions.fullAccess": {"choice": "workspaceWrite", "typed": None},
        "permissions.neverAsk": {"choice": "never", "typed": "skip"},
        "permissions.activeGoal": {"choice": "pause", "typed": None},
        **{
            key: {"choice": "agentChecks", "typed": None}
            for key in _answers(run)
            if key.startswith("operations.danglingOperation:")
        },
    }


def test_defaults_take_given_answers_first(workspace: Path) -> None:
    assert Run(workspace, CUT_OFF, defaults=True).exit_code is Exit.NEEDS_ANSWER
    run = Run(workspace, CUT_OFF, "worktree.branchDeleted=stay", defaults=True)
    assert run.exit_code is Exit.NOT_WHOLE
    assert _answers(run)["permissions.neverAsk"] == {"choice": "onRequest", "typed": None}


@pytest.mark.parametrize("defaults", [True, False])
def test_an_answer_that_cannot_be_taken_changes_nothing(workspace: Path, defaults: bool) -> None:
    before = every_byte(workspace)
    answers = (ALL_ANSWERS[0], "permissions.neverAsk=never:please", *ALL_ANSWERS[3:])
    with pytest.raises(Failure, match="needs the word “skip”") as refused:
        Run(workspace, CUT_OFF, *answers, defaults=defaults)
    assert refused.value.exit_code is Exit.USAGE
    assert every_byte(workspace) == before


def test_just_read_is_done(workspace: Path) -> None:
    run = Run(workspace, CUT_OFF, "worktree.branchDeleted=readOnly")
    assert (run.exit_code, run.report["outcome"]) == (Exit.DONE, "readOnly")


def test_answers_that_nothing_asked_for_are_named(workspace: Path) -> None:
    run = Run(workspace, AS_LEFT, "worktree.gone=relink")
    assert run.exit_code is Exit.DONE
    assert run.talk == "- Not asked, so not used: --answer worktree.gone\n"


def test_a_partial_restore_is_not_started_without_consent(workspace: Path) -> None:
    run = Run(workspace, CUT_OFF, *ALL_ANSWERS, start=True)
    assert run.exit_code is Exit.NOT_WHOLE
    assert "Not started: a partly restored conversation needs your consent on a terminal." in run.talk
    assert "✓ Record where it runs\n" in run.talk


def _answers(run: Run) -> dict[str, object]:
    answers = run.report["answers"]
    assert isinstance(answers, dict)
    return answers


def _camel(name: str) -> str:
    head, *tail = name.split("_")
    return head + "".join(word.capitalize() for word in tail)
