import msgspec
import pytest

from resumed.protocol.restore import Severity
from resumed.restore.events.journal import RestoreClosed
from resumed.restore.events.session import StateInvalidated, WorktreeBound
from resumed.restore.operation_files import (
    Differing,
    differing,
    doubtful_paths,
    file_drift,
    kept,
    loss,
    note,
)
from resumed.restore.operation_state import OperationsState
from resumed.restore.probes import FileProbe, FileSeen, Seen, Unseen
from resumed.restore.subsystem import Target
from resumed.restore.subsystems.operations import OPERATIONS
from resumed.restore.touched import Touched
from tests.support.events import HERE, event, folded, resume_meta
from tests.support.simulation import digest
from tests.support.story import ADD, EDITED, NOTE, REPO_A, UPDATE, cut_off, done

TARGET = Target(here=HERE, recorded_root=REPO_A, root=REPO_A)


def state(*more: object) -> OperationsState:
    events = [*done("1", UPDATE), *done("2", ADD), *more]
    result = folded(OPERATIONS, [event(payload) for payload in events])  # type: ignore[arg-type]  # payloads
    assert isinstance(result, OperationsState)
    return result


def seen(rounding: bytes | None = EDITED, added: bytes | None = NOTE) -> Seen:
    return {
        FileProbe(f"{REPO_A}/{name}"): FileSeen(kind="absent")
        if content is None
        else FileSeen(kind="regular", sha256=digest(content), content=content)
        for name, content in (("rounding.py", rounding), ("note.txt", added))
    }


def differs(change: str, now: str, added: int = 0, removed: int = 0, there: str = "regular") -> Differing:
    file = Touched(path=f"{REPO_A}/f", change=change, lines_added=added, lines_removed=removed)
    return Differing(file=file, path="f", name="f", now=now, there=there, sha256=None, lost=True)


def test_files_as_left_do_not_differ() -> None:
    assert differing(state(), seen(), TARGET) == ()
    assert doubtful_paths(state(), seen(), TARGET) == ()


def test_a_file_that_differs_is_named_relative_to_its_root() -> None:
    (one,) = differing(state(), seen(added=None), TARGET)
    assert (one.path, one.now, one.lost) == ("note.txt", "gone", False)


def test_a_file_that_could_not_be_seen_differs() -> None:
    unseen: Seen = dict.fromkeys(seen(), Unseen("timeout"))
    assert [(each.path, each.now) for each in differing(state(), unseen, TARGET)] == [
        ("rounding.py", "unknown"),
        ("note.txt", "unknown"),
    ]


def test_an_edit_is_lost_where_the_loss_was_accepted_with_the_place() -> None:
    recreated = msgspec.structs.replace(TARGET, recreated=True)
    assert [each.lost for each in differing(state(), seen(None, None), recreated)] == [True, True]
    stayed = msgspec.structs.replace(TARGET, accepted_files=("note.txt",))
    assert [each.lost for each in differing(state(), seen(None, None), stayed)] == [False, True]


def test_a_file_outside_the_folder_is_never_lost_with_it() -> None:
    outside = "/home/kim/notes/todo.md"
    elsewhere = state(*done("3", msgspec.structs.replace(ADD, path=outside)))
    there = seen() | {FileProbe(outside): FileSeen(kind="absent")}
    for changes in ({"recreated": True}, {"accepted_files": (outside,)}):
        target = msgspec.structs.replace(TARGET, **changes)
        (one,) = differing(elsewhere, there, target)
        assert (one.path, one.name, one.lost) == (outside, "~/notes/todo.md", False)
        drift = file_drift(one, target)
        assert (drift.severity, drift.reason) == (Severity.ASK, "It stays away, and the agent is told.")
    assert doubtful_paths(elsewhere, there, TARGET) == ()
    unclear = state(cut_off("4", patch=msgspec.structs.replace(ADD, path=outside)))
    other = seen() | {FileProbe(outside): FileSeen(kind="regular", sha256="x", content=b"x")}
    assert doubtful_paths(unclear, other, TARGET) == ()


