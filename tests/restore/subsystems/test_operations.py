from collections.abc import Iterable

import msgspec
import pytest

from resumed.protocol.restore import Answer, Severity, Status
from resumed.restore.events.envelope import Payload
from resumed.restore.events.session import (
    OperationResolved,
    OperationSettled,
    ResultStored,
    StateInvalidated,
    WorktreeBound,
)
from resumed.restore.operation_state import OperationsState
from resumed.restore.probes import FileProbe, FileSeen, Seen, TreeFileProbe
from resumed.restore.steps import RecordState
from resumed.restore.subsystem import Restoration, Target
from resumed.restore.subsystems.operations import OPERATIONS
from tests.support.events import HERE, assert_stores_anywhere, event, folded
from tests.support.simulation import digest
from tests.support.story import ADD, COMMITTED, EDITED, NOTE, REPO_A, UPDATE, cut_off, done

TARGET = Target(here=HERE, recorded_root=REPO_A, root=REPO_A)
RECREATED = msgspec.structs.replace(TARGET, recreated=True)
WORK = (*done("1", UPDATE), *done("2", ADD))
MIGRATE = cut_off("9", command="npm run migrate")
KEY = "operations.danglingOperation:9"


def state(*payloads: Payload) -> OperationsState:
    result = folded(OPERATIONS, [event(payload) for payload in payloads])
    assert isinstance(result, OperationsState)
    return result


def seen(rounding: bytes | None = EDITED, note: bytes | None = NOTE) -> Seen:
    return {
        FileProbe(f"{REPO_A}/{name}"): FileSeen(kind="absent")
        if content is None
        else FileSeen(kind="regular", sha256=digest(content), content=content)
        for name, content in (("rounding.py", rounding), ("note.txt", note))
    }


def restored(
    payloads: Iterable[Payload], at: Seen, target: Target = TARGET, answer: str | None = None
) -> Restoration:
    choices = {KEY: Answer(choice=answer)} if answer else {}
    return OPERATIONS.steps(state(*payloads), at, choices, target)


def written(restoration: Restoration) -> list[tuple[str, dict[str, object]]]:
    events: list[tuple[str, dict[str, object]]] = []
    for step in restoration.steps:
        assert isinstance(step.do, RecordState)
        assert step.undo is None
        events += step.do.events
    return events


def test_what_it_did_is_counted() -> None:
    view = OPERATIONS.view(state(*WORK, MIGRATE))
    assert (view.total, view.by_state) == (3, {"begun": 1, "committed": 2})
    assert [operation.title for operation in view.dangling] == ["`npm run migrate`"]


def test_the_files_it_touched_are_listed_from_the_root() -> None:
    files = OPERATIONS.files_view(state(*WORK), REPO_A)
    assert [(file.path, file.change, file.lines_added, file.lines_removed) for file in files] == [
        ("note.txt", "add", 1, 0),
        ("rounding.py", "update", 1, 1),
    ]


def test_the_first_result_is_kept() -> None:
    results = [ResultStored(operation_id="1", digest="d", text=text) for text in ("first", "second", "")]
    assert state(*WORK, *results).results == {"1": "first"}


def test_the_state_can_be_stored_anywhere() -> None:
    more = [
        MIGRATE,
        OperationResolved(operation_id="9", verdict="agentChecks", by="person"),
        StateInvalidated(subsystem="operations", keys=(ADD.path,), reason=""),
    ]
    assert_stores_anywhere(OPERATIONS, [event(payload) for payload in (*WORK, *more)])


def test_it_looks_at_the_files_of_finished_and_of_open_calls() -> None:
    other = msgspec.structs.replace(ADD, path=f"{REPO_A}/other")
    open_call = state(*WORK, cut_off("3", patch=other))
    assert OPERATIONS.probes(open_call, TARGET) == tuple(
        FileProbe(f"{REPO_A}/{name}") for name in ("rounding.py", "note.txt", "other")
    )
    planned = msgspec.structs.replace(TARGET, repository=REPO_A, commit="c")
    assert OPERATIONS.probes(state(*WORK), planned)[0] == TreeFileProbe(REPO_A, "c", "rounding.py")
    assert OPERATIONS.probes(state(*WORK), msgspec.structs.replace(TARGET, root=None)) == ()


