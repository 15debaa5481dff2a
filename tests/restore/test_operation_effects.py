import pytest

from resumed.protocol.restore import Answer
from resumed.restore.events.session import FilePatch, Hunk, OperationBegun
from resumed.restore.operation_effects import (
    announced_paths,
    dangling,
    effect,
    left_by_agent,
    verdict,
)
from resumed.restore.operation_state import Open, OperationsState, begin
from resumed.restore.probes import FileProbe, FileSeen, Seen, Unseen
from resumed.restore.subsystem import Target
from resumed.restore.touched import Touched
from tests.support.events import HERE, event
from tests.support.simulation import digest

ROOT = "/srv/shop"
TARGET = Target(here=HERE, recorded_root=ROOT, root=ROOT)
OLD, NEW = b"a\nold\nb\n", b"a\nnew\nb\n"
HUNK = Hunk(before=("a",), removed=("old",), added=("new",), after=("b",))
ADD = FilePatch(path="f", change="add", sha256=digest(NEW))
UPDATE = FilePatch(path="f", change="update", hunks=(HUNK,))
DELETE = FilePatch(path="f", change="delete")
MOVE = FilePatch(path="f", change="update", hunks=(HUNK,), moved_from="g")


def opened(
    *patches: FilePatch,
    kind: str = "write",
    pre: dict[str, str] | None = None,
    paths: tuple[str, ...] = (),
) -> OperationsState:
    state = OperationsState()
    begun = OperationBegun(
        operation_id="1",
        tool="apply_patch",
        args_digest="d",
        operation_class=kind,
        pre_hashes=pre or {},
        paths=paths,
        patches=patches,
    )
    begin(state, begun, event(begun))
    return state


def call(state: OperationsState) -> Open:
    return state.open["1"]


def files(**contents: bytes | None) -> Seen:
    return {
        FileProbe(f"{ROOT}/{name}"): FileSeen(kind="absent")
        if content is None
        else FileSeen(kind="regular", sha256=digest(content), content=content)
        for name, content in contents.items()
    }


@pytest.mark.parametrize(
    ("patch", "now", "expected"),
    [
        (ADD, NEW, "landed"),
        (ADD, None, "notLanded"),
        (ADD, OLD, "unclear"),
        (UPDATE, NEW, "landed"),
        (UPDATE, OLD, "notLanded"),
        (UPDATE, b"a\nmine\nb\n", "unclear"),
        (UPDATE, None, "unclear"),
        (MOVE, None, "notLanded"),
        (MOVE, NEW, "landed"),
        (DELETE, None, "landed"),
        (DELETE, OLD, "notLanded"),
        (FilePatch(path="f", change="add"), None, "notLanded"),
        (FilePatch(path="f", change="add"), NEW, "unclear"),
        (FilePatch(path="f", change="update"), NEW, "unclear"),
    ],
)
def test_an_edit_is_judged_by_its_file(patch: FilePatch, now: bytes | None, expected: str) -> None:
    assert effect(call(opened(patch)), files(f=now), TARGET) == expected


def test_what_could_not_be_seen_decides_nothing() -> None:
    unseen: Seen = {FileProbe(f"{ROOT}/f"): Unseen("timeout")}
    for patch in (ADD, UPDATE, DELETE, MOVE):
        assert effect(call(opened(patch)), unseen, TARGET) == "unclear"
        assert effect(call(opened(patch)), {}, TARGET) == "unclear"
    assert effect(call(opened(pre={"f": digest(OLD)})), unseen, TARGET) == "unclear"


@pytest.mark.parametrize(
    ("patch", "kind"),
    [(patch, kind) for patch in (ADD, UPDATE, DELETE) for kind in ("folder", "other")] + [(DELETE, "link")],
)
def test_something_else_in_the_files_place_decides_nothing(patch: FilePatch, kind: str) -> None:
    seen: Seen = {FileProbe(f"{ROOT}/f"): FileSeen(kind=kind)}
    state = opened(patch)
    assert effect(state.open["1"], seen, TARGET) == "unclear"