def test_a_file_under_a_call_that_is_not_clear_is_asked_about_with_the_call() -> None:
    again = msgspec.structs.replace(UPDATE, hunks=())
    unclear = state(cut_off("3", patch=again))
    assert differing(unclear, seen(rounding=b"mine"), TARGET) == ()
    assert doubtful_paths(unclear, seen(rounding=b"mine", added=None), TARGET) == ("note.txt", "rounding.py")


def test_a_file_under_a_call_that_did_not_land_is_compared() -> None:
    other = msgspec.structs.replace(ADD, path=f"{REPO_A}/other.txt")
    assert (
        differing(state(cut_off("3", patch=other)), seen(rounding=b"mine"), TARGET)[0].path == "rounding.py"
    )
    edit = msgspec.structs.replace(ADD, sha256=digest(b"second"))
    landed = state(cut_off("3", patch=edit))
    assert differing(landed, seen(added=b"second"), TARGET) == ()


@pytest.mark.parametrize(
    ("target", "severity", "reason"),
    [
        (TARGET, Severity.ASK, "It stays away, and the agent is told."),
        (
            msgspec.structs.replace(TARGET, recreated=True),
            Severity.INFORM,
            "The folder is made new, so an edit that was never committed is missing. The agent is told.",
        ),
        (
            msgspec.structs.replace(TARGET, accepted_files=("note.txt",)),
            Severity.INFORM,
            "You go on with the files as they are here. The agent is told.",
        ),
    ],
)
def test_it_is_a_question_only_while_nobody_accepted_it(
    target: Target, severity: Severity, reason: str
) -> None:
    (one,) = differing(state(), seen(added=None), target)
    drift = file_drift(one, target)
    assert (drift.id, drift.severity, drift.reason) == ("operations.fileGone:note.txt", severity, reason)
    assert drift.facts == {"now": "gone", "sha256": ""}


@pytest.mark.parametrize(
    ("change", "now", "kind", "title"),
    [
        ("add", "changed", "fileChanged", "f was changed after Codex."),
        ("add", "unknown", "fileChanged", "Whether f was changed after Codex is not known."),
        ("update", "reverted", "fileReverted", "Codex's edit of f is not here any more."),
        ("add", "gone", "fileGone", "f, which Codex wrote, is gone."),
        ("update", "gone", "fileGone", "f, which Codex edited, is gone."),
        ("delete", "reverted", "fileReverted", "f, which Codex deleted, is there again."),
        ("delete", "changed", "fileChanged", "f, which Codex deleted, is there again with other text."),
    ],
)
def test_each_fate_has_its_kind_and_words(change: str, now: str, kind: str, title: str) -> None:
    drift = file_drift(msgspec.structs.replace(differs(change, now), lost=False), TARGET)
    assert (drift.kind.value, drift.title) == (kind, title)
    assert [choice.id for choice in drift.choices] == ["keep", "readOnly"]


@pytest.mark.parametrize(
    ("each", "line"),
    [
        (differs("update", "reverted", 1), "f: 1 line added by the agent is missing"),
        (differs("update", "reverted", 2, 1), "f: 2 lines added by the agent are missing"),
        (differs("update", "reverted", 0, 2), "f: 2 lines removed by the agent are there again"),
        (differs("update", "reverted"), "f: the agent's edit is missing"),
        (differs("update", "changed"), "f: not as the agent left it"),
        (
            differs("update", "changed", 1),
            "f: not as the agent left it; 1 line added by the agent is missing or changed",
        ),
        (differs("update", "gone", 1), "f: edited by the agent, the whole file is missing"),
        (differs("update", "unknown", 1), "f: could not be compared"),
        (differs("add", "gone", 1), "f: written by the agent, missing"),
        (differs("add", "changed", 1), "f: written by the agent, other text now"),
        (differs("delete", "reverted"), "f: deleted by the agent, is there again"),
        (differs("delete", "changed"), "f: deleted by the agent, is there again, with other text"),
    ],
)
def test_what_is_lost_is_said_of_each_file(each: Differing, line: str) -> None:
    assert loss(each) == line


