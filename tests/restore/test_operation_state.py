import itertools

import msgspec
import pytest

from resumed.restore.events.envelope import Payload
from resumed.restore.events.journal import RestoreClosed
from resumed.restore.events.session import (
    FilePatch,
    OperationBegun,
    OperationResolved,
    OperationSettled,
    StateInvalidated,
    WorktreeBound,
)
from resumed.restore.operation_state import GivenUp, OperationsState, begin, give_up, move, resolve, settle
from resumed.restore.subsystems.operations import OPERATIONS
from tests.support import events
from tests.support.events import event, resume_meta, session_meta
from tests.support.simulation import digest

ADD = FilePatch(path="f", change="add", sha256=digest(b"new"), lines_added=1)


def begun(operation_id: str = "1", digest: str = "d", **changes: object) -> OperationBegun:
    fields = {"tool": "exec", "patches": (ADD,), **changes}
    return OperationBegun(operation_id=operation_id, args_digest=digest, **fields)  # type: ignore[arg-type]  # any field may be given


def settled(state: str = "committed", operation_id: str = "1", **hashes: str) -> OperationSettled:
    return OperationSettled(operation_id=operation_id, state=state, post_hashes=hashes)


def resolved(verdict: str) -> OperationResolved:
    return OperationResolved(operation_id="1", verdict=verdict, by="person")


def folded(*payloads: Payload) -> OperationsState:
    state = OperationsState()
    for payload in payloads:
        match payload:
            case OperationBegun():
                begin(state, payload, event(payload))
            case OperationSettled():
                settle(state, payload, event(payload))
            case OperationResolved():
                resolve(state, payload)
            case StateInvalidated():
                give_up(state, payload)
            case _:
                raise AssertionError(payload)
    return state


def test_a_call_is_open_until_its_end_is_told() -> None:
    assert list(folded(begun()).open) == ["1"]
    ended = folded(begun(), settled())
    assert (ended.open, ended.counts, ended.known) == ({}, {"committed": 1}, {"1": "committed d"})


@pytest.mark.parametrize("extra", list(itertools.product([begun(), settled()], repeat=2)))
def test_a_call_told_again_counts_once(extra: tuple[Payload, ...]) -> None:
    once = folded(begun(), settled())
    again = folded(begun(), *extra, settled())
    assert (again.counts, again.known, again.open) == (once.counts, once.known, {})
    assert again.files["f"].lines_added == 1


def test_the_first_end_counts() -> None:
    assert folded(begun(), settled("failed"), settled()).known == {"1": "failed d"}


def test_an_end_without_a_beginning_counts_and_a_late_beginning_opens_nothing() -> None:
    late = folded(settled(f=digest(b"new")), begun())
    assert (late.counts, late.open, late.known) == ({"committed": 1}, {}, {"1": "committed d"})
    assert list(late.files) == ["f"]


def test_other_arguments_under_the_same_id_are_not_taken() -> None:
    assert folded(begun(), begun(digest="other")).known == {"1": "begun d"}


@pytest.mark.parametrize("state", ["failed", "denied", "aborted"])
def test_what_was_not_committed_touched_nothing(state: str) -> None:
    assert folded(begun(), settled(state)).files == {}
    assert list(folded(begun(), settled(state, f=digest(b"half"))).files) == ["f"]


def test_what_the_end_tells_of_the_edit_goes_before_what_was_announced() -> None:
    real = FilePatch(path="g", change="add", sha256=digest(b"x"))
    ended = OperationSettled(operation_id="1", state="committed", patches=(real,))
    assert list(folded(begun(), ended).files) == ["g"]


def test_edits_of_a_command_are_known_by_hashes() -> None:
    command = begun(patches=(), pre_hashes={"f": digest(b"old")})
    file = folded(command, settled(f=digest(b"new"))).files["f"]
    assert (file.before, file.sha256, file.change) == (digest(b"old"), digest(b"new"), "update")
    assert folded(command, settled(f=digest(b"old"))).files == {}


@pytest.mark.parametrize(
    ("verdict", "files"),
    [("landed", ["f"]), ("finished", ["f"]), ("notLanded", []), ("notRun", []), ("agentChecks", [])],
)
def test_an_edit_that_was_judged_to_be_made_is_the_agents(verdict: str, files: list[str]) -> None:
    state = folded(begun(), resolved(verdict))
    assert (list(state.files), state.open, state.counts) == (files, {}, {"resolved": 1})
    assert state.resolved == {"1": verdict}


def test_a_judgement_of_what_is_not_open_says_nothing() -> None:
    assert folded(resolved("landed")) == OperationsState()
    assert folded(begun(), settled(), resolved("notRun")).counts == {"committed": 1}