def test_files_and_open_calls_are_asked_about() -> None:
    found = OPERATIONS.drift(state(*WORK, MIGRATE), seen(COMMITTED, None), TARGET)
    assert [drift.id for drift in found] == [
        "operations.fileReverted:rounding.py",
        "operations.fileGone:note.txt",
        KEY,
    ]
    assert {drift.severity for drift in found} == {Severity.ASK}


def test_as_it_was_left_nothing_is_asked_and_nothing_recorded() -> None:
    calm = restored(WORK, seen())
    assert OPERATIONS.drift(state(*WORK), seen(), TARGET) == ()
    assert (calm.status, calm.summary, calm.steps, calm.told, calm.handed) == (
        Status.RESTORED,
        "2 actions, none repeated",
        (),
        (),
        (),
    )


def test_a_call_that_is_dangling_in_the_middle_is_still_open() -> None:
    middle = state(WORK[0], MIGRATE, *WORK[1:])
    assert list(middle.open) == ["9"]


@pytest.mark.parametrize(
    ("answer", "by", "words", "handed"),
    [
        (None, "unattended", "the agent will check first", ("`npm run migrate`",)),
        ("agentChecks", "person", "the agent will check first", ("`npm run migrate`",)),
        ("finished", "person", "you said that it finished", ()),
        ("notRun", "person", "you said that it did not run", ()),
    ],
)
def test_a_call_is_never_rerun_but_judged(
    answer: str | None, by: str, words: str, handed: tuple[str, ...]
) -> None:
    restoration = restored((*WORK, MIGRATE), seen(), answer=answer)
    assert written(restoration) == [
        ("operation_resolved", {"operation_id": "9", "verdict": answer or "agentChecks", "by": by})
    ]
    assert restoration.details == (f"`npm run migrate` was cut off: {words}",)
    assert restoration.handed == handed
    assert restoration.unknown == (("databases and servers outside this folder",) if handed else ())
    assert "`npm run migrate` was cut off; " in restoration.told[0]
    assert restoration.status is Status.RESTORED


@pytest.mark.parametrize(
    ("answer", "words", "note"),
    [
        ("finished", "you said that it was made", "the user says that it was made, do not make it again."),
        ("notRun", "you said that it was not made", "the user says that it was not made."),
    ],
)
def test_an_edit_is_made_or_not_and_does_not_run(answer: str, words: str, note: str) -> None:
    edit = cut_off("9", patch=msgspec.structs.replace(UPDATE, hunks=()))
    restoration = restored((*WORK, edit), seen(), answer=answer)
    assert restoration.details == (f"The edit of rounding.py was cut off: {words}",)
    assert restoration.told == (f"The edit of rounding.py was cut off; {note}",)
    unsure = restored((*WORK, edit), seen())
    assert (unsure.handed, unsure.unknown) == (("the edit of rounding.py",), ())


def test_an_edit_that_landed_is_recorded_by_evidence_and_is_the_agents_from_then_on() -> None:
    second = msgspec.structs.replace(ADD, sha256=digest(b"second"))
    events = (*WORK, cut_off("9", patch=second))
    assert OPERATIONS.drift(state(*events), seen(note=b"second"), TARGET) == ()
    restoration = restored(events, seen(note=b"second"))
    ((_, fields),) = written(restoration)
    assert fields == {"operation_id": "9", "verdict": "landed", "by": "evidence"}
    after = state(*events, msgspec.convert(fields, OperationResolved))
    assert OPERATIONS.drift(after, seen(note=b"second"), TARGET) == ()


def test_a_read_that_was_cut_off_is_no_question() -> None:
    read = msgspec.structs.replace(MIGRATE, operation_class="read")
    assert OPERATIONS.drift(state(read), {}, TARGET) == ()
    assert restored((read,), {}).details == ("`npm run migrate` was cut off: it only reads",)