@pytest.mark.parametrize(
    ("there", "words"),
    [
        ("folder", "a folder is there now"),
        ("link", "a link is there now"),
        ("other", "something that is not a file is there now"),
    ],
)
def test_what_stands_where_a_file_was_is_said_everywhere(there: str, words: str) -> None:
    look = "Look where it leads before editing." if there == "link" else "It cannot be edited as a file."
    for change, how in (("add", "written"), ("update", "edited"), ("delete", "deleted")):
        each = differs(change, "changed", 3, there=there)
        drift = file_drift(msgspec.structs.replace(each, lost=False), TARGET)
        deleted = change == "delete"
        assert drift.title == (
            f"Codex deleted f; {words}." if deleted else f"f is not as Codex left it: {words}."
        )
        assert [row.now for row in drift.differences] == [words]
        assert [choice.id for choice in drift.choices] == ["keep", "readOnly"]
        assert kept(each) == f"f: kept as it is, {words}"
        assert loss(each) == f"f: {how} by the agent, {words}"
        said = f"You deleted f; {words}." if deleted else f"f is not as you left it: {words}."
        assert note(each) == f"{said} {look}"


def test_of_a_link_it_is_not_known_whether_it_was_there_before() -> None:
    each = differs("update", "unknown", there="link")
    drift = file_drift(each, TARGET)
    assert drift.title == "Whether f is as Codex left it is not known: a link is there now."
    assert [row.now for row in drift.differences] == ["a link is there now"]
    assert kept(each) == "f: kept as it is, a link is there now; whether it changed is not known"
    assert loss(each) == "f: could not be compared, a link is there now"
    assert note(each) == (
        "Whether f is as you left it is not known: a link is there now. Look where it leads before editing."
    )


def test_what_is_there_now_is_seen() -> None:
    for kind in ("folder", "other", "link"):
        now = seen() | {FileProbe(f"{REPO_A}/rounding.py"): FileSeen(kind=kind)}
        (one,) = differing(state(), now, TARGET)
        assert one.there == kind
    (unseen,) = differing(state(), seen() | {FileProbe(f"{REPO_A}/note.txt"): Unseen("timeout")}, TARGET)
    assert unseen.there == ""


def test_what_is_kept_and_what_the_agent_is_told() -> None:
    assert kept(differs("update", "changed")) == "f: kept as it is, other text"
    assert kept(differs("update", "unknown")) == "f: kept as it is; whether it changed is not known"
    assert kept(differs("update", "gone")) == "f: stays away"
    assert kept(differs("delete", "reverted")) == "f: kept as it is, there again"
    assert (
        note(differs("update", "reverted"))
        == "f is not as you left it: as before your edit. Read it again before editing."
    )
    assert note(differs("update", "gone")) == "f is gone."
    assert (
        note(differs("delete", "changed"))
        == "f, which you deleted, is there again with other text. Read it again before editing."
    )
    assert (
        note(differs("update", "unknown"))
        == "Whether f is as you left it is not known. Read it again before editing."
    )


def test_a_file_given_up_before_is_not_an_ordinary_one_until_an_agent_was_told() -> None:
    bound = WorktreeBound(cwd=REPO_A, cause="start", root=REPO_A, branch="main")
    given_up = StateInvalidated(
        subsystem="operations", keys=(f"{REPO_A}/note.txt",), reason="missing from a folder made new"
    )
    waiting = state(resume_meta(), bound, given_up)
    there = msgspec.structs.replace(TARGET, branch="main")
    (one,) = differing(waiting, seen(added=None), there)
    assert (one.path, one.lost, one.given_up) == ("note.txt", True, "missing from a folder made new")
    drift = file_drift(one, there)
    assert drift.severity is Severity.INFORM
    assert drift.reason.startswith("The folder is made new")
    assert differing(waiting, seen(), there) == ()
    (other,) = differing(waiting, seen(added=b"by the user"), there)
    assert (other.now, other.lost) == ("changed", False)
    for elsewhere in (TARGET, msgspec.structs.replace(there, root="/other")):
        missing: Seen = {FileProbe(f"{elsewhere.root}/note.txt"): FileSeen(kind="absent")}
        assert all(not each.lost for each in differing(waiting, missing, elsewhere))
    taken_up = state(resume_meta(), bound, given_up, RestoreClosed(restore_id="r", outcome="partial"))
    assert differing(taken_up, seen(added=None), there) == ()
