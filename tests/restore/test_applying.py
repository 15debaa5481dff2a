from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from resumed.restore.applying import Ledger, apply_step, roll_back
from resumed.restore.effects import (
    Effect,
    Journal,
    NotPerformed,
    Observe,
    Perform,
    Performed,
    Progress,
    Reply,
)
from resumed.restore.events.journal import RestoreStep
from resumed.restore.probes import FolderProbe, FolderSeen, Unseen
from resumed.restore.steps import AddWorktree, PathAbsent, RecordState, RemoveWorktree, Step

ADD = AddWorktree(restore_id="r", repository="/r", path="/w", sha="s")
REMOVE = RemoveWorktree(restore_id="r", repository="/r", path="/w", sha="s")
ABSENT = PathAbsent("/w")
RECORD = Step(subsystem="model", title="Record", do=RecordState(events=()))


def step(*, expects: bool = False, ensures: bool = False) -> Step:
    return Step(
        subsystem="worktree",
        title="Make it",
        do=ADD,
        undo=REMOVE,
        expects=(ABSENT,) if expects else (),
        ensures=(ABSENT,) if ensures else (),
    )


def ledger() -> Ledger:
    return Ledger(restore_id="r", of=2)


def drive(
    conversation: Any, *, seen: Sequence[Any] = (), performs: Sequence[Reply] = ()
) -> tuple[Any, list[str]]:
    """Run it; observations and replies in order. Returns the result and the trace as words."""
    words: list[str] = []
    looks, replies = list(seen), list(performs)
    reply: Reply = None
    try:
        while True:
            effect: Effect = conversation.send(reply)
            reply = None
            match effect:
                case Observe():
                    words.append("look")
                    reply = {FolderProbe("/w"): looks.pop(0)}
                case Journal(RestoreStep(n=n, state=state)):
                    words.append(f"{state} {n}")
                case Perform(verb):
                    words.append(type(verb).__name__)
                    reply = replies.pop(0) if replies else Performed({"at": "x"})
                case Progress(state=state, n=n, of=of):
                    words.append(f"told {state} {n}/{of}")
                case _:
                    raise AssertionError(effect)
    except StopIteration as ended:
        return ended.value, words


def test_a_step_is_journalled_before_and_after() -> None:
    kept = ledger()
    result, words = drive(apply_step(kept, step()))
    assert (result, words) == (
        None,
        ["begun 1", "told begun 1/2", "AddWorktree", "done 1", "told done 1/2"],
    )
    assert [(done.n, done.step) for done in kept.done] == [(1, step())]


def test_what_it_expects_is_looked_at_before_anything_is_journalled() -> None:
    kept = ledger()
    result, words = drive(apply_step(kept, step(expects=True)), seen=[FolderSeen("folder")])
    assert (words, kept.n, kept.done) == (["look"], 0, [])
    assert result == "/w is not as expected; it changed while this was being restored"
    result, words = drive(apply_step(ledger(), step(expects=True)), seen=[FolderSeen("absent")])
    assert (result, words[:2]) == (None, ["look", "begun 1"])


def test_what_could_not_be_seen_is_not_as_expected() -> None:
    assert drive(apply_step(ledger(), step(expects=True)), seen=[Unseen("timeout")])[0] is not None
    assert drive(apply_step(ledger(), step(ensures=True)), seen=[Unseen("timeout")])[0] is not None


def test_a_step_that_was_not_done_is_journalled_as_failed_and_is_not_undone() -> None:
    kept = ledger()
    result, words = drive(apply_step(kept, step()), performs=[NotPerformed("no space")])
    assert (result, words[-2:], kept.done) == ("no space", ["failed 1", "told failed 1/2"], [])
    assert drive(roll_back(kept)) == ((), [])
    assert not kept.left
    drive(apply_step(kept, step()), performs=[NotPerformed("no space; /w was left", left=True)])
    drive(apply_step(kept, step()), performs=[NotPerformed("no space")])
    assert kept.left


def test_a_step_whose_effect_is_not_there_is_failed_but_is_undone() -> None:
    kept = ledger()
    result, words = drive(apply_step(kept, step(ensures=True)), seen=[FolderSeen("folder")])
    assert (result, words[-3:]) == ("/w is not as expected", ["look", "failed 1", "told failed 1/2"])
    assert drive(roll_back(kept)) == ((), ["undoing 1", "RemoveWorktree", "undone 1", "told undone 1/2"])


def test_steps_are_undone_last_first_and_records_stay() -> None:
    kept = ledger()
    for each in (step(), RECORD, step()):
        drive(apply_step(kept, each))
    stuck, words = drive(roll_back(kept))
    assert stuck == ()
    assert [word for word in words if not word.startswith("told")] == [
        "undoing 3",
        "RemoveWorktree",
        "undone 3",
        "undoing 1",
        "RemoveWorktree",
        "undone 1",
    ]
    assert kept.done == []


def test_what_cannot_be_undone_is_said_and_the_rest_is_undone() -> None:
    kept = ledger()
    for _ in range(2):
        drive(apply_step(kept, step()))
    stuck, words = drive(roll_back(kept), performs=[NotPerformed("it is not clean.")])
    assert stuck == ("“Make it” could not be undone: it is not clean.",)
    assert [word for word in words if not word.startswith("told")] == [
        "undoing 2",
        "RemoveWorktree",
        "undoing 1",
        "RemoveWorktree",
        "undone 1",
    ]


def test_reasons_name_the_home_folder_as_people_do() -> None:
    kept = msgspec.structs.replace(ledger(), homes=("/home/kim",))
    drive(apply_step(kept, step()))
    stuck, _ = drive(roll_back(kept), performs=[NotPerformed("/home/kim/wx holds files")])
    assert stuck == ("“Make it” could not be undone: ~/wx holds files.",)
    failed, _ = drive(apply_step(kept, step()), performs=[NotPerformed("/home/kim/wx is a file")])
    assert failed == "~/wx is a file"


@pytest.mark.parametrize("refusal", [[], [NotPerformed("no")]])
def test_each_step_has_the_next_number(refusal: list[Reply]) -> None:
    kept = ledger()
    drive(apply_step(kept, step()), performs=refusal)
    drive(apply_step(kept, step()))
    assert kept.n == 2