def test_a_file_that_the_person_keeps_stays_restored() -> None:
    kept = restored(WORK, seen(rounding=COMMITTED, note=b"mine"))
    assert (kept.status, kept.keys, kept.steps) == (Status.RESTORED, (), ())
    assert kept.details == (
        "rounding.py: kept as it is, as before the agent",
        "note.txt: kept as it is, other text",
    )
    assert len(kept.told) == 2


def test_edits_missing_from_a_folder_made_new_are_listed_and_do_not_count() -> None:
    lost = restored(WORK, seen(COMMITTED, None), RECREATED)
    assert (lost.status, lost.keys) == (Status.INVALIDATED, ("rounding.py", "note.txt"))
    assert lost.details == (
        "rounding.py: 1 line added by the agent is missing",
        "note.txt: written by the agent, missing",
    )
    assert lost.summary == "2 actions, none repeated; its edits of 2 files are missing here"
    assert lost.reason == "edits of the agent are missing from the folder that was made new"
    assert {drift.severity for drift in OPERATIONS.drift(state(*WORK), seen(COMMITTED, None), RECREATED)} == {
        Severity.INFORM
    }


def test_a_file_that_could_not_be_compared_in_a_folder_made_new_does_not_count() -> None:
    lost = restored(WORK, {}, RECREATED)
    assert (lost.status, lost.details[0]) == (Status.INVALIDATED, "rounding.py: could not be compared")


def test_committed_edits_are_not_missing_from_a_folder_made_new() -> None:
    assert restored(WORK, seen(), RECREATED).status is Status.RESTORED


def test_edits_that_differ_on_the_branch_one_stays_on_do_not_count() -> None:
    stayed = msgspec.structs.replace(TARGET, accepted_files=("rounding.py",))
    lost = restored(WORK, seen(COMMITTED, None), stayed)
    assert (lost.status, lost.keys) == (Status.INVALIDATED, ("rounding.py",))
    assert lost.reason == "edits of the agent are missing from this folder"
    assert lost.details == (
        "rounding.py: 1 line added by the agent is missing",
        "note.txt: stays away",
    )


def test_work_that_goes_on_in_another_root_takes_its_files_along() -> None:
    beside = "/home/dev/beside"
    moved = WorktreeBound(cwd=beside, cause="userChoice", root=beside, moved_from=(REPO_A,), made=True)
    after = state(*WORK, moved)
    target = msgspec.structs.replace(TARGET, recorded_root=beside, root=beside)
    assert OPERATIONS.probes(after, target) == tuple(
        FileProbe(f"{beside}/{name}") for name in ("rounding.py", "note.txt")
    )
    assert_stores_anywhere(OPERATIONS, [event(payload) for payload in (*WORK, MIGRATE, moved)])


def test_a_loss_is_recorded_so_that_it_is_not_asked_about_again() -> None:
    lost = restored(WORK, seen(COMMITTED, None), RECREATED)
    ((name, fields),) = written(lost)
    assert name == "state_invalidated"
    after = state(*WORK, msgspec.convert(fields, StateInvalidated))
    assert OPERATIONS.drift(after, seen(COMMITTED, None), TARGET) == ()
    other = StateInvalidated(subsystem="verifier", keys=(), reason="")
    assert OPERATIONS.drift(state(*WORK, other), seen(COMMITTED, None), TARGET) != ()


def test_what_is_judged_is_recorded_before_what_is_lost() -> None:
    events = (*WORK, MIGRATE)
    lost = restored(events, seen(COMMITTED), RECREATED)
    assert [name for name, _ in written(lost)] == ["operation_resolved", "state_invalidated"]


def test_a_redelivered_end_changes_nothing() -> None:
    twice = restored((*WORK, OperationSettled(operation_id="1", state="failed")), seen())
    assert twice.summary == "2 actions, none repeated"