@pytest.mark.parametrize("verdict", ["agentChecks", "landed"])
def test_an_end_told_after_a_judgement_takes_its_place(verdict: str) -> None:
    state = folded(begun(), resolved(verdict), settled(f=digest(b"new")))
    assert (state.counts, state.resolved) == ({"committed": 1}, {})
    assert state.files["f"].sha256 == digest(b"new")


def test_edits_that_do_not_count_any_more_are_forgotten() -> None:
    whole = folded(begun(), settled(), begun("2", patches=()), settled(operation_id="2", g="1"))
    give_up(whole, StateInvalidated(subsystem="operations", keys=("f", "not-there"), reason=""))
    assert list(whole.files) == ["g"]
    give_up(whole, StateInvalidated(subsystem="operations", keys=(), reason=""))
    assert whole.files == {}


def restored(*payloads: Payload) -> OperationsState:
    state = events.folded(OPERATIONS, [event(payload) for payload in payloads])
    assert isinstance(state, OperationsState)
    return state


def test_edits_given_up_in_a_restore_are_known_until_an_agent_was_told() -> None:
    bound = WorktreeBound(cwd="/b", cause="userChoice", root="/b", branch="main", made=True)
    given_up = StateInvalidated(subsystem="operations", keys=("f",), reason="other branch")
    waiting = restored(begun(), settled(), resume_meta(), bound, given_up)
    assert list(waiting.files) == ["f"]
    assert waiting.given_up == GivenUp(
        root="/b", branch="main", reasons={"f": "other branch"}, restoring=True
    )
    closed = RestoreClosed(restore_id="r", outcome="restored")
    back = restored(begun(), settled(), resume_meta(), bound, given_up, resume_meta(), bound, closed)
    assert (list(back.files), back.given_up.reasons) == (["f"], {})
    edited = restored(begun(), settled(), resume_meta(), bound, given_up, session_meta())
    assert (list(edited.files), edited.given_up.reasons) == (["f"], {})
    elsewhere = msgspec.structs.replace(bound, branch="fix")
    moved_on = restored(begun(), settled(), resume_meta(), bound, given_up, elsewhere)
    assert moved_on.given_up.reasons == {}
    told = restored(
        begun(), settled(), resume_meta(), bound, given_up, RestoreClosed(restore_id="r", outcome="partial")
    )
    assert (told.files, told.given_up.reasons) == ({}, {})


@pytest.mark.parametrize(
    ("args", "paths", "title"),
    [
        ({"cmd": "npm run\n migrate"}, (), "`npm run migrate`"),
        ({"command": ["git", "status"]}, ("a",), "`git status`"),
        ({}, ("/srv/shop/a.py", "b.py"), "`exec` on a.py and b.py"),
        ({}, (), "`exec`"),
    ],
)
def test_the_name_of_a_call(args: dict[str, object], paths: tuple[str, ...], title: str) -> None:
    call = begun(args=args, paths=paths, operation_class="external")
    assert folded(call).open["1"].title == title


@pytest.mark.parametrize(("kind", "title"), [("write", "the edit of a.py"), ("read", "the reading of a.py")])
def test_an_edit_is_not_named_after_its_tool(kind: str, title: str) -> None:
    assert folded(begun(paths=("/srv/shop/a.py",), operation_class=kind)).open["1"].title == title


def test_what_was_left_in_one_root_is_compared_in_the_next() -> None:
    source = FilePatch(path="/link/shop/b", change="update", moved_from="/link/shop/c")
    state = folded(
        begun(patches=(FilePatch(path="/link/shop/a", change="add"),), pre_hashes={}),
        settled(**{"/real/shop/d": "1", "/elsewhere/e": "1", "relative": "1"}),
        begun("2", paths=("/link/shop/b",), pre_hashes={"/link/shop/b": "0"}, patches=(source,)),
    )
    stays = WorktreeBound(cwd="/new", cause="start", root="/new")
    move(state, stays)
    assert "/link/shop/a" in state.files
    bound = msgspec.structs.replace(stays, moved_from=("/link/shop", "/real/shop"))
    move(state, bound)
    assert set(state.files) == {"/new/a", "/new/d", "/elsewhere/e", "relative"}
    assert {file.path for file in state.files.values()} == set(state.files)
    call = state.open["2"]
    assert (call.paths, call.pre_hashes) == (("/new/b",), {"/new/b": "0"})
    assert call.patches == (msgspec.structs.replace(source, path="/new/b", moved_from="/new/c"),)


def test_what_lies_in_the_new_root_already_stays_where_it_is() -> None:
    state = folded(begun(patches=()), settled(**{"/shop/wt/a": "1", "/shop/b": "1"}))
    move(state, WorktreeBound(cwd="/shop/wt", cause="start", root="/shop/wt", moved_from=("/shop",)))
    assert set(state.files) == {"/shop/wt/a", "/shop/wt/b"}