def test_edits_of_several_files_must_agree() -> None:
    both = call(opened(ADD, FilePatch(path="g", change="add", sha256=digest(NEW))))
    assert effect(both, files(f=NEW, g=NEW), TARGET) == "landed"
    assert effect(both, files(f=None, g=None), TARGET) == "notLanded"
    assert effect(both, files(f=NEW, g=None), TARGET) == "unclear"


def test_a_write_with_hashes_alone_is_only_known_not_to_have_happened() -> None:
    write = call(opened(pre={"f": digest(OLD), "g": "absent"}))
    assert effect(write, files(f=OLD, g=None), TARGET) == "notLanded"
    assert effect(write, files(f=NEW, g=None), TARGET) == "unclear"
    assert effect(write, files(f=NEW, g=NEW), TARGET) == "unclear"


def test_a_command_is_not_judged_by_hashes() -> None:
    command = call(opened(kind="external", pre={"f": digest(OLD)}))
    assert effect(command, files(f=OLD), TARGET) == "unclear"
    assert effect(call(opened(kind="external")), {}, TARGET) == "unclear"
    assert effect(call(opened()), {}, TARGET) == "unclear"


def test_what_only_reads_has_no_effect() -> None:
    assert effect(call(opened(kind="read")), {}, TARGET) == "notLanded"


def test_evidence_goes_before_a_person_and_a_person_before_nobody() -> None:
    unclear, key = call(opened(kind="external")), "operations.danglingOperation:1"
    assert verdict(call(opened(ADD)), files(f=NEW), {key: Answer(choice="notRun")}, TARGET) == (
        "landed",
        "evidence",
    )
    assert verdict(unclear, {}, {key: Answer(choice="finished")}, TARGET) == ("finished", "person")
    assert verdict(unclear, {}, {}, TARGET) == ("agentChecks", "unattended")


def test_an_edit_that_landed_is_the_agents_and_the_record_stays_as_it_was() -> None:
    state = opened(UPDATE)
    state.files["f"] = Touched(path="f", change="update", edits=[])
    left = left_by_agent(state, files(f=NEW), TARGET)
    assert (left.files["f"].edits, left.unclear) == ([(HUNK,)], frozenset())
    assert state.files["f"].edits == []


def test_an_edit_that_did_not_land_changes_nothing() -> None:
    state = opened(UPDATE)
    assert left_by_agent(state, files(f=OLD), TARGET).files is state.files


def test_what_is_not_clear_is_named() -> None:
    state = opened(MOVE, pre={"h": digest(OLD)})
    assert left_by_agent(state, files(f=b"mine"), TARGET).unclear == {"f", "g", "h"}
    assert announced_paths(call(state)) == ("h", "g", "f")
    assert left_by_agent(opened(kind="read", pre={"h": "1"}), {}, TARGET).unclear == frozenset()


def test_a_command_and_an_edit_are_asked_about_in_their_words() -> None:
    command = dangling(call(opened(kind="external")), TARGET)
    assert command.title == "One command may or may not have finished."
    assert command.reason.startswith("`apply_patch` was cut off. We cannot see databases or servers")
    edit = dangling(call(opened(ADD, paths=("f",))), TARGET)
    assert edit.title == "One edit may or may not have been made."
    assert [choice.label for choice in edit.choices] == [
        "Tell Codex to check first",
        "It was made",
        "It was not made",
        "Just read",
    ]
    assert edit.reason == (
        "The edit of f was cut off. Its file does not show whether it was made; it will not be made again."
    )
    both = dangling(call(opened(ADD, MOVE, paths=("f", "g"))), TARGET)
    assert both.reason.startswith("The edit of f and g was cut off. Its files do not show whether")
    assert (
        "We do not know of a file that shows whether it was made" in dangling(call(opened()), TARGET).reason
    )
