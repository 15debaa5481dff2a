import msgspec
import pytest

from resumed.protocol.restore import Answer, DriftKind
from resumed.restore.drift import drift_id
from resumed.restore.operation_files import Differing
from resumed.restore.operation_loss import OTHER_BRANCH, Losses, by_reason, losses
from resumed.restore.subsystem import Choices
from resumed.restore.touched import Touched
from tests.support.events import TARGET

MADE_NEW = msgspec.structs.replace(TARGET, recreated=True)


def lost(*fates: str) -> tuple[Differing, ...]:
    file = Touched(path="f", change="update")
    return tuple(
        Differing(file=file, path="f", name="f", now=now, there="regular", sha256=None, lost=True)
        for now in fates
    )


def stayed(kind: DriftKind) -> Choices:
    return {drift_id(kind): Answer(choice="stay")}


@pytest.mark.parametrize("kind", [DriftKind.ADVANCED, DriftKind.REWRITTEN, DriftKind.COMMIT_GONE])
def test_on_the_same_branch_a_file_was_changed_and_nothing_is_said_to_be_missing(kind: DriftKind) -> None:
    assert losses(lost("changed"), stayed(kind), TARGET) == Losses(
        reason="files that the agent edited were changed since",
        summary="1 file that it edited was changed since",
    )
    assert list(by_reason(lost("changed"), stayed(kind), TARGET)) == ["changed since"]
    assert losses(lost("reverted"), stayed(kind), TARGET).reason == (
        "edits of the agent are missing from this folder"
    )


@pytest.mark.parametrize("kind", OTHER_BRANCH)
def test_on_another_branch_the_branch_is_named(kind: DriftKind) -> None:
    assert losses(lost("gone", "reverted"), stayed(kind), TARGET) == Losses(
        reason="edits of the agent are missing from the branch you stay on",
        summary="its edits of 2 files are missing here",
    )
    assert losses(lost("changed", "changed"), stayed(kind), TARGET) == Losses(
        reason="files on the branch you stay on are not as the agent left them",
        summary="2 files are not as it left them",
    )
    assert list(by_reason(lost("changed"), stayed(kind), TARGET)) == ["other branch"]


def test_in_a_folder_made_new_the_folder_is_named() -> None:
    assert losses(lost("reverted"), {}, MADE_NEW).reason == (
        "edits of the agent are missing from the folder that was made new"
    )
    assert losses(lost("changed"), {}, MADE_NEW).summary == "1 file is not as it left it"
    assert list(by_reason(lost("gone"), {}, MADE_NEW)) == ["missing from a folder made new"]


def test_what_could_not_be_compared_is_neither_missing_nor_changed() -> None:
    assert losses(lost("unknown"), stayed(DriftKind.ADVANCED), TARGET) == Losses(
        reason="files that the agent edited could not be compared",
        summary="1 file that it edited could not be compared",
    )


def test_each_fate_is_said_of_its_own_files() -> None:
    mixed = losses(lost("gone", "changed", "unknown", "gone"), stayed(DriftKind.REWRITTEN), TARGET)
    assert mixed.summary == (
        "its edits of 2 files are missing here, 1 file that it edited was changed since, "
        "1 file that it edited could not be compared"
    )
    assert mixed.reason.count(";") == 2


def test_what_was_given_up_before_is_said_as_it_was_then() -> None:
    (before,) = lost("gone")
    for why, where in (
        ("missing from a folder made new", "the folder that was made new"),
        ("other branch", "the branch you stay on"),
    ):
        given_up = (msgspec.structs.replace(before, given_up=why),)
        assert list(by_reason(given_up, {}, TARGET)) == [why]
        assert losses(given_up, {}, TARGET).reason == f"edits of the agent are missing from {where}"


def test_each_file_is_lost_for_its_own_reason() -> None:
    gone, changed = lost("gone", "changed")
    before = msgspec.structs.replace(gone, given_up="missing from a folder made new")
    choices = stayed(DriftKind.REWRITTEN)
    assert by_reason((before, changed), choices, TARGET) == {
        "missing from a folder made new": [before],
        "changed since": [changed],
    }
    assert losses((before, changed), choices, TARGET).reason == (
        "edits of the agent are missing from the folder that was made new; "
        "files that the agent edited were changed since"
    )
